package study

import (
	"strings"
	"unicode/utf8"
)

// Widths in LaTeX, in points, of \footnotesize in an article of 10 points.
const (
	articleText   = 345.0
	articleLetter = 4.6 // the mean of digits and letters, rounded up
	articleGap    = 6.0 // beside a column
	paragraph     = 0.35
)

// tabular writes a table of escaped cells, the head first, for \usepackage{booktabs}. Where a table is wider than
// the text of an article, its other columns follow below, beside the first column again.
func tabular(b *strings.Builder, specs []string, lines [][]string) {
	b.WriteString("{\\footnotesize\\setlength{\\tabcolsep}{3pt}%\n")
	for from := 1; ; {
		room, to := articleText-columnOf(specs, lines, 0), from
		for to < len(specs) && (to == from || room >= columnOf(specs, lines, to)) {
			room -= columnOf(specs, lines, to)
			to++
		}
		b.WriteString("\\noindent\\begin{tabular}{" + specs[0] + strings.Join(specs[from:to], "") + "}\n\\toprule\n")
		for i, line := range lines {
			b.WriteString(strings.Join(append([]string{line[0]}, line[from:to]...), " & ") + " \\\\\n")
			if i == 0 {
				b.WriteString("\\midrule\n")
			}
		}
		b.WriteString("\\bottomrule\n\\end{tabular}\n")
		if from = to; from >= len(specs) {
			break
		}
		b.WriteString("\n\\medskip\n")
	}
	b.WriteString("}\n")
}

// columnOf returns the width of a column in points.
func columnOf(specs []string, lines [][]string, i int) float64 {
	if strings.HasPrefix(specs[i], "p") {
		return paragraph*articleText + articleGap
	}
	widest := 0
	for _, line := range lines {
		shown := strings.NewReplacer("\\textbf{", "", "\\textasciitilde", "", "\\textasciicircum", "", "\\textbackslash", "",
			"$^\\dagger$", "+", "$\\pm$", "±", "$", "", "\\", "", "{", "", "}", "").Replace(line[i])
		widest = max(widest, utf8.RuneCountInString(shown))
	}
	return articleLetter*float64(widest) + articleGap
}
