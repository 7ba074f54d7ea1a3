package report

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"strings"
)

// page is the report of a study: one file that needs no other and no network.
const page = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Name}}</title>
<style>
body { font: 15px/1.5 "Liberation Sans", Helvetica, Arial, sans-serif; color: #222; background: #fff; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2.2rem }
table { border-collapse: collapse; font-size: .87rem; width: 100% }
th, td { padding: .25rem .5rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap }
th { white-space: normal; vertical-align: bottom }
th:first-child, td:first-child { text-align: left }
tr.best td { font-weight: bold }
figure { margin: 1.2rem 0 } figure svg { width: 100%; height: auto } figcaption { font-size: .87rem; color: #555 }
.scroll { overflow-x: auto } .note { color: #a33 } pre { background: #f5f5f5; padding: .7rem; overflow-x: auto }
</style></head><body>
<h1>{{.Name}}</h1>
{{range .Conclusions}}<p>{{.}}</p>
{{end}}
{{with .Caveats}}<h2>Before you believe it</h2><ul>{{range .}}<li>{{.}}</li>{{end}}</ul>{{end}}
{{range .Networks}}<h2>{{.Name}}</h2>
<div class="scroll"><table><tr><th>Algorithm</th><th>bits</th><th>s to {{$.Target}}</th><th>times sooner</th><th>MB to it</th><th>ms per round</th><th>at least</th><th>accuracy %</th><th>training loss</th><th>MB per peer</th><th>extra MB</th></tr>
{{range .Rows}}<tr{{if .Best}} class="best"{{end}}><td>{{.Label}}{{with .Diverged}} <span class="note">{{.}}</span>{{end}}</td><td>{{.Bits}}</td><td>{{.ToTarget}}</td><td>{{.Speedup}}</td><td>{{.Bytes}}</td><td>{{.Round}}</td><td>{{.Least}}</td><td>{{.Accuracy}}</td><td>{{.Loss}}</td><td>{{.MB}}</td><td>{{.Extra}}</td></tr>
{{end}}</table></div>
{{range .Figures}}<figure>{{.SVG}}<figcaption>{{.Caption}}</figcaption></figure>
{{end}}{{end}}
{{range .Figures}}<figure>{{.SVG}}<figcaption>{{.Caption}}</figcaption></figure>
{{end}}
<h2>How it was made</h2>
<pre>{{.Reproduce}}</pre>
<p>Times are seconds of training without setting up, bytes are encrypted ones at the socket. ± is the 95 % interval of the mean over seeds. Times sooner are against {{.Reference}}, paired by seed, where all runs of both reach the target. Accuracy is that of the mean of all models where the simulator evaluates it, else the mean over the peers. Training loss is that of the last record in the tables, and the mean of the last {{.Smoothing}} records in the figures and where a target is looked for.</p>
</body></html>
`

// A drawing is a figure inside the page.
type drawing struct {
	SVG     template.HTML
	Caption string
}

type section struct {
	Name    string
	Rows    []row
	Figures []drawing
}

// WriteHTML writes the report of a study.
func (s *Study) WriteHTML(w io.Writer) error {
	shown := struct {
		Name, Target, Reproduce, Reference string
		Smoothing                          int
		Conclusions, Caveats               []string
		Networks                           []section
		Figures                            []drawing
	}{
		Smoothing: smoothing, Name: s.Name, Target: s.Targets.String(), Reproduce: s.Reproduce(), Reference: reference(s.Groups).Label,
		Conclusions: s.Conclusions(), Caveats: s.Caveats(),
	}
	figures := map[string]drawing{}
	for _, f := range s.Figures() {
		svg, err := f.Draw("svg")
		if err != nil {
			return err
		}
		figures[f.Name] = drawing{SVG: inline(svg), Caption: f.Caption}
	}
	for _, network := range s.Networks {
		name := slug(network.Name)
		if rows := s.rows(network.Name); rows != nil {
			shown.Networks = append(shown.Networks, section{network.Name, rows, []drawing{figures["loss-"+name], figures["bars-"+name]}})
		}
	}
	shown.Figures = []drawing{figures["rounds"]}
	made, err := template.New("page").Parse(page)
	if err != nil {
		return fmt.Errorf("internal error: report: %w", err)
	}
	if err := made.Execute(w, shown); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// inline cuts the declarations off an SVG file and lets it grow with the page.
// The text in it comes from escaped labels.
func inline(svg []byte) template.HTML {
	if at := bytes.Index(svg, []byte("<svg")); at > 0 {
		svg = svg[at:]
	}
	return template.HTML(strings.TrimSpace(string(svg)))
}
