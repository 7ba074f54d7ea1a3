package study

import (
	"fmt"
	"io"
	"strings"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
)

// WriteCells prints a table of a comparison, a line for each cell.
func WriteCells(w io.Writer, c cells.Comparison) error {
	t := human.AlignRight(w)
	targets := c.Targets.List()
	head := "NETWORK\tSEED\tALGORITHM\tSTATUS\t"
	for _, target := range targets {
		head += "TO " + strings.ToUpper(target.String()) + "\t"
	}
	fmt.Fprintln(t, head+"MS/ROUND\tTRAIN LOSS\tACCURACY\tMB SENT\tEXTRA MB\t")
	for _, cell := range c.Cells {
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t", cell.Network, cell.Seed, cell.Label, cell.Fate())
		for _, target := range targets {
			fmt.Fprintf(t, "%s\t", reached(cell, target))
		}
		if cell.Summary == nil {
			fmt.Fprint(t, "-\t-\t-\t-\t-\t\n")
			continue
		}
		const mega = 1e6
		perRound := 1e3 * cell.Summary.Time / float64(max(1, cell.Summary.Rounds))
		fmt.Fprintf(t, "%s\t%s\t%s\t%.3f\t%.3f\t\n", human.Digits(perRound, 3), human.Places(cell.TrainLoss),
			human.Places(cell.Accuracy.Mean), float64(cell.BytesPerPeer.Wire)/mega, float64(cell.ExtraMemory)/mega)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// reached writes when a cell reached a target.
func reached(c cells.Cell, target record.Target) string {
	r := c.To(target)
	if r == nil {
		return "-"
	}
	return cells.Timed([]cells.Cell{c}, target).String() + " s"
}
