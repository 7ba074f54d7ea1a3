package study

import (
	"fmt"
	"io"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/human"
)

// An Agreement compares a cell of one comparison with the same cell of another, which ran in another mode.
type Agreement struct {
	Network    string  `json:"network"`
	Label      string  `json:"label"`
	Seed       uint64  `json:"seed"`
	First      float64 `json:"first_s_per_round"`
	Second     float64 `json:"second_s_per_round"`
	Least      float64 `json:"least_s_per_round"` // bytes of the second divided by the rate, plus one latency
	SameDigest bool    `json:"same_digest"`
}

// Agree compares the finished cells that two comparisons have in common, in the order of the first.
func Agree(first, second *cells.Comparison) []Agreement {
	links := map[string]cells.Network{}
	for _, n := range second.Networks {
		links[n.Name] = n
	}
	type key struct {
		network, label string
		seed           uint64
	}
	others := map[key]cells.Cell{}
	for _, c := range second.Cells {
		others[key{c.Network, c.Label, c.Seed}] = c
	}
	var all []Agreement
	for _, c := range first.Cells {
		other := others[key{c.Network, c.Label, c.Seed}]
		if c.Summary == nil || other.Summary == nil {
			continue
		}
		all = append(all, Agreement{
			Network: c.Network, Label: c.Label, Seed: c.Seed, SameDigest: c.Digest == other.Digest && c.Digest != "",
			First: secondsPerRound(c), Second: secondsPerRound(other), Least: onLink(other, links[c.Network]),
		})
	}
	return all
}

func secondsPerRound(c cells.Cell) float64 { return c.Summary.Time / float64(max(1, c.Rounds)) }

// WriteAgreement prints how well two comparisons agree, a line for each cell.
func WriteAgreement(w io.Writer, first, second *cells.Comparison) error {
	t := human.AlignRight(w)
	fmt.Fprintf(t, "NETWORK\tALGORITHM\tSEED\tMS/ROUND BY %s\tBY %s\tRATIO\tBY LINK\tRATIO\tDIGEST\t\n", first.Mode,
		second.Mode)
	for _, a := range Agree(first, second) {
		digest := "same"
		if !a.SameDigest {
			digest = "OTHER"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%.4g\t%.4g\t%.3f\t%.4g\t%.3f\t%s\t\n",
			a.Network, a.Label, a.Seed, 1e3*a.First, 1e3*a.Second, a.Second/a.First, 1e3*a.Least, a.Second/a.Least, digest)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
