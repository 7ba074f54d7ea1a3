package study

import (
	"fmt"
	"strings"
)

// tables returns the tables of the study that have rows: how cells are made and tuned, times to all targets, claims,
// scaling, and the checklist.
func (s *Study) tables() []table {
	all := []table{methodTable(s), networkTable(s), tuningTable(s)}
	for _, network := range s.Networks {
		if groups := s.on(network.Name); len(groups) > 0 {
			all = append(all, levelTable(s, network, groups))
		}
	}
	all = append(all, verdictTable(s), claimTable(s), scalingTable(s), settingsTable(s), checkTable(s))
	kept := all[:0]
	for _, t := range all {
		if len(t.Rows) > 0 {
			kept = append(kept, t)
		}
	}
	return kept
}

// grid appends a table to the page.
func (m *markup) grid(t table) {
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
func (t table) classOf(i int, cell string) string {
	switch {
	case i >= t.Texts:
	case cell == string(met), strings.HasPrefix(cell, string(supported)):
		return ` class="words met"`
	case cell == string(notMet), strings.HasPrefix(cell, string(notSupported)):
		return ` class="words not"`
	}
	return t.class(i)
}

// class returns the attribute of the i-th column.
func (t table) class(i int) string {
	if i < t.Texts {
		return ` class="words"`
	}
	return ""
}
