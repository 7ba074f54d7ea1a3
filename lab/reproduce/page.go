package reproduce

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"strings"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/safefile"
	"gossiptrainer/internal/stats"
)

// The files of a page, in the folder of the reproduction.
const (
	PageFile = "index.html"
	TextFile = "claims.md"
)

// page is the frame of the page. It is no template of the standard library, as in package report.
//
//go:embed page.html
var page string

// A Page is the result of a reproduction: the claims with their verdicts.
type Page struct {
	Paper  Paper       `json:"paper"`
	Size   Size        `json:"size"`
	Dir    string      `json:"folder"`
	Claims []Judgement `json:"claims"`
	// Printed are results of the paper beside ours; none where the paper has none that we know.
	Printed []Beside `json:"printed,omitempty"`
	parts   []*part
}

// Path returns the file of the page.
func (p *Page) Path() string { return filepath.Join(p.Dir, PageFile) }

// Tally counts the verdicts in words.
func (p *Page) Tally() string {
	var all []string
	for _, v := range verdicts() {
		n := 0
		for _, j := range p.Claims {
			if j.Verdict == v {
				n++
			}
		}
		all = append(all, fmt.Sprintf("%d %s", n, v))
	}
	return fmt.Sprintf("%d claims: %s", len(p.Claims), strings.Join(all, ", "))
}

// Write prints a line per claim.
func (p *Page) Write(w io.Writer) error {
	t := human.AlignLeft(w)
	fmt.Fprintln(t, "VERDICT\tCLAIM")
	for _, j := range p.Claims {
		fmt.Fprintf(t, "%s\t%s\n", j.Verdict, j.Claim.Words)
	}
	return t.Flush()
}

// save writes the files of the page.
func (p *Page) save() error {
	for name, text := range map[string]string{PageFile: p.html(), TextFile: p.markdown()} {
		if err := safefile.Write(filepath.Join(p.Dir, name), []byte(text), runfolder.Readable); err != nil {
			return fmt.Errorf("reproduce: %w", err)
		}
	}
	return nil
}

// measured returns the lines of a claim's evidence.
func (j Judgement) measured() []string {
	var all []string
	for _, e := range j.Evidence {
		line := e.Words
		if len(j.Evidence) > 1 {
			line += ": " + e.Verdict.String()
		}
		all = append(all, line)
	}
	return all
}

// html returns the page.
func (p *Page) html() string {
	var rows, parts strings.Builder
	for _, j := range p.Claims {
		p.row(&rows, j)
	}
	for _, part := range p.parts {
		part.write(&parts, p.Dir)
	}
	if len(p.parts) < len(p.Size.Parts) {
		fmt.Fprintf(&parts, "<p class=\"note\">%d of %d comparisons have been run.</p>\n", len(p.parts), len(p.Size.Parts))
	}
	return strings.NewReplacer(
		"{{title}}", html.EscapeString(p.Paper.Title), "{{source}}", html.EscapeString(p.Paper.Source),
		"{{name}}", html.EscapeString(p.Paper.Name), "{{size}}", html.EscapeString(p.Size.Name),
		"{{about}}", html.EscapeString(p.Size.About), "{{tally}}", html.EscapeString(p.Tally()+". "+p.chance()),
		"{{rows}}", rows.String(), "{{beside}}", p.besideHTML(), "{{parts}}", parts.String(),
	).Replace(page)
}

// row writes the row of a claim.
func (p *Page) row(w *strings.Builder, j Judgement) {
	c := j.Claim
	fmt.Fprintf(w, "<tr><th scope=\"row\">%s<br>", html.EscapeString(c.Words))
	if c.Quote != "" {
		fmt.Fprintf(w, "<q>%s</q><br>", html.EscapeString(c.Quote))
	}
	fmt.Fprintf(w, "<span class=\"place\">%s", html.EscapeString(c.Place))
	if c.Reported != "" {
		fmt.Fprintf(w, ": %s", html.EscapeString(c.Reported))
	}
	fmt.Fprint(w, "</span></th>\n<td>")
	for _, line := range j.measured() {
		fmt.Fprintf(w, "<p>%s</p>", html.EscapeString(line))
	}
	for _, words := range []string{c.Note, c.rules()} {
		if words != "" {
			fmt.Fprintf(w, "<p class=\"place\">%s</p>", html.EscapeString(words))
		}
	}
	fmt.Fprintf(w, "</td>\n<td class=\"v%d\">%s</td>\n<td>", j.Verdict, j.Verdict)
	for _, s := range sources(j.Evidence) {
		fmt.Fprintf(w, "<p><a href=\"%s\">%s, %s</a>", s.table, html.EscapeString(s.part), html.EscapeString(s.network))
		last := ""
		for _, cell := range s.cells { // the seeds of a row stand in one line
			seed := path.Ext(cell)
			if of := strings.TrimSuffix(path.Base(cell), seed); of != last {
				fmt.Fprintf(w, "<br>%s:", html.EscapeString(of))
				last = of
			}
			fmt.Fprintf(w, " <a href=\"%s/%s\">%s</a>", html.EscapeString(cell), cells.CellFile, html.EscapeString(seed[1:]))
		}
		fmt.Fprint(w, "</p>")
	}
	fmt.Fprint(w, "</td></tr>\n")
}

