package experiment

import (
	"gossiptrainer/gossip"
	"gossiptrainer/internal/bits"
	"gossiptrainer/internal/modulo"
)

const floatBytes = 4

// Parameters returns the number of model parameters that a message covers. A sparse message covers all of them,
// although it holds only some.
func (r *Run) Parameters() int {
	if r.method.Sends.Spans == nil {
		return r.size.Dim
	}
	return r.method.Sends.Spans(r.size.Dim, r.N())
}

// Bits returns the bits per parameter on the wire, the most where they change. It is 32 in full precision and for
// compressors without a fixed number.
func (r *Run) Bits() int {
	switch {
	case bits.Controlled(r.cfg.Algorithm.Controller):
		return r.cfg.Algorithm.Controller.MaxBits
	case quantized(r):
		return r.cfg.Algorithm.Bits
	case r.method.Compresses():
		return r.compressors.Any().Bits()
	}
	return modulo.FullBits
}

// Largest returns the bytes of the largest message.
func Largest(r *Run) int {
	switch {
	case r.method.Asynchronous():
		if r.modulo == nil {
			return floatBytes*r.size.Dim + gossip.CensusBytes(r.N())
		}
		return r.modulo.Largest() + gossip.CensusBytes(r.N()) // step counts of all workers travel with models
	case r.method.Compresses():
		return r.compressors.Any().Len(r.size.Dim)
	case r.modulo != nil:
		return r.modulo.Largest()
	}
	return floatBytes * r.Parameters()
}
