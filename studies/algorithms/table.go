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

Eight peers, as eight processes on one machine, train the network of the preset %s. The rounds, batches and step sizes
are the preset's unless a command below says otherwise.
`+"`go run ./studies/algorithms -o docs/results/algorithms.md`"+` makes this file again.

%s
* Extra vectors: memory of the algorithm beyond model and gradient, in multiples of the model; the largest of the peers.
  Moniqua keeps models for repairs. AD-PSGD keeps the model at which it takes its gradient, and its messages.
* Payload: bytes that a peer sends in a round to all its neighbours together; messages that are sent again over a new
  link count, repairs and framing do not.
* Compute (gradient) and codec (encode, decode, mix): time per round while no other program wants the core, that is, the
  time that a tenth of the recorded rounds beats. In all: time of the run per round of a peer. The peers compete for the
  cores with each other and with other programs.
* Accuracy: on the test set, mean of the replicas after equal rounds; in AD-PSGD the peers share the sum of the rounds.
* exit: the run failed with this exit code. The reason stands below.

Machine: %d cores, %s/%s, %s. Times differ from run to run; accuracies do not, except for AD-PSGD, whose peers meet in
no fixed order.

## Commands

%s`, preset, markdown.Table(table), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), commands.String())
}
