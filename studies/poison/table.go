package main

import (
	"fmt"
	"runtime"
	"strings"

	"gossiptrainer/studies/markdown"
)

// A result holds the outcomes of one row.
type result struct {
	row
	outcomes []outcome // by seed
}

// heading names the columns.
func heading() []string {
	return []string{"graph", "mixing", "who lies", "accuracy, %", "least, %", "cost"}
}

// mean returns the mean accuracies over the seeds; false if a run diverged.
func (r result) mean() (mean, least float64, ok bool) {
	n := float64(len(r.outcomes))
	for _, o := range r.outcomes {
		if o.diverged {
			return 0, 0, false
		}
		mean, least = mean+o.mean/n, least+o.least/n
	}
	return mean, least, true
}

// cells returns the row of a result under heading. The cost is the accuracy lost against plain, the row of the same
// graph and codec with plain mixing and no liar.
func (r result) cells(plain result) []string {
	mean, least, ok := r.mean()
	if !ok {
		return []string{r.graph, r.name, r.lies, "diverged", "-", "-"}
	}
	best, _, _ := plain.mean()
	return []string{
		r.graph, r.name, r.lies, fmt.Sprintf("%.2f", 100*mean), fmt.Sprintf("%.2f", 100*least),
		fmt.Sprintf("%.4f", best-mean),
	}
}

// document returns the Markdown text of all results, in the order of rows.
func document(results []result, rounds, seeds int) string {
	table := [][]string{heading()}
	var commands strings.Builder
	var plain result
	for _, r := range results {
		if strings.HasSuffix(r.name, "plain") && r.lies == none {
			plain = r
		}
		table = append(table, r.cells(plain))
		if r.lies == none {
			fmt.Fprintf(&commands, "    # %s, %s\n    %s\n", r.graph, r.name, r.command(rounds))
		}
	}
	return fmt.Sprintf(`# One liar of eight

Eight workers train the network of the preset %s by D-PSGD in the simulator, %d rounds with %s.
In the rows with a liar, worker %d sends its model with all signs flipped in every round. With Moniqua its symbols,
hash and repairs fit the lie, so that no check finds it. Clipped: mixing with algorithm.clip.liars: 1. Theta is fixed,
because a liar could set any theta that adapts.
`+"`go run ./studies/poison -rounds %d -seeds %d -o docs/results/poison.md`"+` makes this file again.

%s
* Accuracy: on the test set, mean over the honest peers' models and the seeds. Least: that of the worst honest peer,
  mean over the seeds.
* Cost: accuracy lost against plain mixing of the same codec on the same graph without a liar.
* diverged: in at least one of the runs.

Made on %s/%s with %s; numbers may differ a little with the type of the CPU.

## Commands

These commands run without the liar, which only this study contains:

%s`, preset, rounds, markdown.Seeds(seeds), poisoned, rounds, seeds, markdown.Table(table), runtime.GOOS, runtime.GOARCH, runtime.Version(), commands.String())
}
