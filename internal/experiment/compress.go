package experiment

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"gossiptrainer/algos"
	"gossiptrainer/configs"
	"gossiptrainer/internal/rng"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// A compressor is a C(·) with what a run has to know of it.
type compressor interface {
	algos.Compressor
	Len(d int) int // bytes of a payload
	Properties() quant.Properties
}

// compressors are what algorithm.compressor.name stands for: a function of its
// settings, the number of parameters and the sender's random stream. Clipping
// and scaling are common to all: see adjust.
var compressors = map[string]func(c configs.Compressor, d int, stream uint64) (compressor, error){
	"full": func(configs.Compressor, int, uint64) (compressor, error) { return quant.Full{}, nil },
	"linear": func(c configs.Compressor, _ int, stream uint64) (compressor, error) {
		mode, err := quant.ParseMode(c.Mode)
		if err != nil {
			return nil, err
		}
		return quant.NewLinear(c.Step, mode, stream)
	},
	"minmax": func(c configs.Compressor, _ int, stream uint64) (compressor, error) {
		mode, err := quant.ParseMode(c.Mode)
		if err != nil {
			return nil, err
		}
		return quant.NewMinMax(c.Bits, c.Bucket, mode, stream)
	},
	"qsgd": func(c configs.Compressor, _ int, stream uint64) (compressor, error) {
		norm, err := quant.ParseNorm(c.Norm)
		if err != nil {
			return nil, err
		}
		return quant.NewQSGD(c.Bits, c.Bucket, norm, stream)
	},
	"terngrad": func(c configs.Compressor, _ int, stream uint64) (compressor, error) {
		return quant.NewTernGrad(c.Bucket, stream)
	},
	"nuqsgd": func(c configs.Compressor, _ int, stream uint64) (compressor, error) {
		norm, form, err := normAndForm(c)
		if err != nil {
			return nil, err
		}
		return quant.NewNUQSGD(c.Bits, c.Bucket, norm, form, stream)
	},
	"levels": func(c configs.Compressor, _ int, stream uint64) (compressor, error) {
		norm, form, err := normAndForm(c)
		if err != nil {
			return nil, err
		}
		return quant.NewLevels(quant.Table{Form: form, Levels: c.Table}, c.Bucket, norm, stream)
	},
	"alq":   adaptive(quant.ALQ),
	"alqn":  adaptive(quant.ALQN),
	"alqg":  adaptive(quant.ALQG),
	"alqgn": adaptive(quant.ALQGN),
	"amq":   adaptive(quant.AMQ),
	"amqn":  adaptive(quant.AMQN),
	"orq": func(c configs.Compressor, _ int, stream uint64) (compressor, error) {
		return quant.NewORQ(c.Levels, c.Bucket, stream)
	},
	"linear_s": func(c configs.Compressor, _ int, stream uint64) (compressor, error) {
		return quant.NewQuantiles(c.Levels, c.Bucket, stream)
	},
	"bingrad_pb": func(c configs.Compressor, _ int, stream uint64) (compressor, error) {
		return quant.NewBinGradPB(c.Bucket, stream)
	},
	"bingrad_b": func(c configs.Compressor, _ int, _ uint64) (compressor, error) {
		threshold, err := quant.ParseThreshold(c.Rule)
		if err != nil {
			return nil, err
		}
		return quant.NewBinGradB(threshold, c.Bucket)
	},
	"sign": func(c configs.Compressor, _ int, _ uint64) (compressor, error) { return quant.NewSign(c.Bucket) },
	"topk": func(c configs.Compressor, d int, _ uint64) (compressor, error) { return quant.NewTopK(kept(c, d)) },
	"randomk": func(c configs.Compressor, d int, stream uint64) (compressor, error) {
		return quant.NewRandomK(kept(c, d), quant.Amplified, stream)
	},
}

// adaptive makes compressors that fit their levels by fit. The levels of AMQ
// are symmetric whatever the variant.
func adaptive(fit quant.Fit) func(c configs.Compressor, d int, stream uint64) (compressor, error) {
	return func(c configs.Compressor, _ int, stream uint64) (compressor, error) {
		norm, form, err := normAndForm(c)
		if err != nil {
			return nil, err
		}
		if fit == quant.AMQ || fit == quant.AMQN {
			form = quant.Symmetric
		}
		made, err := quant.NewAdaptive(fit, c.Bits, c.Bucket, norm, form, stream)
		if err != nil {
			return nil, err
		}
		return made, made.Refit(c.RefitAt, c.RefitEvery)
	}
}

func normAndForm(c configs.Compressor) (quant.Norm, quant.Form, error) {
	norm, err := quant.ParseNorm(c.Norm)
	if err != nil {
		return 0, 0, err
	}
	form, err := quant.ParseForm(c.Variant)
	return norm, form, err
}

// adjust makes a compressor clip and scale as its settings say.
func adjust(made compressor, c configs.Compressor) error {
	if c.Scaled {
		scalable, ok := made.(interface{ Scale() error })
		if !ok || !made.Properties().Scalable {
			return configs.Errorf("algorithm.compressor.scaled", "%s: only an unbiased compressor whose error is relative can be scaled to a contraction", c.Name).
				With("algorithm.compressor.name", "algorithm.compressor.mode")
		}
		if err := scalable.Scale(); err != nil {
			return err
		}
	}
	if c.Clip > 0 {
		bucketed, ok := made.(interface{ Clip(c float64) error })
		if !ok {
			return configs.Errorf("algorithm.compressor.clip", "%s has no buckets whose values could be clipped: must be 0", c.Name).
				With("algorithm.compressor.name")
		}
		return bucketed.Clip(c.Clip)
	}
	return nil
}

