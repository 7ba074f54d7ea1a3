package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"gossiptrainer/studies/markdown"
)

// document returns the results as Markdown.
func document(all []result, own figures, turns int, processor string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Rivals

Written by studies/rivals on %s. Ours and theirs ran in turns; figures are medians of %d.
Theirs is NumPy with all workers in one matrix, and PyTorch with stacked replicas, on one thread. Rates are from the
difference of a short and a long run, so that no start counts. The ratio says how many times as fast ours is, per CPU
second. Where other programs ran on the machine, ratios of single rows may be off by a fifth.

`, processor, turns)
	table := [][]string{{"work", "ours", "theirs", "ratio"}}
	for _, r := range all {
		unit := "%.3g CPU s"
		ours, theirs := r.ours, r.theirs
		if r.workers > 0 {
			unit, ours, theirs = "%.0f k updates/s", ours/1000, theirs/1000
		}
		table = append(table, []string{r.work, fmt.Sprintf(unit, ours), fmt.Sprintf(unit, theirs),
			fmt.Sprintf("%.2f", r.ratio())})
	}
	b.WriteString(markdown.Table(table))
	b.WriteString("\nMessages that need a repair on a ring with the defaults, 1000 parameters, 100 rounds:\n\n")
	table = [][]string{{"workers", "repaired"}}
	for i, n := range own.sizes {
		table = append(table, []string{fmt.Sprint(n), fmt.Sprintf("%.1f %%", 100*own.shares[i])})
	}
	b.WriteString(markdown.Table(table))
	fmt.Fprintf(&b, "\nA message in a complete graph of 33 takes %.2f times the CPU of one in a graph of 32.\n", own.cliff)
	return b.String()
}

// processor returns the name of the processor, "" where the system does not say it.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
