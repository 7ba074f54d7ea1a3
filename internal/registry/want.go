package registry

import "gossiptrainer/quant"

// A Want says which compressors suit an algorithm.
type Want int

const (
	// NoCompressor: the algorithm takes none.
	NoCompressor Want = iota
	// AnyCompressor: the algorithm shows what goes wrong.
	AnyCompressor
	// Unbiased: biased errors move the mean of the models.
	Unbiased
	// Contraction: error feedback amplifies the variance of compressors without this
	// property. A deterministic compressor has no variance.
	Contraction
	// UnbiasedSum: error feedback is a choice, and without it a bias stays.
	UnbiasedSum
	// UnbiasedReturn: error feedback on the way to a server, none on the way back.
	UnbiasedReturn
)

// String names the want for the tables of the documents.
func (w Want) String() string {
	return [...]string{"–", "any", "unbiased", "a contraction", "unbiased", "unbiased"}[w]
}

// Unsuited returns why a compressor with settings s and properties p does not suit, and the fix. It returns "" if it
// does.
func (w Want) Unsuited(s CompressorSettings, p quant.Properties) string {
	switch w {
	case Unbiased:
		return biased(s, p)
	case Contraction:
		return noisy(p)
	case UnbiasedSum:
		if !p.Unbiased {
			return "a biased compressor loses a part of every gradient for ever: set algorithm.error_feedback: true"
		}
	case UnbiasedReturn:
		if p.Unbiased && !p.Contraction {
			return "error feedback amplifies the variance of an unbiased compressor: set algorithm.error_feedback: false"
		}
		return biased(s, p)
	}
	return ""
}

func noisy(p quant.Properties) string {
	switch {
	case p.Contraction || p.Deterministic:
		return ""
	case p.Scalable:
		return "an unbiased compressor may diverge, it must be scaled to a contraction: set algorithm.compressor.scaled: true"
	}
	return "an unbiased compressor that is no contraction may diverge: set algorithm.compressor.mode: nearest"
}

func biased(s CompressorSettings, p quant.Properties) string {
	const moves = "a biased compressor moves the mean of the models: "
	switch {
	case p.Unbiased:
		return ""
	case s.Scaled:
		return moves + "set algorithm.compressor.scaled: false"
	case p.Scalable && s.Clip > 0:
		return moves + "set algorithm.compressor.clip: 0"
	case p.Deterministic && !p.Contraction:
		return moves + "set algorithm.compressor.mode: stochastic"
	}
	return moves + "take an unbiased one like qsgd, alq or orq, " +
		"or linear or minmax with algorithm.compressor.mode: stochastic"
}
