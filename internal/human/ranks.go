package human

import (
	"strconv"
	"strings"
)

// mostNamed bounds the ranks of a line.
const mostNamed = 8

// Ranks names workers or peers by their ranks: worker 3, workers 1, 2 and 5. Of many it names the first, and counts the
// others and more, those that the list had no room for.
func Ranks(noun string, ranks []int, more int) string {
	if len(ranks) == 0 {
		return "no " + noun
	}
	named := ranks[:min(len(ranks), mostNamed)]
	more += len(ranks) - len(named)
	names := make([]string, len(named))
	for i, rank := range named {
		names[i] = strconv.Itoa(rank)
	}
	if more > 0 {
		names = append(names, strconv.Itoa(more)+" more")
	}
	text := Noun(len(names), noun) + " "
	if last := len(names) - 1; last > 0 {
		return text + strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return text + names[0]
}
