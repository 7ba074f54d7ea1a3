package experiment

import (
	"fmt"
	"slices"

	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/bits"
	"gossiptrainer/internal/fault"
	"gossiptrainer/topology"
)

// checkClip makes sure that every worker has more neighbours than may be poisoned.
func checkClip(r *Run) (warnings []string, err error) {
	clip := r.cfg.Algorithm.Clip
	for i, rows := range r.rows {
		row := rows.At(0)
		if f := clip.Liars; f > 0 && len(row.In) <= f {
			return nil, configs.Errorf("algorithm.clip.liars",
				"worker %d has no neighbour to trust: %d of its %d may lie", i, f, len(row.In)).
				With("topology.kind", "topology.size")
		}
	}
	if clip.On() {
		warnings = append(warnings, fmt.Sprintf("%s mixes clipped: the mean of the models moves by more than the gradients, "+
			"above all where the workers' data differ", r.cfg.Algorithm.Name))
	}
	if a := r.cfg.Algorithm; clip.On() && quantized(r) && !a.Theta.Verify {
		warnings = append(warnings, "clipped mixing of moniqua without verification: a poisoned message then decodes to "+
			"some model within theta, which clipping tells from honest ones only by its distance: "+
			"set algorithm.theta.verify: true")
	}
	return warnings, nil
}

// checkController makes sure that there are bits for the controller to choose.
func checkController(r *Run) error {
	if !bits.Controlled(r.cfg.Algorithm.Controller) {
		return nil
	}
	a := r.cfg.Algorithm
	plan := gossip.AgreementPlan{Diameter: r.graph.Reach(), Every: a.LocalSteps}
	if _, err := bits.Agree(a.Controller, r.cfg.Seed, 0, plan); err != nil {
		return configs.Errorf("algorithm.controller.min_bits", "%v", err).With("algorithm.controller.max_bits")
	}
	switch {
	case quantized(r):
	case !r.compressors.HasBits():
		return configs.Errorf("algorithm.controller.name", "the compressor %s has no bits to choose: "+
			"must be fix, or the compressor one with bits, like minmax, got %s", a.Compressor.Name, a.Controller.Name).
			With("algorithm.compressor.name")
	default:
		if _, err := r.compressors.Make(0, nil); err != nil {
			return configs.Errorf("algorithm.controller.min_bits", "%v", err).
				With("algorithm.controller.max_bits", "algorithm.compressor.name")
		}
	}
	return nil
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
