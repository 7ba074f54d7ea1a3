package main

import (
	"math/rand/v2"
	"time"

	"gossiptrainer/internal/fault"
	"gossiptrainer/topology"
)

// A row is a run on a ring with its faults.
type row struct {
	name   string
	lasts  time.Duration
	times  int
	peers  int
	rounds int
	apart  int // rounds between the first rounds of two faults
	// draw returns a fault of a random worker, or several faults at once.
	draw func(r *rand.Rand, n int) []fault.Fault
}

// settings are those of all runs, beyond the preset ring8. A small model makes room for
// many faults.
func settings() []string {
	return []string{"checkpoint.every=20", "train.schedule=constant", "train.batch=8", "model.hidden=[16]"}
}

const (
	compute = 5 * time.Millisecond // of a gradient, in virtual time
	rate    = 1e8                  // bits per second of an uplink
	latency = 5 * time.Millisecond
	first   = 30 // round of the first fault
	spread  = 20 // rounds by which a fault may come later
)

// rows lists the scripts.
func rows(times, many int) []row {
	var all []row
	add := func(name string, lasts time.Duration, draw func(r *rand.Rand, n int) []fault.Fault) {
		const apart = 40
		all = append(all, row{name, lasts, times, 8, first + times*apart, apart, func(r *rand.Rand, n int) []fault.Fault {
			faults := draw(r, n)
			for i := range faults {
				faults[i].Lasts = lasts
			}
			return faults
		}})
	}
	add("kill", 0, one(fault.Kill))
	add("kill", 30*time.Second, one(fault.Kill))
	add("kill of all", time.Second, killAll)
	add("hang", 3*time.Second, one(fault.Hang))
	add("hang", 25*time.Second, one(fault.Hang))
	add("cut", 2*time.Second, cut)
	add("cut", 25*time.Second, cut)
	add("partition in two", 30*time.Second, halves)
	add("slow by 10", 2*time.Second, one(fault.Slow))
	add("rate 100 kbit/s", 2*time.Second, one(fault.Rate))
	return append(all, row{"kills, cuts, hangs", 2 * time.Second, many, 64, first + many + 50, 1, mixed})
}

func someone(r *rand.Rand, n int) topology.Rank { return topology.Rank(r.IntN(n)) }

// one returns a fault of one worker.
func one(kind fault.Kind) func(r *rand.Rand, n int) []fault.Fault {
	return func(r *rand.Rand, n int) []fault.Fault {
		return []fault.Fault{{Kind: kind, Peers: []topology.Rank{someone(r, n)}, By: 10, Bits: 1e5}}
	}
}

// cut cuts a link of the ring.
func cut(r *rand.Rand, n int) []fault.Fault {
	i := someone(r, n)
	return []fault.Fault{{Kind: fault.Cut, Peers: []topology.Rank{i, (i + 1) % topology.Rank(n)}}}
}

// killAll kills all workers at once.
func killAll(_ *rand.Rand, n int) []fault.Fault {
	var all []fault.Fault
	for i := range n {
		all = append(all, fault.Fault{Kind: fault.Kill, Peers: []topology.Rank{topology.Rank(i)}})
	}
	return all
}

// halves cuts the ring into two halves.
func halves(r *rand.Rand, n int) []fault.Fault {
	var side []topology.Rank
	for i, from := 0, r.IntN(n); i < n/2; i++ {
		side = append(side, topology.Rank((from+i)%n))
	}
	return []fault.Fault{{Kind: fault.Split, Sides: [][]topology.Rank{side}}}
}

// mixed kills, cuts and hangs in turn, for random times.
func mixed(r *rand.Rand, n int) []fault.Fault {
	faults := []func(r *rand.Rand, n int) []fault.Fault{one(fault.Kill), cut, one(fault.Hang)}[r.IntN(3)](r, n)
	for i := range faults {
		faults[i].Lasts = time.Duration(1+r.IntN(4000)) * time.Millisecond
	}
	return faults
}

// script returns the faults of a row.
func (row row) script(seed uint64) []fault.Fault {
	r := rand.New(rand.NewPCG(seed, 0))
	var script []fault.Fault
	for i := range row.times {
		at := first + i*row.apart + r.IntN(spread)
		for _, f := range row.draw(r, row.peers) {
			f.At.Round = at
			script = append(script, f)
		}
	}
	return script
}
