package report

import (
	"fmt"
	"io"
	"slices"

	"gossiptrainer/internal/explain"
	"gossiptrainer/internal/record"
)

// An Explained summary is that of a run with the sentences about it, as programs get it.
type Explained struct {
	*record.Summary
	Sentences []explain.Sentence `json:"sentences"` // the most important first
}

// Write prints the summary and the sentences below it.
func (e Explained) Write(w io.Writer) error {
	if err := WriteSummary(w, e.Summary); err != nil {
		return err
	}
	if len(e.Sentences) > 0 {
		fmt.Fprintln(w)
	}
	return WriteSentences(w, e.Sentences)
}

// brief is how many seconds a run lasts at most that need not be faster.
const brief = 10

// Urgent returns the same without the sentences upon which no user needs to act: notes, and the pace of a brief run.
func (e Explained) Urgent() Explained {
	return Explained{e.Summary, slices.DeleteFunc(slices.Clone(e.Sentences), func(s explain.Sentence) bool {
		return s.Severity == explain.Note || s.Pace() && e.Time < brief
	})}
}

// WriteSentences prints a line for each sentence.
func WriteSentences(w io.Writer, all []explain.Sentence) error {
	for _, s := range all {
		if _, err := fmt.Fprintf(w, "%s: %s\n", s.Severity, s.Text); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	return nil
}
