package experiment

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gossiptrainer/internal/train"
	"gossiptrainer/topology"
)

// A divergedError says that the loss or the parameters of a run are not finite or too large. It names the settings that
// may be the cause.
type divergedError struct {
	Err error
	fix string
}

func (e *divergedError) Error() string { return e.Err.Error() }
func (e *divergedError) Unwrap() error { return e.Err }

// Hint says which settings to change.
func (e *divergedError) Hint() string { return e.fix }

// Diverged adds advice about the run file to an error that wraps train.ErrDiverged. It returns any other error
// unchanged.
func (r *Run) Diverged(err error) error {
	if !errors.Is(err, train.ErrDiverged) {
		return err
	}
	return &divergedError{Err: err, fix: fix(r)}
}

// fix names first the settings that break a rule, then settings that help any run.
func fix(r *Run) string {
	a := r.cfg.Algorithm
	fixes := beyondRules(r)
	switch {
	case len(fixes) > 0:
	case quantized(r):
		fixes = append(fixes, fmt.Sprintf("more algorithm.bits than %d", r.Bits()))
	case r.method.Fix != "":
		of := strings.NewReplacer("<compressor>", a.Compressor.Name, "<bits>", strconv.Itoa(r.Bits()))
		fixes = append(fixes, of.Replace(r.method.Fix))
	case r.method.Compresses() && a.Gamma > 0:
		fixes = append(fixes, fmt.Sprintf("a smaller algorithm.gamma than %v", float64(a.Gamma)))
	}
	if r.cfg.External() {
		fixes = append(fixes, "a smaller learning rate in the script")
	} else {
		fixes = append(fixes, fmt.Sprintf("a smaller train.step_size than %v", r.cfg.Train.StepSize))
	}
	return "try " + strings.Join(fixes, ", or ")
}

// beyondRules returns advice about a slack, a gamma or a compressor that auto would not choose.
func beyondRules(r *Run) []string {
	var fixes []string
	spec := r.graph.Spec()
	spec.Slack = 1
	g, err := topology.New(spec)
	if err == nil {
		g, err = chooseSlack(r, g)
	}
	if err == nil && r.method.On.Kind == "" && float64(r.cfg.Topology.Slack) > g.Spec().Slack {
		fixes = append(fixes,
			fmt.Sprintf("topology.slack: auto, which is %v here, instead of %v", g.Spec().Slack, float64(r.cfg.Topology.Slack)))
	}
	if r.method.Compresses() {
		if made, err := r.compressors.Make(0, nil); err == nil {
			if why := r.compressors.Unsuited(made); why != "" {
				fixes = append(fixes, "another compressor ("+why+")")
			}
		}
	}
	if gamma, err := chooseGamma(r); err == nil && gamma > 0 && r.cfg.Algorithm.Gamma > gamma {
		fixes = append(fixes,
			fmt.Sprintf("algorithm.gamma: auto, which is %v here, instead of %v", float64(gamma),
				float64(r.cfg.Algorithm.Gamma)))
	}
	return fixes
}
