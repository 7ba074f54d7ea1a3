package explain

import (
	"fmt"
	"strconv"
	"strings"

	"gossiptrainer/internal/human"
)

// span writes one share, or two that differ.
func span(least, most float64) string {
	if human.Percent(least) == human.Percent(most) {
		return human.Percent(least)
	}
	return human.Percent(least) + " to " + human.Percent(most)
}

// workers names ranks: worker 3, workers 1, 2 and 5.
func workers(ranks []int) string {
	const many = 8
	if len(ranks) > many {
		return fmt.Sprintf("%d workers", len(ranks))
	}
	names := make([]string, len(ranks))
	for i, r := range ranks {
		names[i] = strconv.Itoa(r)
	}
	switch n := len(names); n {
	case 0:
		return "no worker"
	case 1:
		return "worker " + names[0]
	default:
		return "workers " + strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}
