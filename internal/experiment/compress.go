package experiment

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"gossiptrainer/configs"
	"gossiptrainer/internal/registry"
	"gossiptrainer/internal/rng"
	"gossiptrainer/model"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// checkCompressor makes sure that the compressor fits the model. It warns where theory says that it does not fit the
// algorithm.
func (r *Run) checkCompressor() (warnings []string, err error) {
	if !r.Compresses() {
		return nil, nil
	}
	c := r.cfg.Algorithm.Compressor
	row, _ := registry.FindCompressor(c.Name)
	if _, err = r.chosenLayers(); err != nil {
		return nil, err
	}
	if d := r.compressed(); row.Has("k") && r.dim > 0 && c.K > d {
		return nil, configs.Errorf("algorithm.compressor.k", "%s cannot send %d parameters of a model with %d parameters",
			c.Name, c.K, d).
			With("algorithm.compressor.name", "model.name", "model.hidden", "model.dim", "data.name")
	}
	made, err := r.typical().compressor(0)
	if located := (*configs.Error)(nil); errors.As(err, &located) {
		return nil, located
	}
	if err != nil {
		return nil, configs.Errorf("algorithm.compressor.name", "%v", err).With("algorithm.name")
	}
	if why := r.unsuited(c, made); why != "" {
		warnings = append(warnings, fmt.Sprintf("%s with %s: %s", r.cfg.Algorithm.Name, c.Name, why))
	}
	return append(warnings, neverFits(c, int(r.cfg.Train.Rounds))...), nil
}

// neverFits warns if a run of some rounds ends before the levels of c are fitted.
func neverFits(c configs.Compressor, rounds int) []string {
	row, _ := registry.FindCompressor(c.Name)
	first := c.RefitEvery
	if len(c.RefitAt) > 0 {
		first = slices.Min(c.RefitAt)
	}
	switch {
	case !row.Has("refit_at") || rounds == 0 || first == 0 && len(c.RefitAt) > 0:
		return nil
	case first == 0:
		return []string{fmt.Sprintf("the levels of %s are never fitted: set algorithm.compressor.refit_at to early rounds, "+
			"such as [%d]", c.Name, earlyFit(rounds))}
	case first >= rounds:
		return []string{fmt.Sprintf("the levels of %s are never fitted: the first fit is in round %d, and the run has %d "+
			"rounds: set algorithm.compressor.refit_at to early rounds, such as [%d]", c.Name, first, rounds, earlyFit(rounds))}
	}
	return nil
}

// earlyFit returns a round of a run in which gradients are no longer those of the first step.
func earlyFit(rounds int) int { return min(10, rounds/10) }

// unsuited returns why a compressor made from c does not suit the algorithm, and the fix. It returns "" if it does.
func (r *Run) unsuited(c configs.Compressor, made quant.Compressor) string {
	want := r.method.Sends.Compressor
	if r.cfg.Algorithm.ErrorFeedback {
		want = r.method.Sends.Feedback
	}
	return want.Unsuited(registry.CompressorSettings(c), made.Properties())
}

// compressor returns the C(·) with which some worker sends. The worker that is built decodes with it.
func (b *builder) compressor(sender topology.Rank) (quant.Compressor, error) {
	stream := rng.Stream(b.cfg.Seed, int(sender))
	if b.controlled() {
		return b.exactly(b.switched(b.cfg.Algorithm.Controller.MaxBits, stream))
	}
	return b.exactly(newCompressor(b.cfg.Algorithm.Compressor, b.compressed(), stream))
}

// sample is the length of the vector with which compressors are measured.
const sample = 1 << 16

// compressed returns the number of elements that compressors get. Before it is known, they are made for a vector of
// some length, which tells their properties.
func (r *Run) compressed() int {
	if r.dim == 0 {
		return max(sample, r.cfg.Algorithm.Compressor.K)
	}
	chosen, _ := r.chosenLayers() // checkCompressor returns the error
	if chosen == nil {
		return r.dim - r.exact
	}
	n := 0
	for _, s := range chosen {
		n += s.End - s.First
	}
	return n
}

// chosenLayers returns where in the vector the tensors are that match a pattern; nil if there are no patterns.
func (r *Run) chosenLayers() ([]quant.Span, error) {
	const key = compressorKey + "layers"
	patterns := r.cfg.Algorithm.Compressor.Layers
	var spans []quant.Span
	used := map[string]bool{}
	for _, tensor := range r.files.layers {
		matches := false
		for _, pattern := range patterns {
			ok, err := path.Match(pattern, tensor.Name)
			if err != nil {
				return nil, configs.Errorf(key, "%q is no pattern: %v", pattern, err)
			}
			used[pattern] = used[pattern] || ok
			matches = matches || ok
		}
		if end := min(tensor.Off+tensor.Len(), r.dim-r.exact); matches && tensor.Off < end {
			spans = append(spans, quant.Span{First: tensor.Off, End: end})
		}
	}
	for _, pattern := range patterns {
		if !used[pattern] {
			return nil, configs.Errorf(key, "no tensor of the model has the name %q: %s", pattern, tensorNames(r.files.layers)).
				With("model.name", "model.hidden")
		}
	}
	return spans, nil
}

// tensorNames lists the tensors of a model.
func tensorNames(layers []model.Param) string {
	var names []string
	for _, tensor := range layers {
		names = append(names, tensor.Name)
	}
	const most = 12
	if len(names) == 0 {
		return "its tensors are not known before its script runs"
	}
	if len(names) > most {
		names = append(names[:most], "...")
	}
	return "it has " + strings.Join(names, ", ")
}

// exactly returns a compressor that leaves out the exact elements and the layers that are not chosen, from one for the
// others.
func (r *Run) exactly(c quant.Compressor, err error) (quant.Compressor, error) {
	if chosen, _ := r.chosenLayers(); err == nil && chosen != nil {
		c, err = quant.NewPartial(c, chosen, r.dim-r.exact)
	}
	if err != nil || r.exact == 0 {
		return c, err
	}
	return quant.NewExact(c, r.exact)
}

// newCompressor returns the C(·) of vectors of d parameters.
func newCompressor(c configs.Compressor, d int, stream uint64) (quant.Compressor, error) {
	made, err := registry.New(registry.CompressorSettings(c), d, stream)
	if wrong, ok := errors.AsType[*registry.SettingError](err); ok {
		located := configs.Errorf(compressorKey+wrong.Setting, "%s", wrong.Why)
		for _, setting := range wrong.Related {
			located = located.With(compressorKey + setting)
		}
		return nil, located
	}
	return made, err
}

// compressorKey begins the keys of a compressor's settings.
const compressorKey = "algorithm.compressor."

// Compressor returns another instance of the C(·) with which worker rank sends, to measure it. It fails if the
// algorithm does not compress.
func (r *Run) Compressor(rank topology.Rank) (quant.Compressor, error) {
	if !r.Compresses() {
		return nil, fmt.Errorf("experiment: the algorithm %s does not use algorithm.compressor", r.cfg.Algorithm.Name)
	}
	return r.typical().compressor(rank)
}

// anyCompressor returns a compressor after checkCompressor has succeeded. The compressors of all workers have the same
// size.
func (r *Run) anyCompressor() quant.Compressor {
	c, err := r.typical().compressor(0)
	if err != nil {
		panic("internal error: experiment: " + err.Error())
	}
	return c
}

// hasBits says whether the bits of the compressor are a setting.
func (r *Run) hasBits() bool {
	row, _ := registry.FindCompressor(r.cfg.Algorithm.Compressor.Name)
	return row.Has("bits")
}
