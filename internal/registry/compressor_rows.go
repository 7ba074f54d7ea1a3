package registry

import (
	"fmt"

	"gossiptrainer/quant"
)

// compressors is the table. The first row is the default.
var compressors = []Compressor{
	{
		Name: "qsgd",
		Text: CompressorText{
			Paper:    "Alistarh et al., NeurIPS 2017",
			Value:    "s = 2^(b−1) − 1 or (levels − 1)/2, r = s·abs(z_c)/norm: norm·sign(z_c)·(⌊r⌋ + [u < r − ⌊r⌋])/s",
			Unbiased: "yes", Contraction: "if scaled",
			Header: "norm", Levels: counted, Payload: "level, plus ⌊N/2⌋ where the value is negative and the level is not 0",
		},
		Takes: []string{"bits", "levels", "norm", "bucket", "clip"}, Bits: Range{2, 8}, Check: checkLevels,
		Build: func(s CompressorSettings, _ int, stream uint64) (quant.Compressor, error) {
			norm, err := quant.ParseNorm(s.Norm)
			if err != nil {
				return nil, err
			}
			if s.Levels != 0 {
				return quant.NewQSGDLevels(s.Levels, s.Bucket, norm, stream)
			}
			return quant.NewQSGD(s.Bits, s.Bucket, norm, stream)
		},
	},
	{
		Name:  "full",
		Text:  CompressorText{Value: "z", Unbiased: "yes", Contraction: "ω = 1", Payload: "d numbers, f32"},
		Build: func(CompressorSettings, int, uint64) (quant.Compressor, error) { return quant.Full{}, nil },
	},
	{
		Name: "linear",
		Text: CompressorText{
			Paper: "Lu and De Sa, ICML 2020",
			Value: "step·⌊z_c/step + u⌋; u = 1/2 or random", Unbiased: "if random", Contraction: "no",
			Payload: "d indices, i32: the value is step · index",
		},
		Takes: []string{"mode", "step"}, Fixed: true,
		Build: func(s CompressorSettings, _ int, stream uint64) (quant.Compressor, error) {
			mode, err := quant.ParseMode(s.Mode)
			if err != nil {
				return nil, err
			}
			return quant.NewLinear(s.Step, mode, stream)
		},
	},
	{
		Name: "minmax",
		Text: CompressorText{
			Paper:    "Cui et al., 2018",
			Value:    "L = 2^b − 1, w = (max − min)/L: min + w·min(L, ⌊(z_c − min)/w + u⌋)",
			Unbiased: "if random", Contraction: "no",
			Header: "minimum, maximum", Levels: "2^b", Payload: "q: minimum + q(maximum − minimum)/(N − 1)",
		},
		Takes: []string{"bits", "mode", "bucket", "clip"}, Bits: Range{1, 16},
		Build: func(s CompressorSettings, _ int, stream uint64) (quant.Compressor, error) {
			mode, err := quant.ParseMode(s.Mode)
			if err != nil {
				return nil, err
			}
			return quant.NewMinMax(s.Bits, s.Bucket, mode, stream)
		},
	},
	{
		Name: "terngrad",
		Text: CompressorText{
			Paper: "Wen et al., NeurIPS 2017",
			Value: "max·sign(z_c)·[u < abs(z_c)/max], max the largest magnitude", Unbiased: "yes", Contraction: "if scaled",
			Header: "scale", Levels: "3", Payload: "0, 1, 2 for −1, 0, 1",
		},
		Takes: []string{"bucket", "clip"},
		Build: func(s CompressorSettings, _ int, stream uint64) (quant.Compressor, error) {
			return quant.NewTernGrad(s.Bucket, stream)
		},
	},
	{
		Name: "nuqsgd",
		Text: CompressorText{
			Paper:    "Ramezani-Kebrya et al., 2019",
			Value:    "h = 2^(b−1) or ⌈levels/2⌉; stochastic on norm times 0, 2^−(h−2), …, 1/2, 1; `sym`: ±2^−(h−1), …, ±1",
			Unbiased: "yes", Contraction: "if scaled", Header: "norm", Levels: counted, Payload: tabled,
		},
		Takes: []string{"bits", "levels", "variant", "norm", "bucket", "clip"}, Bits: Range{2, 8}, Check: checkLevels,
		Build: func(s CompressorSettings, _ int, stream uint64) (quant.Compressor, error) {
			norm, form, err := s.normAndForm()
			if err != nil {
				return nil, err
			}
			if s.Levels != 0 {
				return quant.NewNUQSGDLevels(s.Levels, s.Bucket, norm, form, stream)
			}
			return quant.NewNUQSGD(s.Bits, s.Bucket, norm, form, stream)
		},
	},
	{
		Name: "levels",
		Text: CompressorText{
			Value: "stochastic on the norm times a table", Unbiased: "yes", Contraction: "if scaled",
			Header: "norm", Levels: "values in the table, plus 1 for −0 if that makes a power of two", Payload: tabled,
		},
		Takes: []string{"variant", "table", "norm", "bucket", "clip"}, Check: checkTable,
		Build: func(s CompressorSettings, _ int, stream uint64) (quant.Compressor, error) {
			norm, form, err := s.normAndForm()
			if err != nil {
				return nil, err
			}
			return quant.NewLevels(quant.Table{Form: form, Levels: s.Table}, s.Bucket, norm, stream)
		},
	},
	adaptive(quant.ALQ),
	adaptive(quant.ALQN),
	adaptive(quant.ALQG),
	adaptive(quant.ALQGN),
	adaptive(quant.AMQ),
	adaptive(quant.AMQN),
	{
		Name: "orq",
		Text: CompressorText{
			Paper: "Xu, Huo and Huang, 2019",
			Value: "stochastic on [levels](../math.md#orq) of the bucket", Unbiased: "yes", Contraction: "if scaled",
			Header: "the s levels, ascending", Levels: "s", Payload: "number of the level",
		},
		Takes: []string{"levels", "bucket", "clip"},
		Check: func(s CompressorSettings) (setting, why string) {
			if s.levels() < 3 {
				return "levels", fmt.Sprintf("orq needs 3 to 256 levels, got %d", s.Levels)
			}
			return "", ""
		},
		Build: func(s CompressorSettings, _ int, stream uint64) (quant.Compressor, error) {
			return quant.NewORQ(s.levels(), s.Bucket, stream)
		},
	},
	{
		Name: "linear_s",
		Text: CompressorText{
			Paper:    "Xu, Huo and Huang, 2019",
			Value:    "stochastic on the quantiles k/(s − 1) of the bucket, linear between order statistics",
			Unbiased: "yes", Contraction: "if scaled",
			Header: "the s levels, ascending", Levels: "s", Payload: "number of the level",
		},
		Takes: []string{"levels", "bucket", "clip"},
		Check: func(s CompressorSettings) (setting, why string) {
			if s.levels() < 2 {
				return "levels", fmt.Sprintf("linear_s needs 2 to 256 levels, got %d", s.Levels)
			}
			return "", ""
		},
		Build: func(s CompressorSettings, _ int, stream uint64) (quant.Compressor, error) {
			return quant.NewQuantiles(s.levels(), s.Bucket, stream)
		},
	},
	{
		Name: "bingrad_pb",
		Text: CompressorText{
			Paper: "Xu, Huo and Huang, 2019",
			Value: "[±b1](../math.md#bingrad)", Unbiased: "partly", Contraction: `ω ≥ 2\|z\|₁²/(3m\|z\|₂²)`,
			Header: "b1", Levels: "2", Payload: "1 for +b1",
		},
		Takes: []string{"bucket", "clip"},
		Build: func(s CompressorSettings, _ int, stream uint64) (quant.Compressor, error) {
			return quant.NewBinGradPB(s.Bucket, stream)
		},
	},
	{
		Name: "bingrad_b",
		Text: CompressorText{
			Paper: "Xu, Huo and Huang, 2019",
			Value: "[the mean of either side](../math.md#bingrad)", Unbiased: "no", Contraction: "yes",
			Header: "lower mean, upper mean", Levels: "2", Payload: "1 for the upper mean",
		},
		Takes: []string{"rule", "bucket", "clip"},
		Build: func(s CompressorSettings, _ int, _ uint64) (quant.Compressor, error) {
			threshold, err := quant.ParseThreshold(s.Rule)
			if err != nil {
				return nil, err
			}
			return quant.NewBinGradB(threshold, s.Bucket)
		},
	},
	{
		Name: "sign",
		Text: CompressorText{
			Paper: "Karimireddy et al., ICML 2019",
			Value: "mean magnitude·sign(z_c), sign(0) = +", Unbiased: "no", Contraction: `ω = \|z\|₁²/(m\|z\|₂²)`,
			Header: "mean magnitude", Levels: "2", Payload: "1 for +",
		},
		Takes: []string{"bucket", "clip"},
		Build: func(s CompressorSettings, _ int, _ uint64) (quant.Compressor, error) { return quant.NewSign(s.Bucket) },
	},
	{
		Name: "topk",
		Text: CompressorText{
			Paper: "Stich, Cordonnier and Jaggi, NeurIPS 2018",
			Value: "the k largest magnitudes, ties to the lowest index", Unbiased: "no", Contraction: "ω ≥ k/d",
			Payload: "k pairs of index (u32) and value (f32), ascending by index",
		},
		Takes: []string{"k", "ratio"},
		Build: func(s CompressorSettings, d int, _ uint64) (quant.Compressor, error) { return quant.NewTopK(s.kept(d)) },
	},
	{
		Name: "randomk",
		Text: CompressorText{
			Paper: "Wangni et al., NeurIPS 2018",
			Value: "k random coordinates times d/k; unscaled with `scaled`", Unbiased: "yes", Contraction: "ω = k/d if scaled",
			Payload: "k values (f32), ascending by index; the receiver draws the indices again",
		},
		Takes: []string{"k", "ratio"},
		Build: func(s CompressorSettings, d int, stream uint64) (quant.Compressor, error) {
			return quant.NewRandomK(s.kept(d), quant.Amplified, stream)
		},
	},
}

