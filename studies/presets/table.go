package main

import (
	"fmt"
	"strings"

	"gossiptrainer/studies/markdown"
)

// document returns the results as Markdown.
func document(all []result, f *field) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Presets before and after a change

Written by studies/presets. Both programs ran in turns, %d times each, for %d rounds; a preset with faults ran to its
end. A row has the medians of user and system seconds of all processes of a run, and the median of the ratios of a
turn. Below 1 the later program takes less. Where other programs ran on the machine, ratios of runs of a second may be
off by a fifth.

`, f.turns, f.rounds)
	table := [][]string{{"preset", "command", "before, CPU s", "after, CPU s", "ratio"}}
	var missing strings.Builder
	for _, r := range all {
		if r.missing != nil {
			fmt.Fprintf(&missing, "* %s: %v\n", r.preset, r.missing)
			continue
		}
		table = append(table, []string{r.preset, r.command, fmt.Sprintf("%.2f", r.before), fmt.Sprintf("%.2f", r.after),
			fmt.Sprintf("%.2f", r.ratio)})
	}
	b.WriteString(markdown.Table(table))
	if missing.Len() > 0 {
		b.WriteString("\nLeft out:\n\n" + missing.String())
	}
	return b.String()
}
