package experiment

import (
	"fmt"

	"gossiptrainer/configs"
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
