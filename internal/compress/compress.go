// Package compress makes the compressors of a run's messages, checks that they fit its model and its algorithm, and
// measures what they do.
package compress

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

// A Maker makes the compressors of a run: the C(·) of algorithms whose messages are not models.
type Maker struct {
	Algorithm  string        // its name
	Suits      registry.Want // what the algorithm asks of a compressor
	Compressor configs.Compressor
	Controller configs.Controller
	Controlled bool // the controller chooses the bits
	Rounds     int
	Seed       uint64
	Dim        int // parameters of the model; 0: not known
	Exact      int // trailing ones that travel in full precision
	Layers     []model.Param
}

// Check makes sure that the compressor fits the model. It warns where theory says that it does not fit the algorithm.
func (m *Maker) Check() (warnings []string, err error) {
	c := m.Compressor
	row, _ := registry.FindCompressor(c.Name)
	if _, err = m.chosenLayers(); err != nil {
		return nil, err
	}
	if d := m.Length(); row.Has("k") && m.Dim > 0 && c.K > d {
		return nil, configs.Errorf("algorithm.compressor.k", "%s cannot send %d parameters of a model with %d parameters",
			c.Name, c.K, d).
			With("algorithm.compressor.name", "model.name", "model.hidden", "model.dim", "data.name")
	}
	made, err := m.Make(0, nil)
	if located := (*configs.Error)(nil); errors.As(err, &located) {
		return nil, located
	}
	if err != nil {
		return nil, configs.Errorf("algorithm.compressor.name", "%v", err).With("algorithm.name")
	}
	if why := m.Unsuited(made); why != "" {
		warnings = append(warnings, fmt.Sprintf("%s with %s: %s", m.Algorithm, c.Name, why))
	}
	return append(warnings, neverFits(c, m.Rounds)...), nil
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

// Unsuited returns why a compressor does not suit the algorithm, and the fix. It returns "" if it does.
func (m *Maker) Unsuited(made quant.Compressor) string {
	return m.Suits.Unsuited(registry.CompressorSettings(m.Compressor), made.Properties())
}

// Make returns the C(·) with which some worker sends. All that decode its messages make another instance. Where a
// controller chooses the bits, chosen returns those of a round. It is nil where only sizes matter.
func (m *Maker) Make(sender topology.Rank, chosen func(k int) int) (quant.Compressor, error) {
	stream := rng.Stream(m.Seed, int(sender))
	if m.Controlled {
		return m.exactly(m.switched(m.Controller.MaxBits, stream, chosen))
	}
	return m.exactly(New(m.Compressor, m.Length(), stream))
}

// switched returns the compressor that takes the bits of every round from the controller. They are at most most.
func (m *Maker) switched(most int, stream uint64, chosen func(k int) int) (quant.Compressor, error) {
	return quant.NewSwitched(m.Controller.MinBits, most, chosen, func(bits int) (quant.Compressor, error) {
		of := m.Compressor
		of.Bits = bits
		return New(of, m.Length(), stream)
	})
}

// Any returns a compressor after Check has succeeded. Those of all workers have the same size.
func (m *Maker) Any() quant.Compressor { return must(m.Make(0, nil)) }

// Fewest returns Any with the fewest bits that the controller may choose.
func (m *Maker) Fewest() quant.Compressor {
	if !m.Controlled {
		return m.Any()
	}
	return must(m.exactly(m.switched(m.Controller.MinBits, 0, nil)))
}

func must(c quant.Compressor, err error) quant.Compressor {
	if err != nil {
		panic("internal error: compress: " + err.Error()) // Check has made one
	}
	return c
}

// sample is the length of the vector with which compressors are measured.
const sample = 1 << 16

// Length returns the number of elements that compressors get. Before it is known, they are made for a vector of
// some length, which tells their properties.
func (m *Maker) Length() int {
	if m.Dim == 0 {
		return max(sample, m.Compressor.K)
	}
	chosen, _ := m.chosenLayers() // Check returns the error
	if chosen == nil {
		return m.Dim - m.Exact
	}
	n := 0
	for _, s := range chosen {
		n += s.End - s.First
	}
	return n
}

// chosenLayers returns where in the vector the tensors are that match a pattern; nil if there are no patterns.
func (m *Maker) chosenLayers() ([]quant.Span, error) {
	const key = compressorKey + "layers"
	patterns := m.Compressor.Layers
	var spans []quant.Span
	used := map[string]bool{}
	for _, tensor := range m.Layers {
		matches := false
		for _, pattern := range patterns {
			ok, err := path.Match(pattern, tensor.Name)
			if err != nil {
				return nil, configs.Errorf(key, "%q is no pattern: %v", pattern, err)
			}
			used[pattern] = used[pattern] || ok
			matches = matches || ok
		}
		if end := min(tensor.Off+tensor.Len(), m.Dim-m.Exact); matches && tensor.Off < end {
			spans = append(spans, quant.Span{First: tensor.Off, End: end})
		}
	}
	for _, pattern := range patterns {
		if !used[pattern] {
			return nil, configs.Errorf(key, "no tensor of the model has the name %q: %s", pattern, tensorNames(m.Layers)).
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
func (m *Maker) exactly(c quant.Compressor, err error) (quant.Compressor, error) {
	if chosen, _ := m.chosenLayers(); err == nil && chosen != nil {
		c, err = quant.NewPartial(c, chosen, m.Dim-m.Exact)
	}
	if err != nil || m.Exact == 0 {
		return c, err
	}
	return quant.NewExact(c, m.Exact)
}

// New returns the C(·) of vectors of d parameters.
func New(c configs.Compressor, d int, stream uint64) (quant.Compressor, error) {
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

// HasBits says whether the bits of the compressor are a setting.
func (m *Maker) HasBits() bool {
	row, _ := registry.FindCompressor(m.Compressor.Name)
	return row.Has("bits")
}