// kept returns how many of d parameters top-k and random-k send.
func kept(c configs.Compressor, d int) int {
	if c.K > 0 {
		return c.K
	}
	return max(1, int(math.Round(c.Ratio*float64(d))))
}

// assembleCompressor makes sure that the compressor fits the model and warns
// where theory says that it does not fit the algorithm.
func (r *Run) assembleCompressor() error {
	if !r.Compresses() {
		return nil
	}
	c := r.cfg.Algorithm.Compressor
	if sparse := c.Name == "topk" || c.Name == "randomk"; sparse && c.K > r.dim {
		return configs.Errorf("algorithm.compressor.k", "%s cannot send %d parameters of a model that has %d", c.Name, c.K, r.dim).
			With("algorithm.compressor.name", "model.name", "model.hidden", "model.dim", "data.name")
	}
	made, err := r.compressor(0)
	if located := (*configs.Error)(nil); errors.As(err, &located) {
		return located
	}
	if err != nil {
		return configs.Errorf("algorithm.compressor.name", "%v", err).With("algorithm.name")
	}
	if why := r.method.unsuited(c, made.Properties()); why != "" {
		r.warnings = append(r.warnings, fmt.Sprintf("%s with %s: %s", r.cfg.Algorithm.Name, c.Name, why))
	}
	return nil
}

// Compresses says whether messages are made by algorithm.compressor.
func (r *Run) Compresses() bool { return r.method.unsuited != nil }

// compressor returns the C(·) of what worker rank sends.
func (r *Run) compressor(rank topology.Rank) (compressor, error) {
	stream := rng.Stream(r.cfg.Seed, int(rank))
	if r.controlled() {
		return r.switched(stream)
	}
	return newCompressor(r.cfg.Algorithm.Compressor, r.dim, stream)
}

// newCompressor returns the C(·) of vectors of d parameters.
func newCompressor(c configs.Compressor, d int, stream uint64) (compressor, error) {
	make, ok := compressors[c.Name]
	if !ok {
		return nil, fmt.Errorf("experiment: compressor %q is not available in this version", c.Name)
	}
	made, err := make(c, d, stream)
	if err != nil {
		return nil, err
	}
	return made, adjust(made, c)
}

// Compressor returns another instance of the C(·) of what worker rank sends, for
// whoever measures it. It fails where there is none.
func (r *Run) Compressor(rank topology.Rank) (algos.Compressor, error) {
	if !r.Compresses() {
		return nil, fmt.Errorf("experiment: %s sends nothing by algorithm.compressor", r.cfg.Algorithm.Name)
	}
	return r.compressor(rank)
}

// compression returns the compressors that worker rank needs.
func (r *Run) compression(rank topology.Rank) (algos.Compression, error) {
	own, err := r.compressor(rank)
	if err != nil {
		return algos.Compression{}, err
	}
	all := algos.Compression{Own: own}
	for _, e := range r.rows[rank].In {
		of, err := r.compressor(e.Peer)
		if err != nil {
			return algos.Compression{}, err
		}
		all.In = append(all.In, of)
	}
	return all, nil
}

func compressedPayload(r *Run) int {
	c, err := r.compressor(0)
	if err != nil {
		panic("internal error: experiment: " + err.Error()) // assembleCompressor has made one
	}
	return c.Len(r.dim)
}

// The rules of which compressor suits an algorithm return the reason why it
// does not and the fix, "" if it does.

// wantsContraction is the rule of algorithms with error feedback: a random
// compressor that is no contraction has a variance that their feedback
// amplifies. A deterministic one has none.
func wantsContraction(_ configs.Compressor, p quant.Properties) string {
	switch {
	case p.Contraction || p.Deterministic:
		return ""
	case p.Scalable:
		return "an unbiased compressor may diverge, it must be scaled to a contraction: set algorithm.compressor.scaled: true"
	}
	return "an unbiased compressor that is no contraction may diverge: set algorithm.compressor.mode: nearest"
}

// wantsUnbiased is the rule of algorithms that forget the error.
func wantsUnbiased(c configs.Compressor, p quant.Properties) string {
	const biased = "a biased compressor moves the mean of the models: "
	switch {
	case p.Unbiased:
		return ""
	case c.Scaled:
		return biased + "set algorithm.compressor.scaled: false"
	case p.Scalable && c.Clip > 0:
		return biased + "set algorithm.compressor.clip: 0"
	case p.Deterministic && !p.Contraction:
		return biased + "set algorithm.compressor.mode: stochastic"
	}
	return biased + "take an unbiased one like qsgd, alq or orq, or linear or minmax with algorithm.compressor.mode: stochastic"
}

// suitsAll is the rule of the algorithm that shows what goes wrong.
func suitsAll(configs.Compressor, quant.Properties) string { return "" }

// compressedBits returns the bits per parameter, rounded up, of a compressor
// with a fixed number of them, 32 for the others.
func compressedBits(c configs.Compressor) int {
	switch c.Name {
	case "levels":
		signs := 0
		if c.Variant == "zero" {
			signs = 1
		}
		return bits.Len(uint(len(c.Table)-1)) + signs
	case "orq", "linear_s":
		return bits.Len(uint(c.Levels - 1))
	case "terngrad":
		return 2
	case "sign", "bingrad_pb", "bingrad_b":
		return 1
	}
	if HasBits(c.Name) {
		return c.Bits
	}
	return fullBits
}

// HasBits says whether algorithm.compressor.bits means something to a compressor.
func HasBits(name string) bool {
	switch name {
	case "minmax", "qsgd", "nuqsgd", "alq", "alqn", "alqg", "alqgn", "amq", "amqn":
		return true
	}
	return false
}
