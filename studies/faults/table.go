package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"gossiptrainer/studies/markdown"
)

// heading names the columns.
func heading() []string {
	return []string{
		"fault", "workers", "times", "lasts", "noticed in", "recovered in", "rounds done again", "digest kept",
		"faults a minute",
	}
}

// cells returns the row of a result under heading.
func (r result) cells() []string {
	kept := "yes"
	if !r.same {
		kept = "NO"
	}
	var noticed, recovered []time.Duration
	again := []int{}
	for _, e := range r.effects {
		noticed, recovered, again = append(noticed, e.Noticed), append(recovered, e.Recovered), append(again, e.Again)
	}
	lasts := seconds(r.lasts)
	if r.name == "kills, cuts, hangs" {
		lasts = "up to 4 s"
	}
	slices.Sort(again)
	return []string{
		r.name, fmt.Sprint(r.peers), fmt.Sprint(len(r.effects)), lasts, medianMost(noticed), medianMost(recovered),
		fmt.Sprintf("%d (%d)", again[len(again)/2], again[len(again)-1]), kept,
		fmt.Sprintf("%.0f", float64(len(r.effects))/r.wall.Minutes()),
	}
}

// medianMost writes the median and the largest of some times, or "-" if the median is negative, that is, no time.
func medianMost(times []time.Duration) string {
	slices.Sort(times)
	median, most := times[len(times)/2], times[len(times)-1]
	if median < 0 {
		return "-"
	}
	return fmt.Sprintf("%s (%s)", seconds(median), seconds(most))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// document returns the Markdown text of all results.
func document(results []result, times, many int, seed uint64) string {
	table := [][]string{heading()}
	faults, wall := 0, time.Duration(0)
	for _, r := range results {
		table = append(table, r.cells())
		faults, wall = faults+len(r.effects), wall+r.wall
	}
	last := results[len(results)-1]
	return fmt.Sprintf(`# Faults in the simulator

Workers of the preset ring8 with a smaller model, on a virtual clock: a gradient takes %v, links have 100 Mbit/s and 5
ms. `+"`go run ./studies/faults -times %d -many %d -seed %d -o docs/results/faults-sim.md`"+` makes this file again,
with the same faults. [faults.md](faults.md) shows faults of real processes.

%s
* Times are virtual: the median stands first, the longest in brackets. The seed decides which worker a fault hits and in
  which round.
* Noticed in: from the fault until a worker that it does not hit has lost a link. A dash says that no worker lost one,
  which is right for a worker that is only slow, or hangs for less than node.detect.
* Recovered in: from the end of the fault until all workers have finished a round that none had finished then. After a
  kill it counts from the start of the new process. In the last row other faults happen meanwhile.
* Digest kept: the models are, bit for bit, those of the run without faults.
* Faults a minute: in real time on this machine.

The last run has %d workers and %d faults: %.0f s of virtual time in %.0f s, digest %s with them and without.
All rows together: %d faults in %.0f s, %.0f a minute.

Machine: %d cores, %s/%s, %s.
`, compute, times, many, seed, markdown.Table(table), last.peers, len(last.effects), last.virtual.Seconds(),
		last.wall.Seconds(), last.digest, faults, wall.Seconds(), float64(faults)/wall.Minutes(),
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}
