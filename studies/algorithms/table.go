package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"gossiptrainer/studies/markdown"
)

// heading names the columns.
func heading() []string {
	return []string{
		"algorithm", "extra vectors", "payload, bytes", "compute, ms", "codec, ms", "in all, ms", "accuracy, %",
	}
}

// cells returns the row of a result under heading.
func (r result) cells() []string {
	if r.code != 0 {
		return []string{r.name, "-", "-", "-", "-", "-", fmt.Sprintf("exit %d", r.code)}
	}
	accuracy := "-"
	if r.accuracy != nil {
		accuracy = fmt.Sprintf("%.2f", 100**r.accuracy)
	}
	return []string{
		r.name, fmt.Sprintf("%.2f", r.vectors), fmt.Sprintf("%.0f", r.payload),
		milliseconds(r.compute), milliseconds(r.codec), milliseconds(r.all), accuracy,
	}
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond))
}

// document returns the Markdown text of all results.
func document(results []result) string {
	table := [][]string{heading()}
	var commands strings.Builder
	for _, r := range results {
		table = append(table, r.cells())
		fmt.Fprintf(&commands, "    # %s\n    peer %s\n", r.name, strings.Join(r.command(), " "))
		if r.code != 0 {
			fmt.Fprintf(&commands, "    # exit %d: %s\n", r.code, r.why)
		}
	}
	return fmt.Sprintf(`# Algorithms on Fashion-MNIST

Eight peers, as eight processes on one machine, train the network of the preset %s.
The rounds, batches and step sizes are the preset's unless a command below says otherwise.
`+"`go run ./studies/algorithms -o docs/results/algorithms.md`"+` makes this file anew.

%s
* Extra vectors: memory of the algorithm beyond model and gradient, in multiples of the model; the largest of the peers.
  Moniqua's is what
  verification keeps for repairs; AD-PSGD's is the model its gradient is taken at and the messages it keeps.
* Payload: bytes that a peer sends in a round to all its neighbours together; repairs and framing are not in it, what is
  sent again
  over a new link is.
* Compute (gradient) and codec (encode, decode, mix): time per round while nothing else wants the core: a tenth of
  the recorded rounds is faster. In all: time of the run per round of a peer. The peers, and other programs that run
  there, compete for the cores.
* Accuracy: on the test set, mean of the replicas after equal rounds; in AD-PSGD the peers share the sum of the rounds.
* exit: the run failed, and this is the exit code; the reason stands below.

Machine: %d cores, %s/%s, %s. Times differ from run to run; accuracies do not, except for AD-PSGD, whose peers meet when
they meet.

## Commands

%s`, preset, markdown.Table(table), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), commands.String())
}
