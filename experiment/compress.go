package experiment

import (
	"fmt"
	"math"

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
// settings, the number of parameters and the sender's random stream.
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
		q, err := quant.NewQSGD(c.Bits, c.Bucket, norm, stream)
		if err != nil {
			return nil, err
		}
		q.Scaled = c.Scaled
		return q, nil
	},
	"sign": func(c configs.Compressor, _ int, _ uint64) (compressor, error) { return quant.NewSign(c.Bucket) },
	"topk": func(c configs.Compressor, d int, _ uint64) (compressor, error) { return quant.NewTopK(kept(c, d)) },
	"randomk": func(c configs.Compressor, d int, stream uint64) (compressor, error) {
		scaling := quant.Amplified
		if c.Scaled {
			scaling = quant.AsIs
		}
		return quant.NewRandomK(kept(c, d), scaling, stream)
	},
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
	c := r.cfg.Algorithm.Compressor
	make, ok := compressors[c.Name]
	if !ok {
		return nil, fmt.Errorf("experiment: compressor %q is not available in this version", c.Name)
	}
	stream := rng.Stream(r.cfg.Seed, int(rank))
	if r.controlled() {
		return r.switched(c, stream)
	}
	return make(c, r.dim, stream)
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

// wantsContraction is the rule of algorithms with error feedback: an unbiased
// compressor has a variance that their feedback amplifies.
func wantsContraction(c configs.Compressor, p quant.Properties) string {
	switch {
	case !p.Unbiased || p.Contraction:
		return ""
	case c.Name == "qsgd", c.Name == "randomk":
		return "an unbiased compressor may diverge, it must be scaled to a contraction: set algorithm.compressor.scaled: true"
	}
	return "an unbiased compressor that is no contraction may diverge: set algorithm.compressor.mode: nearest"
}

// wantsUnbiased is the rule of algorithms that forget the error.
func wantsUnbiased(c configs.Compressor, p quant.Properties) string {
	switch {
	case p.Unbiased:
		return ""
	case c.Name == "qsgd", c.Name == "randomk":
		return "a biased compressor moves the mean of the models: set algorithm.compressor.scaled: false"
	case c.Name == "linear", c.Name == "minmax":
		return "a biased compressor moves the mean of the models: set algorithm.compressor.mode: stochastic"
	}
	return "a biased compressor moves the mean of the models: take qsgd, or linear or minmax with algorithm.compressor.mode: stochastic"
}

// suitsAll is the rule of the algorithm that shows what goes wrong.
func suitsAll(configs.Compressor, quant.Properties) string { return "" }

// compressedBits returns the bits per parameter of a compressor with a fixed
// number of them, 32 for the others.
func compressedBits(c configs.Compressor) int {
	switch {
	case hasBits(c.Name):
		return c.Bits
	case c.Name == "sign":
		return 1
	}
	return fullBits
}

// hasBits says whether algorithm.compressor.bits means something to a compressor.
func hasBits(name string) bool { return name == "minmax" || name == "qsgd" }
