//go:build linux

package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"gossiptrainer/studies/markdown"
)

// A tally is a row of the table: the effects of the faults of one kind in a scenario.
type tally []effect

// cells returns the row under heading.
func (t tally) cells() []string {
	held := "yes"
	var noticed, recovered []time.Duration
	for _, e := range t {
		if len(e.broken) > 0 {
			held = "NO"
		}
		noticed, recovered = append(noticed, e.noticed), append(recovered, e.recovered)
	}
	last := t[len(t)-1]
	return []string{
		string(last.kind), last.scenario, fmt.Sprint(len(t)), seconds(last.lasts), medianMost(noticed), medianMost(recovered),
		last.lost, held,
	}
}

func heading() []string {
	return []string{"fault", "scenario", "times", "lasts", "noticed in", "recovered in", "lost", "promise kept"}
}

// tallies groups successive effects of one kind in one scenario.
func tallies(effects []effect) []tally {
	var all []tally
	for _, e := range effects {
		if n := len(all) - 1; n >= 0 && all[n][0].scenario == e.scenario && all[n][0].kind == e.kind {
			all[n] = append(all[n], e)
			continue
		}
		all = append(all, tally{e})
	}
	return all
}

// medianMost writes the median of some times, and the largest if there are several;
// "-" where more than half never came.
func medianMost(times []time.Duration) string {
	times = slices.Sorted(slices.Values(times))
	median, most := times[len(times)/2], times[len(times)-1]
	if len(times) == 1 || median < 0 {
		return seconds(median)
	}
	return fmt.Sprintf("%s (%s)", seconds(median), seconds(most))
}

// seconds writes a time, "-" for one that never came.
func seconds(d time.Duration) string {
	if d < 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// document returns the Markdown text of all effects.
func document(effects []effect, seed uint64, skipped []string) string {
	table := [][]string{heading()}
	var broken strings.Builder
	for _, t := range tallies(effects) {
		table = append(table, t.cells())
	}
	for _, e := range effects {
		for _, why := range e.broken {
			fmt.Fprintf(&broken, "* %s: %v: %s\n", e.scenario, e.fault,
				strings.ReplaceAll(strings.TrimSpace(why), "\n", "\n      "))
		}
	}
	for _, name := range skipped {
		fmt.Fprintf(&broken, "* %s: SKIPPED: %v\n", name, errNoNamespaces)
	}
	return fmt.Sprintf(`# Faults

Peers of the preset ring8 run on one machine, as processes of "peer lab" or, for faults of the network and the disk, in
network namespaces. `+"`go run ./test/chaos -seed %d`"+` makes this table again with the same faults.
[faults-sim.md](faults-sim.md) shows faults in the simulator.

%s
* Times: how often. The seed decides which peer a fault hits and in which round. Of several durations the median stands
  first, the longest in brackets.
* Noticed in: from the fault to the first line that another peer logs about it. A dash says that no peer gave the hit
  peer up, which is right for a peer that is only slow.
* Recovered in: from the end of the fault (of kill -9: from the start of the new process) until all peers have finished
  another round.
  Where the run ends: until the last process is gone.
* Promise kept: the digest of the run is that of a simulated run without faults, or the run ends with an error where
  that is the policy. No process hangs or stays behind, no handle leaks, and every checkpoint verifies. Where the others
  go on without the peer, their accuracy is within %v of that of the run without faults. Every mixing matrix on record
  is symmetric and doubly stochastic, except for at most %d exchanges per end of a lost edge in which only one end
  mixed. The last matrix connects all peers that are left.

Machine: %d cores, %s/%s, %s. Times differ from run to run.
%s`, seed, markdown.Table(table), tolerance, perCut, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), "\n"+broken.String())
}
