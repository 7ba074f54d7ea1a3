package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"gonum.org/v1/plot/vg"

	"gossiptrainer/internal/record"
)

// page is the report of a study: one file that needs no other and no network.
//
//go:embed page.html
var page string

// A drawing is a figure inside the page: its panels, which stand side by side
// where there is room, and its legend.
type drawing struct {
	Panels  []template.HTML
	Legend  []swatch
	Caption string
}

// A swatch is an entry of a legend inside the page.
type swatch struct{ Name, Color, Dashes, Width string }

type section struct {
	Name    string
	Rows    []row
	Figures []drawing
}

// shown is what the page shows of a study.
type shown struct {
	Name, Reproduce, Reference string
	Smoothing                  int
	Targets                    []record.Target
	Conclusions, Caveats       []string
	Networks                   []section
	Figures                    []drawing
}

// WriteHTML writes the report of a study.
func (s *Study) WriteHTML(w io.Writer) error {
	all := shown{
		Name: s.Name, Reproduce: s.Reproduce(), Reference: reference(s.Groups).Label, Smoothing: record.Smoothing,
		Targets:     s.Targets.List(),
		Conclusions: s.Conclusions(), Caveats: s.Caveats(),
	}
	for _, network := range s.Networks {
		if groups := s.on(network.Name); len(groups) > 0 {
			drawn, err := drawings(s.figuresOn(network, groups))
			if err != nil {
				return err
			}
			all.Networks = append(all.Networks, section{network.Name, s.rows(network.Name), drawn})
		}
	}
	var err error
	if all.Figures, err = drawings([]*Figure{s.rounds()}); err != nil {
		return err
	}
	made, err := template.New("page").Funcs(template.FuncMap{"fold": fold}).Parse(page)
	if err != nil {
		return fmt.Errorf("internal error: report: %w", err)
	}
	if err := made.Execute(w, all); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// fold lets a value break before its interval and nowhere else.
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
		all[i].Caption = f.Caption
		for _, e := range f.legend {
			all[i].Legend = append(all[i].Legend, e.swatch())
		}
		for _, p := range f.panels {
			svg, err := p.svg()
			if err != nil {
				return nil, err
			}
			all[i].Panels = append(all[i].Panels, inline(svg, p.words))
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
		Name: e.name, Color: fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8),
		Dashes: strings.Join(dashes, " "), Width: fmt.Sprint(max(e.style.Width, vg.Points(2)).Points()),
	}
}

// inline cuts the declarations off an SVG file, lets it grow with the page and
// says in words what it shows. The text in it comes from escaped labels.
func inline(svg []byte, words string) template.HTML {
	_, after, _ := bytes.Cut(svg, []byte("<svg"))
	alternative := template.HTMLEscapeString(words)
	return template.HTML(fmt.Sprintf("<svg role=\"img\" aria-label=\"%s\"%s", alternative, bytes.TrimSpace(after)))
}
