package experiment

import (
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

// Timed reports whether the parameters depend on how long computation and messages take. Such a run has another digest
// on each machine.
func Timed(r *Run) bool {
	return r.method.Asynchronous() || r.cfg.Algorithm.Controller.Name == "mqgrad"
}

// CheckInside returns an error at its key if the model is external. Callers that compute gradients in this process need
// another one.
func CheckInside(c configs.Config) error {
	if !c.External() {
		return nil
	}
	e := configs.Errorf("model.name", "your own script trains an external model, in a process per worker, "+
		"and this command starts no scripts")
	e.Problems[0].Hint = "use peer lab, peer run or a comparison of mode lab, or take another model"
	return e
}
