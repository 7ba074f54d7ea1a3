package configs

import (
	"fmt"
	"slices"
	"strings"
)

// A PaperComparison says what a comparison for a paper has. NewPaper makes its file.
type PaperComparison struct {
	Base       string   // preset or path of the run file from which every cell starts
	Algorithms []string // names of PaperAlgorithms
	Links      []string // rates with or without latencies, as in 100mbit/1ms
	Seeds      int      // 2 or more: one seed has no interval
	Target     string   // loss=VALUE or accuracy=VALUE
}

// A paperRow is an algorithm with the settings that its own paper prescribes. A search finds what that leaves open.
type paperRow struct{ name, yaml string }

var paperRows = []paperRow{
	{"allreduce", `{label: AllReduce, name: allreduce, bits: 32}`},
	{"dpsgd", `{label: D-PSGD, name: dpsgd, bits: 32}`},
	{"moniqua-8", `{label: Moniqua 8b, name: dpsgd, codec: moniqua, bits: 8}`},
	{"moniqua-4", `{label: Moniqua 4b, name: dpsgd, codec: moniqua, bits: 4}`},
	{"moniqua-2",
		`{label: Moniqua 2b, name: dpsgd, codec: moniqua, bits: 2, set: {topology: {slack: "tune(0.3, auto, 0.8)"}}}`},
	{"moniqua-1",
		`{label: Moniqua 1b, name: dpsgd, codec: moniqua, bits: 1, set: {topology: {slack: "tune(0.1, 0.2, 0.3)"}}}`},
	{"choco-sign", `{label: Choco sign, name: choco, gamma: "tune(0.1, 0.3, auto)", compressor: {name: sign}}`},
	{"choco-8", `{label: Choco 8b, name: choco, gamma: 1, compressor: {name: minmax, bits: 8}}`},
	{"deepsqueeze-sign",
		`{label: DeepSqueeze sign, name: deepsqueeze, gamma: "tune(0.1, 0.3, auto)", compressor: {name: sign}}`},
	{"deepsqueeze-8", `{label: DeepSqueeze 8b, name: deepsqueeze, gamma: 1, compressor: {name: minmax, bits: 8}}`},
	{"dcd-8", `{label: DCD 8b, name: dcd, compressor: {name: minmax, bits: 8, mode: stochastic}}`},
	{"ecd-8", `{label: ECD 8b, name: ecd, compressor: {name: minmax, bits: 8, mode: stochastic}}`},
	{"d2", `{label: D², name: d2, bits: 32}`},
	{"d2-moniqua-8", `{label: D² Moniqua 8b, name: d2, codec: moniqua, bits: 8}`},
	{"gt", `{label: Gradient tracking, name: gt, bits: 32}`},
	{"qg", `{label: QG-DSGDm, name: qg, bits: 32}`},
}

// PaperAlgorithms are the algorithms that NewPaper knows.
func PaperAlgorithms() []string {
	var all []string
	for _, row := range paperRows {
		all = append(all, row.name)
	}
	return all
}

// NewPaper returns a comparison file that needs no second page. Rivals are as their papers prescribe, and each network
// has each algorithm and seed. An error names the wrong field.
func NewPaper(p PaperComparison) ([]byte, error) {
	metric, value, found := strings.Cut(p.Target, "=")
	if !found || metric != "loss" && metric != "accuracy" {
		return nil, fmt.Errorf("target %q: want loss=0.5 or accuracy=0.85", p.Target)
	}
	if p.Seeds < 2 {
		return nil, fmt.Errorf("%d seeds: want 2 or more, since one has no interval", p.Seeds)
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# %d algorithms on %d networks, %d seeds. \"peer compare FILE\" runs it. \"peer report\" writes figures of 3.3",
		len(p.Algorithms), len(p.Links), p.Seeds)
	line("# and 7 inches, tables for LaTeX, methods.tex, setup.tex and a checklist of what a reviewer asks.")
	line("name: paper")
	line("base: %s", p.Base)
	line("mode: sim         # lab: real processes on this machine, which confirm a few cells")
	line("compute: measured # gradients, coding and links take the time that they take here")
	line("networks:")
	for _, link := range p.Links {
		rate, latency, found := strings.Cut(link, "/")
		if !found {
			latency = "1ms"
		}
		if _, err := ParseRate(rate); err != nil {
			return nil, fmt.Errorf("link %q: want a rate, and a latency behind a slash, as in 100mbit/1ms", link)
		}
		line("  - {name: %s %s, rate: %s, latency: %s}", rate, latency, rate, latency)
	}
	line("algorithms:       # each with what its own paper prescribes; tune(...) searches what that leaves open")
	for _, name := range p.Algorithms {
		i := slices.IndexFunc(paperRows, func(r paperRow) bool { return r.name == name })
		if i < 0 {
			return nil, fmt.Errorf("algorithm %q: want one of %s", name, strings.Join(PaperAlgorithms(), ", "))
		}
		line("  - %s", paperRows[i].yaml)
	}
	seeds := make([]string, p.Seeds)
	for i := range seeds {
		seeds[i] = fmt.Sprint(i + 1)
	}
	line("seeds: [%s]", strings.Join(seeds, ", "))
	line("budget: {rounds: 600}")
	line("report: {targets: {%s: %s}}", metric, value)
	return []byte(b.String()), nil
}
