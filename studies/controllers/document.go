package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"gossiptrainer/studies/markdown"
)

// shares are the times of the table in units of the time of the shortest run.
var shares = []float64{0.25, 0.5, 1}

// shortest returns the time of the fastest run that does not diverge.
func shortest(results []result) time.Duration {
	least := time.Duration(0)
	for _, r := range results {
		if n := len(r.scores); n > 0 && !r.diverged && (least == 0 || r.scores[n-1].time < least) {
			least = r.scores[n-1].time
		}
	}
	return least
}

// at returns the last score of a run before a time.
func (r result) at(now time.Duration) (last score, ok bool) {
	for _, s := range r.scores {
		if s.time <= now {
			last, ok = s, true
		}
	}
	return last, ok
}

// cells returns the row of a result: its bits, its accuracy at the times, and its end.
func (r result) cells(times []time.Duration) []string {
	cells := []string{r.name, fmt.Sprintf("%.2f", r.bits)}
	for _, now := range times {
		cell := "-"
		if s, ok := r.at(now); ok {
			cell = fmt.Sprintf("%.2f", 100*s.accuracy)
		}
		cells = append(cells, cell)
	}
	if r.diverged {
		return append(cells, "diverged", "-", "-")
	}
	end := r.scores[len(r.scores)-1]
	return append(cells, fmt.Sprintf("%.2f", end.time.Seconds()), fmt.Sprintf("%.2f", 100*end.accuracy),
		fmt.Sprintf("%.2f", end.loss))
}

// document returns the Markdown text of all results.
func document(results []result, p plan, measured bool, costs []cost, picture string) string {
	heading := []string{"bits", "mean bits"}
	var times []time.Duration
	for _, share := range shares {
		now := time.Duration(share * float64(shortest(results)))
		times = append(times, now)
		heading = append(heading, fmt.Sprintf("%% at %.1f s", now.Seconds()))
	}
	table := [][]string{append(heading, "all rounds, s", "% then", "test loss then")}
	for _, r := range results {
		table = append(table, r.cells(times))
	}
	origin := "given"
	if measured {
		origin = "measured on this machine"
	}
	if picture != "" {
		picture = fmt.Sprintf("![Training loss and bits over virtual time](%s)\n", picture)
	}
	return fmt.Sprintf(`# Controllers of bits on Fashion-MNIST

`+"`go run ./studies/controllers -rounds %d -every %d -o docs/results/controllers.md`"+` makes this file and its picture
again. Each row is a run of %d rounds in the simulator with the settings

    %s

and its own settings below. Time is virtual: %v per gradient (%s), plus the time that payloads take over links of 10
MB/s. The columns with %% show the accuracy of worker 0 on the test set at its last evaluation. Worker 0 is evaluated
every %d rounds.

%s
%s
The picture shows the training loss of worker 0, the mean of %d rounds around each, and the bits.

## Cost of choosing

%s
The controller is called once in this number of rounds. The shares are those of its time in the time of a gradient and in
that of a round of the fastest run. The time includes the root mean square of a gradient, which Øland-Raj needs. Choices
and losses take 8 bytes of the header, which has 32 bytes with or without them.

Machine: %d cores, %s/%s, %s.

## Settings

%s`, p.rounds, p.every, p.rounds, strings.Join(base(), "\n    "), p.compute, origin, p.every,
		markdown.Table(table), picture, 2*beside+1, costTable(costs, p.compute, shortest(results)/time.Duration(p.rounds)),
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), settings(results))
}

// settings lists what the rows change.
func settings(results []result) string {
	var b strings.Builder
	for _, r := range results {
		fmt.Fprintf(&b, "    # %s: %s\n    %s\n", r.name, r.why, strings.Join(r.settings, "\n    "))
	}
	return b.String()
}
