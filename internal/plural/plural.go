// Package plural writes numbers and their nouns for people: 1 seed, 2 seeds, workers 1 and 3.
package plural

import (
	"fmt"
	"strings"
)

// Of returns n and the noun, which is given in the singular: "1 round", "2 rounds", "0 processes".
func Of(n int, noun string) string { return fmt.Sprintf("%d %s", n, Noun(n, noun)) }

// Part returns a number of a whole and its noun, which follows the whole: "1 of 2 cells", "1 of 1 run".
func Part(n, whole int, noun string) string { return fmt.Sprintf("%d of %s", n, Of(whole, noun)) }

// Verb returns the form of a verb that goes with the number n, such as one of is and are.
func Verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Noun returns the noun as it stands after the number n. It knows the regular forms: rounds,
// batches, processes, entries.
func Noun(n int, noun string) string {
	stem, endsInY := strings.CutSuffix(noun, "y")
	switch {
	case n == 1:
		return noun
	case endsInY && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e"):
		return stem + "ies"
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "ch"), strings.HasSuffix(noun, "x"):
		return noun + "es"
	}
	return noun + "s"
}
