//go:build linux

package main

import (
	"slices"
	"time"
)

// A place is where the peers of a scenario run.
type place int

const (
	lab place = iota // "peer lab": its processes, its supervisor, the loopback interface
	lan              // "peer run" in network namespaces, with cables that can be pulled; needs root
)

// An ending is the result that a run must have.
type ending int

const (
	unchanged ending = iota // the digest is that of a simulated run without faults
	stopped                 // the run ends for all, with an error that names the peer
	// the others go on without the lost peers; their accuracy is within tolerance of that of a run without faults
	survived
)

// A scenario is a run with its faults and the expected result.
type scenario struct {
	name     string
	place    place
	peers    int
	rounds   int
	settings []string // key=value, beyond those of base
	faults   []fault
	ends     ending
	noticed  span          // how soon the neighbours of the peer notice; 0, 0 = they must not
	within   time.Duration // this long after the fault's end all train on, or, after the fault, all have ended
}

// A span is a range of times, both ends included.
type span struct{ from, to time.Duration }

// base are the settings of all runs: the preset ring8, which needs no data, slow enough to leave time for faults.
func base() []string {
	return []string{"output.every=1", "limit.latency=5ms"}
}

// Bounds of detection with the default settings. The kernel reports a dead process; only silence reveals a hung process
// or a pulled cable.
func dead() span   { return span{0, time.Second} }
func silent() span { return span{5 * time.Second, 20 * time.Second} }

// whenever is the bound of faults whose detection is not judged.
func whenever() span { return span{-1, -1} }

// soon is how long peers may take to train on after a fault is over.
const soon = 10 * time.Second

// kept are the settings that let a killed peer come back.
func kept(more ...string) []string { return append([]string{"checkpoint.every=20"}, more...) }

// often repeats a fault, some rounds apart.
func often(f fault, times, apart int) []fault {
	all := make([]fault, times)
	for i := range all {
		all[i] = f
		all[i].round += i * apart
	}
	return all
}

// rows are the scenarios of the table.
func rows() []scenario {
	return slices.Concat(network(), processes())
}

// network lists the scenarios with faults of the network.
func network() []scenario {
	return []scenario{
		{name: "cable", place: lan, peers: 8, rounds: 800, noticed: silent(), within: soon,
			faults: []fault{{cable, anyRank, 50, 25 * time.Second}}},
		{name: "loose-cable", place: lan, peers: 8, rounds: 1600, within: soon,
			faults: often(fault{cable, anyRank, 50, 2 * time.Second}, 3, 350)},
		{name: "partition", place: lan, peers: 8, rounds: 800, noticed: silent(), within: soon,
			faults: []fault{{split, anyRank, 50, 30 * time.Second}}},
		// TCP waits longer between two tries by then
		{name: "slow-link", place: lan, peers: 8, rounds: 600, within: 4 * soon,
			faults: []fault{{slow, anyRank, 50, 25 * time.Second}}},
		{name: "corrupted", place: lan, peers: 8, rounds: 1200, noticed: whenever(), within: soon,
			faults: []fault{{corrupt, anyRank, 50, 5 * time.Second}}},
		{name: "garbage", place: lan, peers: 8, rounds: 1600, within: soon,
			faults: []fault{{garbage, anyRank, 50, 5 * time.Second}}},
	}
}

// processes lists the scenarios with faults of processes and disks.
func processes() []scenario {
	return []scenario{
		{name: "hung-short", place: lab, peers: 8, rounds: 800, within: soon,
			faults: []fault{{freeze, anyRank, 50, 3 * time.Second}}},
		{name: "hung-long", place: lab, peers: 8, rounds: 800, noticed: silent(), within: soon,
			faults: []fault{{freeze, anyRank, 50, 25 * time.Second}}},
		{name: "killed-stop", place: lan, peers: 8, rounds: 100_000, settings: []string{"faults.on_lost_neighbor=stop"},
			ends: stopped, noticed: dead(), within: 20 * time.Second,
			faults: []fault{{kill, anyRank, 50, 0}}},
		{name: "killed", place: lan, peers: 8, rounds: 1600, settings: kept(), noticed: dead(), within: soon,
			faults: often(fault{kill, anyRank, 50, 2 * time.Second}, 5, 200)},
		{name: "killed-lab", place: lab, peers: 8, rounds: 1600, settings: kept(), noticed: dead(), within: soon,
			faults: often(fault{kill, anyRank, 50, 0}, 5, 250)},
		{name: "killed-long", place: lan, peers: 8, rounds: 800, settings: kept(), noticed: dead(), within: soon,
			faults: []fault{{kill, anyRank, 50, 30 * time.Second}}},
		{name: "storm", place: lan, peers: 8, rounds: 1600, settings: kept(), noticed: dead(), within: soon,
			faults: []fault{{storm, anyRank, 50, 0}}},
		{name: "outage", place: lan, peers: 8, rounds: 1600, settings: kept(), noticed: whenever(), within: soon,
			faults: often(fault{outage, anyRank, 50, time.Second}, 2, 500)},
		{name: "disk-full", place: lan, peers: 8, rounds: 800, settings: kept(), noticed: whenever(), within: soon,
			faults: []fault{{full, anyRank, 50, 5 * time.Second}}},
		{name: "lost-moniqua", place: lan, peers: 8, rounds: 800, settings: kept("faults.on_lost_neighbor=reweight"),
			ends: survived, noticed: dead(), within: soon,
			faults: often(fault{death, anyRank, 100, 0}, 2, 200)},
		{name: "lost-full", place: lan, peers: 8, rounds: 800,
			settings: kept("faults.on_lost_neighbor=reweight", "algorithm.bits=32"), ends: survived, noticed: dead(),
			within: soon,
			faults: often(fault{death, anyRank, 100, 0}, 2, 200)},
		kills("dpsgd", "algorithm.bits=32"),
		kills("moniqua"),
		kills("choco", "algorithm.name=choco", "algorithm.compressor.scaled=true"),
		kills("d2", "algorithm.name=d2", "topology.slack=0.6"),
	}
}

// kills is a run in which many peers die, one after the other.
func kills(name string, settings ...string) scenario {
	return scenario{name: "kills-" + name, place: lan, peers: 8, rounds: 1600, settings: kept(settings...),
		noticed: dead(), within: soon,
		faults: often(fault{kill, anyRank, 20, 0}, 13, 90)}
}
