package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
)

// A Table is a table of a study, which can be written for LaTeX, as CSV and into the page.
type Table struct {
	Name    string // of its file, without extension
	Caption string
	Head    []string
	Rows    [][]string // as long as Head
	Texts   int        // leading columns that hold words; the others hold numbers
}

// Tables returns the tables of the study that have rows: how cells are made and tuned, times to all targets, claims,
// scaling, and the checklist.
func (s *Study) Tables() []Table {
	all := []Table{s.methodTable(), s.networkTable(), s.tuningTable()}
	for _, network := range s.Networks {
		if groups := s.on(network.Name); len(groups) > 0 {
			all = append(all, s.levelTable(network, groups))
		}
	}
	all = append(all, s.verdictTable(), s.claimTable(), s.scalingTable(), s.settingsTable(), s.checkTable())
	kept := all[:0]
	for _, t := range all {
		if len(t.Rows) > 0 {
			kept = append(kept, t)
		}
	}
	return kept
}

// WriteCSV writes the table as CSV with a line of names.
func (t Table) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write(t.Head) // Flush reports the error
	_ = out.WriteAll(t.Rows)
	out.Flush()
	return out.Error()
}

// WriteLaTeX writes the table for \usepackage{booktabs}. Columns of words beyond the first break their lines.
func (t Table) WriteLaTeX(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%% %s\n", latex(t.Caption))
	var lines [][]string
	for _, cells := range append([][]string{t.Head}, t.Rows...) {
		escaped := make([]string, len(cells))
		for i, cell := range cells {
			escaped[i] = latex(cell)
		}
		lines = append(lines, escaped)
	}
	tabular(&b, t.columns(), lines)
	_, err := io.WriteString(w, b.String())
	return err
}

// columns returns the alignment of the columns. Long words get a paragraph of a share of the line.
func (t Table) columns() []string {
	const long = 40
	var specs []string
	for i := range t.Head {
		widest := 0
		for _, row := range t.Rows {
			widest = max(widest, len(row[i]))
		}
		switch {
		case i >= t.Texts:
			specs = append(specs, "r")
		case widest > long:
			specs = append(specs, fmt.Sprintf("p{%.2f\\linewidth}", paragraph))
		default:
			specs = append(specs, "l")
		}
	}
	return specs
}

// grid appends a table to the page.
func (m *markup) grid(t Table) {
	m.say("<div class=\"scroll\" tabindex=\"0\"><table class=\"%s\">\n<caption>%s</caption>\n<thead><tr>",
		strings.TrimSpace("grid "+t.Name), t.Caption)
	for i, h := range t.Head {
		fmt.Fprintf(&m.Builder, "<th scope=\"col\"%s>", t.class(i))
		m.say("%s</th>", h)
	}
	m.say("</tr></thead>\n<tbody>\n")
	for _, row := range t.Rows {
		m.say("<tr><th scope=\"row\">%s</th>", row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(&m.Builder, "<td%s>", t.classOf(i+1, cell))
			m.say("%s</td>", fold(cell))
		}
		m.say("</tr>\n")
	}
	m.say("</tbody></table></div>\n")
}

// classOf returns the attribute of a cell of the i-th column. Answers have colours, which repeat their words.
func (t Table) classOf(i int, cell string) string {
	switch {
	case i >= t.Texts:
	case cell == string(Met), strings.HasPrefix(cell, string(Supported)):
		return ` class="words met"`
	case cell == string(NotMet), strings.HasPrefix(cell, string(NotSupported)):
		return ` class="words not"`
	}
	return t.class(i)
}

// class returns the attribute of the i-th column.
func (t Table) class(i int) string {
	if i < t.Texts {
		return ` class="words"`
	}
	return ""
}
