package main

import (
	"fmt"
	"math"
	"runtime"
	"strings"

	"gossiptrainer/studies/markdown"
)

// heading names the columns.
func heading() []string {
	return []string{"quantizer", "levels", "bits per parameter", "sent, bytes", "relative error", "accuracy, %", "spread"}
}

// cells returns the row of a result under heading.
func (r result) cells() []string {
	levels, last := "-", r.outcomes[len(r.outcomes)-1]
	if r.levels > 0 {
		levels = fmt.Sprint(r.levels)
	}
	var lost float64
	for _, o := range r.outcomes {
		if o.diverged {
			return []string{r.name, levels, fmt.Sprintf("%.2f", o.bits), "-", "-", "diverged", "-"}
		}
		lost += o.lost / float64(len(r.outcomes))
	}
	mean, spread := r.accuracy()
	return []string{
		r.name, levels, fmt.Sprintf("%.2f", last.bits), fmt.Sprintf("%.0f", last.sent),
		fmt.Sprintf("%.3g", lost), fmt.Sprintf("%.2f", 100*mean), fmt.Sprintf("%.2f", 100*spread),
	}
}

// accuracy returns the mean over the seeds and the sample standard deviation, which is 0 for a single seed.
func (r result) accuracy() (mean, spread float64) {
	n := float64(len(r.outcomes))
	for _, o := range r.outcomes {
		mean += o.accuracy / n
	}
	for _, o := range r.outcomes {
		spread += (o.accuracy - mean) * (o.accuracy - mean)
	}
	return mean, math.Sqrt(spread / max(1, n-1))
}

// document returns the Markdown text of all results.
func document(results []result, rounds, seeds int) string {
	table := [][]string{heading()}
	var commands strings.Builder
	for _, r := range results {
		table = append(table, r.cells())
		fmt.Fprintf(&commands, "    # %s\n    %s\n", r.name, r.command(rounds))
	}
	return fmt.Sprintf(`# Quantized gradients on Fashion-MNIST

Eight workers train the network of the preset %s by all-reduce, %d rounds with %s. In full precision the all-reduce runs
around a ring, with each quantizer it is an all-gather. The bucket is the default; the commands below show all other
differences from the preset. `+"`go run ./studies/quantizers -rounds %d -seeds %d -o docs/results/quantizers.md`"+`
makes this file again.

%s
* Levels: the values that a coordinate can have in a bucket, signs and zero counted. The norm is that of a bucket: its
  length, or its largest
  magnitude where the name says so.
* Bits per parameter: of a message, scales and tables included. Sent: payload that a worker sends in a round, in an
  all-gather to seven others.
* Relative error: mean of |C(g) - g|^2/|g|^2 over the rounds of worker 0 and the seeds, g with momentum, as it is sent.
  Error feedback adds the loss to the next g; the error here is that of g alone.
* Workers compress their momentum buffers, in which a gradient counts ten times. A step size that suits the buffers is
  too large for the late corrections of error feedback, so in the last four rows workers compress plain gradients.
* Accuracy: on the test set, mean over the seeds; the replicas of a run are equal. Spread: standard deviation over the
  seeds.
* diverged: in at least one of the runs.

Made on %s/%s with %s; numbers may differ a little with the type of the CPU.

## Commands

%s`, preset, rounds, markdown.Seeds(seeds), rounds, seeds, markdown.Table(table), runtime.GOOS, runtime.GOARCH, runtime.Version(), commands.String())
}
