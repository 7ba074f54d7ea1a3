package explain

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// percent writes a share for people.
func percent(share float64) string {
	if v := 100 * share; v > 0 && v < 9.95 {
		return fmt.Sprintf("%.2g %%", v)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// Seconds writes a time for people.
func Seconds(s float64) string {
	switch {
	case s == 0:
		return "0 s"
	case s < 1e-3:
		return fmt.Sprintf("%.3g µs", 1e6*s)
	case s < 1:
		return fmt.Sprintf("%.3g ms", 1e3*s)
	case s < 100:
		return fmt.Sprintf("%.3g s", s)
	}
	return fmt.Sprintf("%.0f s", math.Round(s))
}

// rate writes bits per second for people.
func rate(bits float64) string {
	switch {
	case bits >= 1e9:
		return fmt.Sprintf("%.3g Gbit/s", bits/1e9)
	case bits >= 1e6:
		return fmt.Sprintf("%.3g Mbit/s", bits/1e6)
	}
	return fmt.Sprintf("%.3g kbit/s", bits/1e3)
}

// span writes one share, or two that differ.
func span(least, most float64) string {
	if percent(least) == percent(most) {
		return percent(least)
	}
	return percent(least) + " to " + percent(most)
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
