package reproduce

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/human"
	"gossiptrainer/lab/study"
)

// A Printed is a result as the paper prints it, to be shown beside ours.
type Printed struct {
	Place   string   `json:"place" yaml:"place"` // table or figure
	Source  string   `json:"source" yaml:"source"`
	What    Quantity `json:"what" yaml:"what"`
	Label   string   `json:"label,omitempty" yaml:"of"`   // of our row; Order has none
	Network string   `json:"network,omitempty" yaml:"on"` // "": the first of the part
	Says    string   `json:"paper" yaml:"says"`
	Number  *float64 `json:"-" yaml:"number"` // in Says; nil: it has none
	Why     string   `json:"why,omitempty" yaml:"why"`
	In      []string `json:"-" yaml:"in"` // the names of the parts in which we measure it
}

// A Quantity is what a result measures.
type Quantity string

// Kinds of results.
const (
	accuracy Quantity = "final accuracy"
	memory   Quantity = "additional memory"
	order    Quantity = "times to the target" // of all rows on a network
)

// quantities are those that a file may name.
var quantities = []Quantity{accuracy, memory, order}

// A Beside is a result of the paper with ours.
type Beside struct {
	Printed
	Measured   string `json:"measured"`
	Difference string `json:"difference,omitempty"` // ours minus the paper's
	Part       string `json:"part,omitempty"`
}

// beside measures a result. Without a part that has it, it says so.
func (p Printed) beside(parts map[string]*part) Beside {
	b := Beside{Printed: p, Measured: "no run of this size"}
	for _, name := range p.In {
		part, ok := parts[name]
		if !ok {
			continue
		}
		if p.What == order {
			b.Part, b.Measured = name, part.order(p.Network)
			return b
		}
		if r, ok := part.find(p.Label, p.Network); ok {
			b.Part = name
			b.measure(r)
			return b
		}
	}
	return b
}

// measure fills in the result of a row.
func (b *Beside) measure(r row) {
	var values []float64
	unit, kind := "%", study.KindOf(r.Group)
	for _, c := range r.Cells {
		switch {
		case c.Summary == nil:
		case b.What == memory:
			values, unit = append(values, float64(c.Summary.ExtraMemory)/1e6), "MB"
		case !math.IsNaN(accuracyOf(c, kind)):
			values = append(values, 100*accuracyOf(c, kind))
		}
	}
	var words []string
	if n := r.count(cells.Diverged); n > 0 {
		words = append(words, human.Part(n, len(r.Cells), "run")+" diverged")
	}
	if len(values) > 0 {
		mean := intervalOf(values)
		text := fmt.Sprintf("%.2f %s", mean.Mean, unit)
		if mean.N > 1 && mean.High > mean.Low {
			text += mean.words("%.2f")
		} else {
			text += ", " + human.Count(mean.N, "seed")
		}
		if b.What == accuracy {
			text += tested(r) + kindWords(kind)
		}
		words = append(words, text)
		if b.Number != nil {
			b.Difference = fmt.Sprintf("%+.2f", mean.Mean-*b.Number)
		}
	}
	if b.Measured = strings.Join(words, "; "); len(words) == 0 {
		b.Measured = "no result"
	}
}

// order lists the rows of a network by their mean time to the target of the comparison.
func (p *part) order(network string) string {
	type timed struct {
		label, prefix string
		time          float64 // +Inf: a seed has not reached it
	}
	var all []timed
	name := ""
	for _, g := range p.study.Groups {
		target, ok := (row{g, p}).target()
		if g.Network.Name != network || !ok || len(g.Cells) == 0 {
			continue
		}
		name = fmt.Sprint(target)
		var times []float64
		prefix := ""
		for _, c := range g.Cells {
			at := reached(c, target)
			if at == nil {
				times = append(times, math.Inf(1))
				continue
			}
			if times = append(times, at.Time); !at.Known() {
				prefix = "at most "
			}
		}
		all = append(all, timed{g.Label, prefix, intervalOf(times).Mean})
	}
	if len(all) == 0 {
		return "no run of this size"
	}
	slices.SortStableFunc(all, func(a, b timed) int { return cmp.Compare(a.time, b.time) })
	var words []string
	for _, t := range all {
		if math.IsInf(t.time, 0) || math.IsNaN(t.time) {
			words = append(words, t.label+" not in all runs")
		} else {
			words = append(words, fmt.Sprintf("%s %s%s s", t.label, t.prefix, digits(t.time)))
		}
	}
	return "to " + name + ": " + strings.Join(words, ", ")
}

// columns returns a result as the cells of a table.
func (b *Beside) columns() []string {
	what := strings.TrimSpace(b.Label + " " + string(b.What))
	if b.Network != "" {
		what += ", " + b.Network
	}
	return []string{b.Place, what, b.Says + " (" + b.Source + ")", b.Measured, b.Difference, b.Why}
}

// besideHead are the heads of the columns.
var besideHead = []string{"Place", "Result", "The paper", "What we measured", "Difference", "Why they differ"}

// besideHTML returns the section of the paper's results, "" without any.
func (p *Page) besideHTML() string {
	if len(p.Printed) == 0 {
		return ""
	}
	var w strings.Builder
	fmt.Fprintf(&w, "<h2>Beside the paper's numbers</h2>\n<p>%s</p>\n<div class=\"scroll\" tabindex=\"0\"><table>\n"+
		"<thead><tr>", html.EscapeString(p.Paper.Missing))
	for _, head := range besideHead {
		fmt.Fprintf(&w, "<th scope=\"col\">%s</th>", head)
	}
	fmt.Fprint(&w, "</tr></thead>\n<tbody>\n")
	for _, b := range p.Printed {
		fmt.Fprint(&w, "<tr>")
		for _, text := range b.columns() {
			fmt.Fprintf(&w, "<td>%s</td>", html.EscapeString(text))
		}
		fmt.Fprint(&w, "</tr>\n")
	}
	fmt.Fprint(&w, "</tbody></table></div>\n")
	return w.String()
}

// besideMarkdown is besideHTML as Markdown.
func (p *Page) besideMarkdown() string {
	if len(p.Printed) == 0 {
		return ""
	}
	var w strings.Builder
	fmt.Fprintf(&w, "\n## Beside the paper's numbers\n\n%s\n\n| %s |\n|---|---|---|---|---|---|\n",
		strings.ReplaceAll(p.Paper.Missing, ". ", ".\n"), strings.Join(besideHead, " | "))
	for _, b := range p.Printed {
		fmt.Fprintf(&w, "| %s |\n", strings.Join(b.columns(), " | "))
	}
	return w.String()
}
