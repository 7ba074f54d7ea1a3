package main

import (
	"fmt"
	"slices"
	"strings"

	"gossiptrainer/studies/markdown"
)

// document returns the Markdown text of all runs.
func document(lines []row) string {
	table := [][]string{{"algorithm", "messages", "1 bit", "2 bits", "4 bits", "8 bits", "no bits to choose"}}
	var reasons []string
	for _, r := range lines {
		line := []string{r.name, r.messages}
		for range bits {
			line = append(line, "")
		}
		line = append(line, "")
		for j := range r.cells {
			at := 2 + j
			if len(r.cells) == 1 {
				at = len(line) - 1
			}
			line[at] = r.cells[j].text()
			if c := r.cells[j]; c.end == refused {
				reasons = append(reasons, "    "+c.why)
			}
		}
		table = append(table, line)
	}
	slices.Sort(reasons)
	return fmt.Sprintf(`# What the defaults reach

Eight workers on a ring train the preset %s in the simulator, once with each algorithm, each codec or compressor, and 1,
2, 4 and 8 bits. `+"`topology.slack` and `algorithm.gamma` are `auto`"+` (see [slack](../design/2026-11-slack.md)); all
other settings have their defaults. `+"`go run ./studies/defaults -o docs/results/defaults.md`"+` makes this file.

%s
* A number is the accuracy in percent, the mean of the replicas. A run that learns nothing counts as diverged.
* Diverged: DCD, ECD and naive exchange do not correct the rounding errors of messages. Theory promises nothing for them
  with coarse compressors. All-reduce with 1 bit of min-max is biased; the program warns before such a run. A server
  with random-k multiplies the variance of gradients by 100 twice, which needs a far smaller step size.

Refused: the run file has an error. These are the errors, each once:

%s
`, preset, markdown.Table(table), strings.Join(slices.Compact(reasons), "\n"))
}
