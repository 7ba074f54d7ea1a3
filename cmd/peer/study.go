package main

import (
	"io"
	"os"
	"path/filepath"

	"gossiptrainer/internal/app/compare"
	"gossiptrainer/internal/report"
)

// isComparison reports whether a folder was left by peer compare.
func isComparison(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, report.ComparisonFile))
	return err == nil
}

// reportStudy writes the report of a comparison and prints its table.
func (c *console) reportStudy(dir string) error {
	study, page, err := compare.WriteReport(dir)
	if err != nil {
		return err
	}
	for _, line := range study.Conclusions() {
		c.say("%s", line)
	}
	for _, line := range study.Caveats() {
		c.say("note: %s", line)
	}
	c.say("report: %s", page)
	return c.print(study.Comparison, func(w io.Writer) error {
		if err := report.WriteCells(w, study.Comparison); err != nil {
			return err
		}
		return study.WriteTargets(w)
	})
}

// reportAgreement prints how well two comparisons agree.
func (c *console) reportAgreement(first, second string) error {
	a, err := report.ReadComparison(first)
	if err != nil {
		return err
	}
	b, err := report.ReadComparison(second)
	if err != nil {
		return err
	}
	return c.print(report.Agree(a, b), func(w io.Writer) error { return report.WriteAgreement(w, a, b) })
}
