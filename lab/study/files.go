package study

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/internal/cells"
)

// WriteFiles writes the report of a comparison into its folder, and returns its content and the path of its page.
func WriteFiles(dir string) (of *Study, page string, err error) {
	of, err = Read(dir)
	if err != nil {
		return nil, "", err
	}
	to := filepath.Join(dir, cells.ReportFolder)
	files := map[string]func(io.Writer) error{
		"index.html":        of.writeHTML,
		"data/progress.csv": of.writeCSV,
		"data/digests.csv":  writeDigests(of.Comparison),
		"tables/tables.tex": of.writeLaTeX,
		"data/results.csv":  of.writeResults,
		"REPRODUCE.md": func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "# %s\n\n```\n%s\n```\n", of.Name, of.Reproduce())
			return err
		},
	}
	for _, f := range of.Figures() {
		files["figures/pgf/"+f.Name+".tex"] = func(w io.Writer) error {
			_, err := io.WriteString(w, f.PGF())
			return err
		}
		for _, format := range []string{"png", "svg", "pdf"} {
			files["figures/"+f.Name+"."+format] = drawn(f.Draw, format)
			files["figures/column/"+f.Name+"."+format] = drawn(f.DrawColumn, format)
		}
	}
	for _, t := range of.tables() {
		files["tables/"+t.Name+".tex"], files["tables/"+t.Name+".csv"] = t.writeLaTeX, t.writeCSV
	}
	for name, write := range files {
		if err := writeWhole(filepath.Join(to, filepath.FromSlash(name)), write); err != nil {
			return nil, "", fmt.Errorf("report: %w", err)
		}
	}
	return of, filepath.Join(to, "index.html"), nil
}

// drawn returns a function that writes a figure.
func drawn(draw func(format string) ([]byte, error), format string) func(io.Writer) error {
	return func(w io.Writer) error {
		picture, err := draw(format)
		if err == nil {
			_, err = w.Write(picture)
		}
		return err
	}
}

// writeWhole writes a file that replaces an older one only when it is complete.
func writeWhole(path string, write func(io.Writer) error) error {
	var content bytes.Buffer
	if err := write(&content); err != nil {
		return err
	}
	return runfolder.WriteBelow(path, content.Bytes())
}

// writeDigests writes the digest of every successful cell. A repeated comparison must have the same digests.
func writeDigests(c cells.Comparison) func(io.Writer) error {
	return func(w io.Writer) error {
		out := csv.NewWriter(w)
		_ = out.Write([]string{"label", "network", "seed", "digest"}) // Flush reports the error
		for _, cell := range c.Cells {
			if cell.Summary != nil {
				_ = out.Write([]string{cell.Label, cell.Network, strconv.FormatUint(cell.Seed, 10), cell.Digest})
			}
		}
		out.Flush()
		return out.Error()
	}
}
