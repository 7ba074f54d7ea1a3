package experiment

import (
	"fmt"
	"slices"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/fault"
	"gossiptrainer/topology"
)

// Script returns the faults of the run file in the form that the drivers play.
func Script(c configs.Config) []fault.Fault {
	var script []fault.Fault
	for i := range c.Faults.Script {
		script = append(script, played(&c.Faults.Script[i]))
	}
	return script
}

// played returns an entry of the run file in the form that the drivers play.
func played(f *configs.Fault) fault.Fault {
	play := fault.Fault{At: fault.Moment(f.At), Lasts: time.Duration(f.For), By: f.By}
	one := func(kind fault.Kind, rank *int) {
		if rank != nil {
			play.Kind, play.Peers = kind, ranks([]int{*rank})
		}
	}
	one(fault.Kill, f.Kill)
	one(fault.Hang, f.Hang)
	one(fault.Slow, f.Slow)
	one(fault.Leave, f.Leave)
	one(fault.Die, f.Die)
	switch {
	case f.Join != nil:
		play.Kind, play.Count = fault.Join, *f.Join
	case f.Cut != nil:
		play.Kind, play.Peers = fault.Cut, ranks(f.Cut)
	case f.Partition != nil:
		play.Kind = fault.Split
		for _, side := range f.Partition {
			play.Sides = append(play.Sides, ranks(side))
		}
	case f.Rate != "":
		one(fault.Rate, f.Of)
		play.Bits, _ = configs.ParseRate(f.Rate)
	}
	if play.Lasts == 0 && (play.Kind == fault.Slow || play.Kind == fault.Rate) {
		play.Lasts = fault.Never
	}
	return play
}

func ranks(numbers []int) []topology.Rank {
	var all []topology.Rank
	for _, n := range numbers {
		all = append(all, topology.Rank(n))
	}
	return all
}

// checkScript finds links in the script that the run does not have. Members that come and go may have any.
func checkScript(r *Run) error {
	if r.cfg.Views() {
		return nil
	}
	for i, f := range Script(r.cfg) {
		if f.Kind == fault.Cut && !linked(r, f.Peers[0], f.Peers[1]) {
			return configs.Errorf(fmt.Sprintf("faults.script.%d.cut", i),
				"workers %d and %d are not neighbours in %s", f.Peers[0], f.Peers[1], r.graph.Spec())
		}
	}
	return nil
}

// linked reports whether one of two workers sends to the other.
func linked(r *Run, i, j topology.Rank) bool {
	tells := func(i, j topology.Rank) bool {
		return int(i) < len(r.rows) && slices.Contains(r.rows[i].Neighbours(), j)
	}
	return tells(i, j) || tells(j, i)
}

// Timed reports whether the parameters depend on how long computation and messages take. Such a run has another digest
// on each machine.
func Timed(r *Run) bool {
	return r.method.Asynchronous() || r.cfg.Algorithm.Controller.Name == "mqgrad"
}
