package experiment

import (
	"fmt"
	"slices"

	"gossiptrainer/configs"
	"gossiptrainer/internal/fault"
	"gossiptrainer/topology"
)

// Script returns the faults of the run file in the form that the drivers play.
func (r *Run) Script() []fault.Fault { return configs.Script(r.cfg.Faults.Script) }

// kills reports whether the script ends processes.
func (r *Run) kills() bool {
	return slices.ContainsFunc(r.Script(), func(f fault.Fault) bool { return f.Kind == fault.Kill })
}

// checkScript finds links in the script that the run does not have.
func (r *Run) checkScript() error {
	for i, f := range r.Script() {
		if f.Kind == fault.Cut && !r.linked(f.Peers[0], f.Peers[1]) {
			return configs.Errorf(fmt.Sprintf("faults.script.%d.cut", i),
				"workers %d and %d are not neighbours in %s", f.Peers[0], f.Peers[1], r.graph.Spec())
		}
	}
	return nil
}

// linked reports whether one of two workers sends to the other.
func (r *Run) linked(i, j topology.Rank) bool {
	tells := func(i, j topology.Rank) bool { return int(i) < len(r.rows) && slices.Contains(r.rows[i].Out, j) }
	return tells(i, j) || tells(j, i)
}
