package configs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gossiptrainer/internal/human"
)

// scriptRules are the rules of the entries of a script.
var scriptRules = []rule{
	{[]string{"faults.script"}, eachFault(checkFault)},
	{[]string{"faults.script", "train.rounds"}, eachFault(checkMoment)},
	{[]string{"faults.script", "topology"}, eachFault(checkVictims)},
	{[]string{"faults.script", "membership.mode"}, eachFault(checkMode)},
	{[]string{"faults.script", "membership.mode", "topology"}, eachFault(checkMember)},
	{[]string{"faults.script", "faults.on_lost_neighbor"}, eachFault(checkDeath)},
	{
		[]string{"faults.script", "faults.on_lost_neighbor", "checkpoint.every", "checkpoint.seconds"},
		eachFault(checkReturn),
	},
}

// eachFault applies a check to every entry of a script.
func eachFault(check func(c *Config, f *Fault, wrong complain)) func(c *Config, wrong complain) {
	return func(c *Config, wrong complain) {
		for i := range c.Faults.Script {
			at := fmt.Sprintf("faults.script.%d", i)
			check(c, &c.Faults.Script[i], func(key, format string, args ...any) { wrong(join(at, key), format, args...) })
		}
	}
}

// kinds returns the kinds of fault that an entry names; a correct entry names one.
func (f *Fault) kinds() []string {
	given := map[string]bool{
		"kill": f.Kill != nil, "cut": f.Cut != nil, "hang": f.Hang != nil,
		"slow": f.Slow != nil, "partition": f.Partition != nil, "rate": f.Rate != "",
		"join": f.Join != nil, "leave": f.Leave != nil, "die": f.Die != nil,
	}
	var kinds []string
	for _, kind := range slices.Concat(faultKinds, memberKinds) {
		if given[kind] {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// Kinds of faults: those of a fixed set of workers, and those of members that come and go.
var (
	faultKinds  = []string{"kill", "cut", "hang", "slow", "partition", "rate"}
	memberKinds = []string{"join", "leave", "die"}
)

// checkFault checks that the keys of an entry belong together.
func checkFault(_ *Config, f *Fault, wrong complain) {
	switch kinds := f.kinds(); {
	case len(kinds) == 0:
		wrong("at", "nothing happens: an entry needs one of %s", either(slices.Concat(faultKinds, memberKinds)))
		return
	case len(kinds) > 1:
		wrong(kinds[1], "an entry is one fault: write %s as entries of their own", strings.Join(kinds, " and "))
		return
	}
	kind := f.kinds()[0]
	switch {
	case kind == "slow" && f.By == 0:
		wrong("slow", "needs the factor: by, from 1 to %d", slowest)
	case kind != "slow" && f.By != 0:
		wrong("by", "has no effect: it is the factor of slow, but this entry is a %s", kind)
	case kind == "rate" && f.Of == nil:
		wrong("rate", "needs the rank of the peer whose uplink it is: of")
	case kind != "rate" && f.Of != nil:
		wrong("of", "has no effect: it is the peer of a rate, but this entry is a %s", kind)
	}
	if _, err := ParseRate(f.Rate); err != nil {
		wrong("rate", "must be a rate of at least 1kbit like 100mbit, 1gbit or 500kbit, got %s", show(f.Rate))
	}
	checkLasting(f, kind, wrong)
}

// checkLasting checks the duration of a fault of some kind.
func checkLasting(f *Fault, kind string, wrong complain) {
	const longest = 24 * time.Hour
	switch lasts := time.Duration(f.For); {
	case f.For != 0 && slices.Contains(memberKinds, kind):
		wrong("for", "has no effect: a %s happens in a moment, and who is gone comes back only as a newcomer", kind)
	case f.For == Never && kind != "kill":
		wrong("for", "only a peer that is killed can stay away for ever: must be a time like 5s, got never")
	case lasts == 0 && (kind == "cut" || kind == "hang" || kind == "partition"):
		wrong(kind, "needs the time after which it is over: for, like 5s")
	case lasts > longest:
		wrong("for", "must be at most %v, got %v", longest, lasts)
	}
}

// checkMoment checks that the run has the round in which a fault begins.
func checkMoment(c *Config, f *Fault, wrong complain) {
	if rounds := int(c.Train.Rounds); !f.At.Timed && f.At.Round >= rounds && c.Train.Epochs == 0 {
		wrong("at", "the run has %s, so no peer begins round %d: must be at most %d",
			human.Count(rounds, "round"), f.At.Round, rounds-1)
	}
}

// checkVictims checks that the run has the peers of an entry.
func checkVictims(c *Config, f *Fault, wrong complain) {
	there := func(key string, rank int) bool {
		if rank < 0 || rank >= c.Topology.Size {
			wrong(key, "there is no worker %d in a %s of %d", rank, c.Topology.Kind, c.Topology.Size)
			return false
		}
		return true
	}
	one := func(key string, rank *int) {
		if rank != nil {
			there(key, *rank)
		}
	}
	one("kill", f.Kill)
	one("hang", f.Hang)
	one("slow", f.Slow)
	one("of", f.Of)
	switch {
	case f.Cut == nil:
	case len(f.Cut) != 2 || f.Cut[0] == f.Cut[1]:
		wrong("cut", "a link has two ends: must be like [0, 1], got %v", f.Cut)
	default:
		_ = there("cut.0", f.Cut[0]) && there("cut.1", f.Cut[1])
	}
	if f.Partition != nil {
		checkSides(c, f.Partition, there, wrong)
	}
}

// checkSides checks that a partition has at least two sides.
func checkSides(c *Config, sides [][]int, there func(key string, rank int) bool, wrong complain) {
	on := map[int]int{}
	for side, peers := range sides {
		for i, rank := range peers {
			at := fmt.Sprintf("partition.%d.%d", side, i)
			if _, double := on[rank]; double {
				wrong(at, "worker %d is in two groups", rank)
				return
			}
			if on[rank] = side; !there(at, rank) {
				return
			}
		}
	}
	groups := len(slices.DeleteFunc(slices.Clone(sides), func(peers []int) bool { return len(peers) == 0 }))
	if len(on) < c.Topology.Size {
		groups++ // those that are in none
	}
	if groups < 2 {
		wrong("partition", "all workers are in one group: nothing is cut")
	}
}

// checkDeath checks that the others can go on without a peer that does not come back.
func checkDeath(c *Config, f *Fault, wrong complain) {
	if f.Kill != nil && f.For == Never && c.Faults.OnLostNeighbor == "wait" {
		wrong("for", "the others wait for a peer that never comes back: "+
			"must be a time, or faults.on_lost_neighbor reweight or stop")
	}
}

// checkReturn checks that a killed peer can come back.
func checkReturn(c *Config, f *Fault, wrong complain) {
	kept := c.Checkpoint.Every > 0 || c.Checkpoint.Seconds > 0
	if f.Kill != nil && f.For != Never && !kept && !c.Reweights() {
		wrong("kill", "a peer comes back only from a checkpoint: "+
			"set checkpoint.every or checkpoint.seconds, or for to never")
	}
}

// checkMode checks that a fault is one of the run's kind of membership.
func checkMode(c *Config, f *Fault, wrong complain) {
	kinds := f.kinds()
	if len(kinds) != 1 {
		return
	}
	switch comes := slices.Contains(memberKinds, kinds[0]); {
	case comes && !c.Views():
		wrong(kinds[0], "the workers are the same in all rounds: set membership.mode to view, or write %s instead",
			either(faultKinds))
	case (kinds[0] == "kill" || kinds[0] == "rate") && c.Views():
		wrong(kinds[0], "is no fault of members that come and go: write %s instead, or set membership.mode to fixed",
			either(memberKinds))
	}
}

// checkMember checks that a member can be there: a founder, or one that the script lets join.
func checkMember(c *Config, f *Fault, wrong complain) {
	if !c.Views() {
		return
	}
	ids := c.Topology.Size
	for i := range c.Faults.Script {
		if join := c.Faults.Script[i].Join; join != nil {
			ids += *join
		}
	}
	there := func(key string, id *int) {
		if id != nil && *id >= ids {
			wrong(key, "there is no member %d: the founders are 0 to %d, and the script lets %d join, who get the next ids",
				*id, c.Topology.Size-1, ids-c.Topology.Size)
		}
	}
	there("leave", f.Leave)
	there("die", f.Die)
}