const (
	counted = "2^b, or `levels`"
	tabled  = "variant `zero`: as for `qsgd`; variant `sym`: number of the level"
)

// adaptive returns the row of a compressor that fits its levels. The levels of AMQ are symmetric in any variant.
func adaptive(fit quant.Fit) Compressor {
	symmetric := fit == quant.AMQ || fit == quant.AMQN
	takes := []string{"bits", "levels", "norm", "bucket", "clip", "refit_at", "refit_every"}
	if !symmetric {
		takes = append(takes, "variant")
	}
	return Compressor{
		Name: fit.String(),
		Text: CompressorText{
			Paper: "Faghri et al., NeurIPS 2020",
			Value: "the same with a [fitted table](../math.md#alq-and-amq)", Unbiased: "yes", Contraction: "if scaled",
			Header: "norm", Levels: counted, Payload: "as for `levels`; a [table](#tables-that-travel) follows",
		},
		Takes: takes, Bits: Range{2, 8}, Check: checkLevels,
		Build: func(s CompressorSettings, _ int, stream uint64) (quant.Compressor, error) {
			norm, form, err := s.normAndForm()
			if err != nil {
				return nil, err
			}
			if symmetric {
				form = quant.Symmetric
			}
			made, err := quant.NewAdaptive(quant.AdaptiveOptions{
				Fit: fit, Bits: s.Bits, Levels: s.Levels, Bucket: s.Bucket, Norm: norm, Form: form,
			}, stream)
			if err != nil {
				return nil, err
			}
			return made, made.Refit(s.RefitAt, s.RefitEvery)
		},
	}
}

// checkLevels checks the number of levels of a compressor that takes bits, too: 0 stands for the bits. A table with 0
// has as many levels above it as below; one without 0 is symmetric.
func checkLevels(s CompressorSettings) (setting, why string) {
	n, adapted := s.Levels, s.Name == quant.AMQ.String() || s.Name == quant.AMQN.String()
	even := s.Variant == "sym" && s.Name != "qsgd" || adapted
	switch {
	case n == 0:
	case even && (n < 4 || n%2 != 0):
		return "levels", fmt.Sprintf("%s without a level 0 needs an even number of levels, 4 to 256, or 0 for 2^bits: got %d",
			s.Name, n)
	case !even && (n < 3 || n%2 == 0):
		return "levels", fmt.Sprintf("%s needs an odd number of levels, 3 to 255, for one is 0; or 0 for 2^bits − 1: got %d",
			s.Name, n)
	}
	return "", ""
}

func checkTable(s CompressorSettings) (setting, why string) {
	form, err := quant.ParseForm(s.Variant)
	if err == nil {
		err = quant.Table{Form: form, Levels: s.Table}.Check()
	}
	if err != nil {
		return "table", "the compressor levels cannot use the table: " + err.Error()
	}
	return "", ""
}