// A source is where numbers came from: a table and cells of it.
type source struct {
	part, network, table string
	cells                []string
}

// sources lists where evidence came from, by part and network.
func sources(all []Evidence) []source {
	var list []source
	seen := map[string]bool{}
	for _, e := range all {
		if len(e.Cells) == 0 {
			continue
		}
		if n := len(list); n == 0 || list[n-1].part != e.Part || list[n-1].network != e.Network {
			list = append(list, source{part: e.Part, network: e.Network, table: tableOf(e.Part)})
		}
		last := &list[len(list)-1]
		for _, c := range e.Cells {
			if !seen[c] {
				seen[c], last.cells = true, append(last.cells, c)
			}
		}
	}
	return list
}

// tableOf returns the report of a part.
func tableOf(part string) string { return path.Join(part, cells.ReportFolder, "index.html") }

// write writes how a part was made, its caveats and its figures of loss.
func (p *part) write(w *strings.Builder, dir string) {
	fmt.Fprintf(w, "<h3><a href=\"%s\">%s</a>: %s</h3>\n<pre>%s</pre>\n<ul>", tableOf(p.name), html.EscapeString(p.name),
		html.EscapeString(p.study.Name), html.EscapeString(p.study.Reproduce()))
	for _, c := range p.study.Caveats() {
		fmt.Fprintf(w, "<li>%s</li>", html.EscapeString(c))
	}
	fmt.Fprint(w, "</ul>\n")
	figures, _ := filepath.Glob(filepath.Join(dir, p.name, cells.ReportFolder, "figures", "loss-*.svg"))
	for _, f := range figures {
		file := path.Join(p.name, cells.ReportFolder, "figures", filepath.Base(f))
		network := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "loss-"), ".svg")
		fmt.Fprintf(w, "<figure><img loading=\"lazy\" src=\"%s\" alt=\"\">"+
			"<figcaption>%s: curves of the training loss</figcaption></figure>\n",
			html.EscapeString(file), html.EscapeString(network))
	}
}

// markdown returns the claims as a table. Every sentence above it has a line of its own.
func (p *Page) markdown() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s: claims at size %s\n\n%s,\n<%s>\n\n%s\n\n%s.\n%s\n\n", p.Paper.Name, p.Size.Name,
		p.Paper.Title, p.Paper.Source, strings.ReplaceAll(p.Size.About, ". ", ".\n"), p.Tally(),
		strings.ReplaceAll(p.chance(), ". ", ".\n"))
	fmt.Fprint(&b, "| claim | place | measured | verdict | from |\n|---|---|---|---|---|\n")
	for _, j := range p.Claims {
		words, place, measured, from := j.Words, j.Place, j.measured(), []string{}
		if j.Quote != "" {
			words += "<br>\"" + j.Quote + "\""
		}
		if j.Reported != "" {
			place += ": " + j.Reported
		}
		for _, words := range []string{j.Note, j.rules()} {
			if words != "" {
				measured = append(measured, "*"+words+"*")
			}
		}
		for _, s := range sources(j.Evidence) {
			from = append(from, fmt.Sprintf("[%s, %s](%s)", s.part, s.network, s.table))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", words, place, strings.Join(measured, "<br>"), j.Verdict,
			strings.Join(from, "<br>"))
	}
	return b.String() + p.besideMarkdown() + "\n" + p.versions() + "\n"
}

// versions lists the versions of the claims and of the finished parts.
func (p *Page) versions() string {
	all := []string{"claims " + p.Paper.claimsVersion()}
	for _, part := range p.Size.Parts {
		text, err := safefile.Read(filepath.Join(p.Dir, part.Name, versionFile), maxMarker)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		all = append(all, part.Name+" "+strings.TrimSpace(string(text)))
	}
	return versionsAre + "\n\n* " + strings.Join(all, "\n* ")
}

// chance says how likely it is that one of the intervals misleads.
func (p *Page) chance() string {
	n := 0
	for _, j := range p.Claims {
		for _, e := range j.Evidence {
			if e.Verdict == Supported || e.Verdict == Contradicted {
				n++
			}
		}
	}
	if n == 0 {
		return "No comparison is decided."
	}
	share := 1 - stats.Confidence
	return fmt.Sprintf("%s decided, each by itself, at %.0f %%. If they were independent, about %.1f would be "+
		"wrong by chance, and at least one with a probability of %.0f %%.", comparisons(n), 100*stats.Confidence,
		share*float64(n), 100*(1-math.Pow(stats.Confidence, float64(n))))
}

func comparisons(n int) string {
	if n == 1 {
		return "1 comparison is"
	}
	return human.Count(n, "comparison") + " are"
}
