//go:build linux

package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"gossiptrainer/test/markdown"
)

// cells returns the row of an effect.
func (e effect) cells() []string {
	held := "yes"
	if len(e.broken) > 0 {
		held = "NO"
	}
	return []string{
		string(e.kind), e.scenario, fmt.Sprint(e.rank), fmt.Sprint(e.round), seconds(e.lasts), seconds(e.noticed), seconds(e.recovered), e.lost, held,
	}
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
	table := [][]string{{"fault", "scenario", "peer", "round", "lasts", "noticed in", "recovered in", "lost", "promise kept"}}
	var broken strings.Builder
	for _, e := range effects {
		table = append(table, e.cells())
		for _, why := range e.broken {
			fmt.Fprintf(&broken, "* %s: %s\n", e.scenario, strings.ReplaceAll(strings.TrimSpace(why), "\n", "\n      "))
		}
	}
	for _, name := range skipped {
		fmt.Fprintf(&broken, "* %s: SKIPPED: %v\n", name, errNoNamespaces)
	}
	return fmt.Sprintf(`# Faults

Peers of the preset ring8 on one machine, as processes of "peer lab" or, for faults of the network and the disk, in network
namespaces. `+"`go run ./test/chaos -seed %d`"+` makes this table anew with the same faults.

%s
* Noticed in: from the fault to the first word of another peer about it; - = nobody gave the peer up, which is right for one that is
  only slow.
* Recovered in: from the end of the fault (of kill -9: from the start of the new process) until all peers have finished another round.
  Where the run ends: until the last process is gone.
* Promise kept: the digest of the run is that of the simulator, where nothing happens (or the run ends with an error where that is the policy); no
  process hangs or stays behind; no handle leaks; every checkpoint verifies.

Machine: %d cores, %s/%s, %s. Times differ from run to run.
%s`, seed, markdown.Table(table), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), "\n"+broken.String())
}
