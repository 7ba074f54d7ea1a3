package study

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gonum.org/v1/plot/vg"

	"gossiptrainer/internal/chart"
	"gossiptrainer/internal/record"
)

// page is the report of a study: one file that needs no other file and no network. It is not a template of the standard
// library, because that calls methods by name, so the linker would keep every exported method of all packages.
//
//go:embed page.html
var page string

// A drawing is a figure inside the page: its legend and its panels, side by side if there is room.
type drawing struct {
	panels  []picture
	legend  []swatch
	caption string
}

// A picture is a panel inside the page.
type picture struct {
	axis chart.Axis
	svg  string
}

// A swatch is an entry of a legend inside the page.
type swatch struct{ name, color, dashes, width string }

// script switches the horizontal axis of the curves. It is part of the page.
//
//go:embed page.js
var script string

// writeHTML writes the report of a study.
func (s *Study) writeHTML(w io.Writer) error {
	findings, err := findings(s)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(script)) // the only script that the page lets a browser run
	_, err = strings.NewReplacer(
		"{{name}}", html.EscapeString(s.Name),
		"{{findings}}", findings,
		"{{reproduce}}", html.EscapeString(s.Reproduce()),
		"{{script}}", script,
		"{{hash}}", "sha256-"+base64.StdEncoding.EncodeToString(sum[:]),
	).WriteString(w, page)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// findings returns the parts of the page in the order of a paper: abstract, setup, results, claims, caveats, checklist
// and methods.
func findings(s *Study) (string, error) {
	var m markup
	m.abstract(s)
	tables := map[string]table{}
	for _, t := range s.tables() {
		tables[t.Name] = t
	}
	m.say("<h2 id=\"setup\">Setup</h2>\n")
	m.named(tables, "methods", "networks", "tuning")
	m.say("<h2 id=\"results\">Results</h2>\n" + axisSwitch)
	for _, network := range s.Networks {
		groups := s.on(network.Name)
		if len(groups) == 0 {
			continue
		}
		m.say("<h3>%s</h3>\n", network.Name)
		m.table(s.Targets.List(), s.rows(network.Name))
		m.named(tables, "targets-"+slug(network.Name))
		if err := m.figures(s.figuresOn(network, groups)); err != nil {
			return "", err
		}
	}
	if err := m.figures(s.overall()); err != nil {
		return "", err
	}
	m.named(tables, "scaling")
	m.say("<h2 id=\"claims\">Claims</h2>\n")
	m.named(tables, "claims")
	m.say("<h2 id=\"caveats\">Before you believe it</h2>\n<ul>")
	for _, c := range s.Caveats() {
		m.say("<li>%s</li>", c)
	}
	m.say("</ul>\n<h2 id=\"checklist\">Checklist of reviewers</h2>\n")
	m.named(tables, "checklist")
	m.say("<h2 id=\"methods\">Methods</h2>\n")
	for _, paragraph := range s.Methods() {
		m.say("<p>%s</p>\n", paragraph)
	}
	m.named(tables, "settings")
	return m.String(), nil
}

// axisSwitch stays hidden without the script.
const axisSwitch = `<form id="axes" hidden><fieldset><legend>Curves against</legend>
<label><input type="radio" name="axis" value="all" checked> all</label>
<label><input type="radio" name="axis" value="seconds"> seconds</label>
<label><input type="radio" name="axis" value="bytes"> bytes</label>
<label><input type="radio" name="axis" value="rounds"> rounds</label></fieldset></form>
`

// A markup is a buffer of HTML.
type markup struct{ strings.Builder }

// say appends HTML in which %s stands for the values, whose special characters it escapes.
func (m *markup) say(format string, values ...string) {
	escaped := make([]any, len(values))
	for i, v := range values {
		escaped[i] = html.EscapeString(v)
	}
	fmt.Fprintf(m, format, escaped...)
}

// abstract appends the findings, a paragraph for each network, and links to the parts of the page.
func (m *markup) abstract(s *Study) {
	m.say("<section id=\"abstract\" aria-label=\"Abstract\">\n<p>%s %s</p>\n", scope(s), answered(s))
	for _, network := range s.Networks {
		if sentences := abstractOn(s, network.Name); len(sentences) > 0 {
			m.say("<p><strong>%s.</strong> %s</p>\n", network.Name, below(s, network.Name, sentences))
		}
	}
	m.say("</section>\n<nav aria-label=\"Parts\"><ul>")
	for _, part := range []struct{ id, name string }{
		{"setup", "Setup"}, {"results", "Results"}, {"claims", "Claims"}, {"caveats", "Caveats"},
		{"checklist", "Checklist"}, {"methods", "Methods"}, {"made", "How it was made"},
	} {
		m.say("<li><a href=\"#%s\">%s</a></li>", part.id, part.name)
	}
	m.say("</ul></nav>\n")
}

