package report

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteCells prints a table of a comparison, a line for each cell.
func WriteCells(w io.Writer, c Comparison) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "NETWORK\tSEED\tALGORITHM\tSTATUS\tTO TARGET\tMS/ROUND\tTRAIN LOSS\tACCURACY\tMB SENT\tEXTRA MB\t")
	const mega = 1e6
	for _, cell := range c.Cells {
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t", cell.Network, cell.Seed, cell.Label, cell.Status)
		if cell.Summary == nil {
			fmt.Fprint(t, "-\t-\t-\t-\t-\t-\t\n")
			continue
		}
		target := "-"
		if cell.TimeToTarget != nil {
			target = fmt.Sprintf("%.3g s", *cell.TimeToTarget)
		}
		perRound := 1e3 * cell.Summary.Time / float64(max(1, cell.Summary.Rounds))
		fmt.Fprintf(t, "%s\t%.3g\t%.4f\t%s\t%.3f\t%.3f\t\n", target, perRound, cell.TrainLoss, share(cell.Accuracy.Mean),
			float64(cell.BytesPerPeer.Wire)/mega, float64(cell.ExtraMemory)/mega)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
