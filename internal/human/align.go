package human

import (
	"io"
	"text/tabwriter"
)

// AlignLeft returns a writer that aligns cells, which end with tabs, in columns. It writes when it is flushed.
func AlignLeft(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// AlignRight is AlignLeft for numbers: the cells of a column end below each other.
func AlignRight(w io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
}
