package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/atomicfile"
	"gossiptrainer/internal/report"
)

// reportFolder is where the report of a comparison goes, in its folder.
const reportFolder = "report"

// isComparison reports whether a folder was left by peer compare.
func isComparison(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, report.ComparisonFile))
	return err == nil
}

// reportStudy writes the report of a comparison and prints its table.
func (c *console) reportStudy(dir string) error {
	study, err := report.OpenStudy(dir)
	if err != nil {
		return err
	}
	to := filepath.Join(dir, reportFolder)
	files := map[string]func(io.Writer) error{
		"index.html":        study.WriteHTML,
		"data/progress.csv": study.WriteCSV,
		"data/digests.csv":  writeDigests(study.Comparison),
		"tables/tables.tex": study.WriteLaTeX,
		"REPRODUCE.md": func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "# %s\n\n```\n%s\n```\n", study.Name, study.Reproduce())
			return err
		},
	}
	for _, f := range study.Figures() {
		for _, format := range []string{"png", "svg", "pdf"} {
			files["figures/"+f.Name+"."+format] = drawn(f.Draw, format)
			files["figures/column/"+f.Name+"."+format] = drawn(f.DrawColumn, format)
		}
	}
	for name, write := range files {
		if err := writeWhole(filepath.Join(to, filepath.FromSlash(name)), write); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	for _, line := range study.Conclusions() {
		c.say("%s", line)
	}
	for _, line := range study.Caveats() {
		c.say("note: %s", line)
	}
	c.say("report: %s", filepath.Join(to, "index.html"))
	return c.print(study.Comparison, func(w io.Writer) error {
		if err := report.WriteCells(w, study.Comparison); err != nil {
			return err
		}
		return study.WriteTargets(w)
	})
}

// drawn returns what writes a figure.
func drawn(draw func(format string) ([]byte, error), format string) func(io.Writer) error {
	return func(w io.Writer) error {
		picture, err := draw(format)
		if err == nil {
			_, err = w.Write(picture)
		}
		return err
	}
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

// writeWhole writes a file that takes the place of an older one when it is
// whole.
func writeWhole(path string, write func(io.Writer) error) error {
	var content bytes.Buffer
	if err := write(&content); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return atomicfile.Write(path, content.Bytes(), runfolder.Readable)
}