// below joins sentences below the name of their network, which they need not repeat.
func below(s *Study, network string, sentences []string) string {
	short := make([]string, len(sentences))
	for i, sentence := range sentences {
		rest, _ := strings.CutPrefix(sentence, "On "+network+" ")
		label := func(l string) bool { return strings.HasPrefix(rest, l) }
		if short[i] = rest; !slices.ContainsFunc(s.Labels, label) { // labels stay as they are
			first, size := utf8.DecodeRuneInString(rest)
			short[i] = string(unicode.ToUpper(first)) + rest[size:]
		}
	}
	return strings.Join(short, " ")
}

// named appends those of some tables that there are.
func (m *markup) named(tables map[string]table, names ...string) {
	for _, name := range names {
		if t, there := tables[name]; there {
			m.grid(t)
		}
	}
}

// table appends the rows of one network.
func (m *markup) table(targets []record.Target, rows []row) {
	m.say("<div class=\"scroll\" tabindex=\"0\"><table class=\"results\">\n<thead><tr>")
	heads := []string{"Algorithm", "bits"}
	for _, t := range targets {
		heads = append(heads, "s to "+t.String(), "speedup", "MB to it")
	}
	heads = append(heads, "ms per round", "at least", "accuracy %", "worst replica %", "training loss", "MB per peer",
		"extra MB")
	for _, h := range heads {
		m.say("<th scope=\"col\">%s</th>", h)
	}
	m.say("</tr></thead>\n<tbody>\n")
	for _, r := range rows {
		m.row(r)
	}
	m.say("</tbody></table></div>\n")
}

func (m *markup) row(r row) {
	m.say("<tr><th scope=\"row\">%s", r.Label)
	if r.Fate != "" {
		m.say(" <span class=\"note\">%s</span>", r.Fate)
	}
	m.say("</th><td>%s</td>", r.Bits)
	for _, t := range r.Targets {
		if t.Best {
			m.say("<td class=\"best\">%s</td>", fold(t.Time))
		} else {
			m.say("<td>%s</td>", fold(t.Time))
		}
		m.say("<td>%s</td><td>%s</td>", fold(t.Sooner), fold(t.Bytes))
	}
	m.say("\n")
	for _, value := range []string{r.Round, r.Least, r.Accuracy, r.Worst, r.Loss, r.MB, r.Extra} {
		m.say("<td>%s</td>", fold(value))
	}
	m.say("</tr>\n")
}

// figures appends figures with their legends and captions.
func (m *markup) figures(figures []*chart.Figure) error {
	all, err := drawings(figures)
	if err != nil {
		return err
	}
	for _, f := range all {
		m.say("<figure>\n<ul class=\"legend\" aria-hidden=\"true\">")
		for _, e := range f.legend {
			m.say("<li><svg viewBox=\"0 0 42 12\"><line x1=\"0\" y1=\"6\" x2=\"42\" y2=\"6\" "+
				"stroke=\"%s\" stroke-width=\"%s\" stroke-dasharray=\"%s\"/></svg>%s</li>",
				e.color, e.width, e.dashes, e.name)
		}
		m.say("</ul>\n<div class=\"panels\">")
		for _, p := range f.panels {
			if p.axis == "" {
				m.WriteString("<div>" + p.svg + "</div>")
				continue
			}
			m.say("<div data-panel=\"%s\">", string(p.axis))
			m.WriteString(p.svg + "</div>")
		}
		m.say("</div><figcaption>%s</figcaption></figure>\n", f.caption)
	}
	return nil
}

// fold allows a line break only between a value and its interval.
func fold(value string) string {
	mean, interval, _ := strings.Cut(value, " [")
	if interval != "" {
		interval = " [" + strings.ReplaceAll(interval, " ", "\u00a0")
	}
	return strings.ReplaceAll(mean, " ± ", "\u00a0±\u00a0") + interval
}

func drawings(figures []*chart.Figure) ([]drawing, error) {
	all := make([]drawing, len(figures))
	for i, f := range figures {
		all[i].caption = f.Caption
		for _, e := range f.Legend {
			all[i].legend = append(all[i].legend, swatchOf(e))
		}
		for _, p := range f.Panels {
			svg, err := p.SVG()
			if err != nil {
				return nil, err
			}
			all[i].panels = append(all[i].panels, picture{p.Axis, inline(svg, p.Words)})
		}
	}
	return all, nil
}

// swatchOf returns an entry of a legend as the page draws it.
func swatchOf(e chart.Entry) swatch {
	r, g, b, _ := e.Style.Color.RGBA()
	dashes := make([]string, len(e.Style.Dashes))
	for i, d := range e.Style.Dashes {
		dashes[i] = fmt.Sprint(d.Points())
	}
	return swatch{
		name: e.Name, color: fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8),
		dashes: strings.Join(dashes, " "), width: fmt.Sprint(max(e.Style.Width, vg.Points(2)).Points()),
	}
}

// inline removes the declarations of an SVG file, makes it scale with the page and adds a description in words. The
// texts in it come from escaped labels.
func inline(svg []byte, words string) string {
	_, after, _ := bytes.Cut(svg, []byte("<svg"))
	alternative := html.EscapeString(words)
	return fmt.Sprintf("<svg role=\"img\" aria-label=\"%s\"%s", alternative, bytes.TrimSpace(after))
}
