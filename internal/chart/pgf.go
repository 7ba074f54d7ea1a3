package chart

import (
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"gossiptrainer/internal/human"
)

// PGF returns the figure as LaTeX for pgfplots, with its numbers as coordinates. A paper that includes it draws the
// figure in its own fonts. The panels stand side by side over the width of the text.
func (f *Figure) PGF() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%% %s\n%% \\usepackage{pgfplots} \\usepgfplotslibrary{groupplots} \\pgfplotsset{compat=1.16}\n",
		oneLine(f.Caption))
	used := map[string]color.Color{}
	for _, p := range f.Panels {
		for _, s := range p.Shapes {
			used[colorName(s.Style.Color)] = s.Style.Color
		}
	}
	for _, e := range f.Legend {
		used[colorName(e.Style.Color)] = e.Style.Color
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		r, g, bl := rgb(used[name])
		fmt.Fprintf(&b, "\\definecolor{%s}{RGB}{%d,%d,%d}\n", name, r, g, bl)
	}
	n := len(f.Panels)
	fmt.Fprintf(&b, "\\begin{tikzpicture}\n"+
		"\\begin{groupplot}[group style={group size=%d by 1, horizontal sep=%.2f\\linewidth},\n"+
		"  width=%.3f\\linewidth, height=0.3\\linewidth, scale only axis, grid=major, grid style={black!10},\n"+
		"  label style={font=\\small}, tick label style={font=\\footnotesize},\n"+
		"  legend style={at={(0,1.04)}, anchor=south west, draw=none, font=\\footnotesize, legend columns=4}]\n",
		n, pgfGap, (1-float64(n)*pgfGap)/float64(n))
	for i, p := range f.Panels {
		p.pgf(&b)
		if i > 0 {
			continue
		}
		for _, e := range f.Legend {
			fmt.Fprintf(&b, "\\addlegendimage{%s}\\addlegendentry{%s}\n", strokePGF(e.Style.Color, e.Style.Dashes,
				e.Style.Width), human.LaTeX(e.Name))
		}
	}
	b.WriteString("\\end{groupplot}\n\\end{tikzpicture}\n")
	return b.String()
}

// pgfGap is the room left of a panel for its labels, as a share of the line.
const pgfGap = 0.1

// mostPoints of an outline or line are written: more would fill the memory of TeX and change no picture.
const mostPoints = 120

// pgf writes a panel.
func (p *Panel) pgf(b *strings.Builder) {
	fmt.Fprintf(b, "\\nextgroupplot[xlabel={%s}, ylabel={%s}, xmin=%s, xmax=%s, ymin=%s, ymax=%s",
		human.LaTeX(p.X.Label.Text),
		human.LaTeX(p.Y.Label.Text), Label(p.X.Min), Label(p.X.Max), Label(p.Y.Min), Label(p.Y.Max))
	for i, a := range []plot.Axis{p.X, p.Y} {
		if _, logarithmic := a.Scale.(plot.LogScale); logarithmic {
			fmt.Fprintf(b, ", %cmode=log", "xy"[i])
		}
	}
	if _, inverted := p.X.Scale.(plot.InvertedScale); inverted {
		b.WriteString(", x dir=reverse")
	}
	b.WriteString(p.ticksPGF() + "]\n")
	for _, s := range p.Shapes {
		s.pgf(b)
	}
	for _, n := range p.notes {
		fmt.Fprintf(b, "\\node[rotate=90, anchor=west, font=\\footnotesize] at (axis cs:%s,%s) {%s};\n", Label(n.at.X),
			Label(n.at.Y), human.LaTeX(n.labels.Labels[0]))
	}
}

// ticksPGF names the ticks of a horizontal axis that has its own.
func (p *Panel) ticksPGF() string {
	if len(p.Names) > 0 {
		places, labels, angle := make([]string, len(p.Names)), make([]string, len(p.Names)), 35
		if len(p.Names) >= Crowd {
			angle = 90
		}
		for i, name := range p.Names {
			places[i], labels[i] = strconv.Itoa(i), "{"+human.LaTeX(name)+"}"
		}
		return fmt.Sprintf(", xtick={%s}, xticklabels={%s}, x tick label style={rotate=%d, anchor=east}",
			strings.Join(places, ","), strings.Join(labels, ","), angle)
	}
	ticks, own := p.X.Tick.Marker.(plot.ConstantTicks)
	if !own {
		return ""
	}
	var places, labels []string
	for _, t := range ticks {
		places, labels = append(places, Label(t.Value)), append(labels, "{"+t.Label+"}")
	}
	return fmt.Sprintf(", xtick={%s}, xticklabels={%s}, minor x tick num=0", strings.Join(places, ","),
		strings.Join(labels, ","))
}

// pgf writes a shape.
func (s Shape) pgf(b *strings.Builder) {
	points := thinned(s.Points)
	end := ";\n"
	switch s.kind {
	case lineShape:
		fmt.Fprintf(b, "\\addplot[%s, forget plot]", strokePGF(s.Style.Color, s.Style.Dashes, s.Style.Width))
	case areaShape:
		fmt.Fprintf(b, "\\addplot[draw=black, line width=0.4pt, fill=%s, forget plot]", colorName(s.Style.Color))
		end = " -- cycle;\n"
	case bandShape:
		fmt.Fprintf(b, "\\addplot[draw=none, fill=%s, fill opacity=0.16, forget plot]", colorName(s.Style.Color))
		end = " -- cycle;\n"
	case dotShape:
		fmt.Fprintf(b, "\\addplot[only marks, mark=*, mark size=1.6pt, color=%s, forget plot]", colorName(s.Style.Color))
	}
	b.WriteString(" coordinates {")
	for _, at := range points {
		fmt.Fprintf(b, "(%s,%s)", Label(at.X), Label(at.Y))
	}
	b.WriteString("}" + end)
}

// thinned leaves out points of a long line evenly, but neither the first nor the last.
func thinned(points plotter.XYs) plotter.XYs {
	n := len(points)
	if n <= mostPoints {
		return points
	}
	kept := make(plotter.XYs, mostPoints)
	for i := range kept {
		kept[i] = points[int(math.Round(float64(i)*float64(n-1)/(mostPoints-1)))]
	}
	return kept
}

// strokePGF returns the options of a line.
func strokePGF(c color.Color, dashes []vg.Length, width vg.Length) string {
	text := fmt.Sprintf("no marks, color=%s, line width=%.1fpt", colorName(c), width.Points())
	if len(dashes) == 0 {
		return text
	}
	text += ", dash pattern="
	for i, d := range dashes {
		text += fmt.Sprintf("%s %.1fpt ", [...]string{"on", "off"}[i%2], d.Points())
	}
	return strings.TrimSpace(text)
}

// rgb returns the parts of a colour from 0 to 255.
func rgb(c color.Color) (r, g, b uint8) {
	plain := color.NRGBAModel.Convert(c).(color.NRGBA)
	return plain.R, plain.G, plain.B
}

// colorName returns the name of a colour in LaTeX.
func colorName(c color.Color) string {
	r, g, b := rgb(c)
	return fmt.Sprintf("peer%02x%02x%02x", r, g, b)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
