package explain

import "gossiptrainer/internal/human"

// span writes one share, or two that differ.
func span(least, most float64) string {
	if human.Percent(least) == human.Percent(most) {
		return human.Percent(least)
	}
	return human.Percent(least) + " to " + human.Percent(most)
}
