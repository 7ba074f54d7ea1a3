package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"

	"gossiptrainer/internal/record"
)

// page is the report of a study: one file that needs no other file and no network. It is not a template of the standard
// library, because that calls methods by name, so the linker would keep every exported method of all packages.
//
//go:embed page.html
var page string

// A drawing is a figure inside the page: its legend and its panels, side by side if there is room.
type drawing struct {
	panels  []string
	legend  []swatch
	caption string
}

// A swatch is an entry of a legend inside the page.
type swatch struct{ name, color, dashes, width string }

// WriteHTML writes the report of a study.
func (s *Study) WriteHTML(w io.Writer) error {
	findings, err := s.findings()
	if err != nil {
		return err
	}
	_, err = strings.NewReplacer(
		"{{name}}", html.EscapeString(s.Name),
		"{{findings}}", findings,
		"{{reproduce}}", html.EscapeString(s.Reproduce()),
		"{{reference}}", html.EscapeString(reference(s.Groups).Label),
		"{{smoothing}}", strconv.Itoa(record.Smoothing),
	).WriteString(w, page)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// findings returns the conclusions, the caveats, and a table and figures for each network.
func (s *Study) findings() (string, error) {
	var m markup
	for _, c := range s.Conclusions() {
		m.say("<p>%s</p>\n", c)
	}
	if caveats := s.Caveats(); len(caveats) > 0 {
		m.say("<h2>Before you believe it</h2><ul>")
		for _, c := range caveats {
			m.say("<li>%s</li>", c)
		}
		m.say("</ul>")
	}
	for _, network := range s.Networks {
		groups := s.on(network.Name)
		if len(groups) == 0 {
			continue
		}
		m.say("<h2>%s</h2>\n", network.Name)
		m.table(s.Targets.List(), s.rows(network.Name))
		if err := m.figures(s.figuresOn(network, groups)); err != nil {
			return "", err
		}
	}
	if err := m.figures([]*Figure{s.rounds()}); err != nil {
		return "", err
	}
	return m.String(), nil
}

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

// table appends the rows of one network.
func (m *markup) table(targets []record.Target, rows []row) {
	m.say("<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>")
	heads := []string{"Algorithm", "bits"}
	for _, t := range targets {
		heads = append(heads, "s to "+t.String(), "times sooner", "MB to it")
	}
	heads = append(heads, "ms per round", "at least", "accuracy %", "training loss", "MB per peer", "extra MB")
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
	for _, value := range []string{r.Round, r.Least, r.Accuracy, r.Loss, r.MB, r.Extra} {
		m.say("<td>%s</td>", fold(value))
	}
	m.say("</tr>\n")
}

// figures appends figures with their legends and captions.
func (m *markup) figures(figures []*Figure) error {
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
		for _, svg := range f.panels {
			m.WriteString("<div>" + svg + "</div>")
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

func drawings(figures []*Figure) ([]drawing, error) {
	all := make([]drawing, len(figures))
	for i, f := range figures {
		all[i].caption = f.Caption
		for _, e := range f.legend {
			all[i].legend = append(all[i].legend, e.swatch())
		}
		for _, p := range f.panels {
			svg, err := p.svg()
			if err != nil {
				return nil, err
			}
			all[i].panels = append(all[i].panels, inline(svg, p.words))
		}
	}
	return all, nil
}

// swatch returns the entry as the page draws it.
func (e entry) swatch() swatch {
	r, g, b, _ := e.style.Color.RGBA()
	dashes := make([]string, len(e.style.Dashes))
	for i, d := range e.style.Dashes {
		dashes[i] = fmt.Sprint(d.Points())
	}
	return swatch{
		name: e.name, color: fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8),
		dashes: strings.Join(dashes, " "), width: fmt.Sprint(max(e.style.Width, vg.Points(2)).Points()),
	}
}

// inline removes the declarations of an SVG file, makes it scale with the page and adds a description in words. The
// texts in it come from escaped labels.
func inline(svg []byte, words string) string {
	_, after, _ := bytes.Cut(svg, []byte("<svg"))
	alternative := html.EscapeString(words)
	return fmt.Sprintf("<svg role=\"img\" aria-label=\"%s\"%s", alternative, bytes.TrimSpace(after))
}
