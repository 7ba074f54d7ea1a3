package experiment

import (
	"gossiptrainer/configs"
	"gossiptrainer/internal/registry"
)

// A Description says for people what a run does.
type Description struct {
	configs.Method
	Paper   string // of the algorithm, and of the codec that it uses
	Overlap Overlap
	Graph   string
}

// An Overlap says whether messages travel while the gradient is computed.
type Overlap string

// The ways of an overlap.
const (
	Overlaps     Overlap = "overlaps"     // messages depend on the model before the gradient
	waits        Overlap = "waits"        // messages depend on the gradient
	asynchronous Overlap = "asynchronous" // workers share no rounds
)

// Describe says for people what the run does.
func (r *Run) Describe() Description {
	a := r.cfg.Algorithm
	d := Description{Method: r.cfg.Method(), Paper: r.method.Text.Paper, Overlap: waits, Graph: r.graphName()}
	if r.quantized() {
		d.Paper += "; the codec moniqua " + registry.MoniquaPaper
	}
	switch {
	case r.Asynchronous():
		d.Overlap = asynchronous
	case r.method.Sends.Early && a.Order != "atc":
		d.Overlap = Overlaps
	}
	return d
}

// graphName names the graph on which messages travel.
func (r *Run) graphName() string {
	switch {
	case r.method.On.Kind != "":
		return string(r.method.On.Kind)
	case r.method.On.Rows != nil:
		return "cycle"
	}
	return r.cfg.Topology.Kind
}

// Claim returns the bytes of a message as papers count them: bits times parameters, without hashes and headers. It is 0
// where the bits per parameter are not fixed.
func (r *Run) Claim() float64 {
	bits := 0
	switch a := r.cfg.Algorithm; {
	case r.controlled() || r.dim == 0:
	case r.Compresses() && r.hasBits():
		bits = a.Compressor.Bits
	case r.Compresses():
	case !r.quantized():
		bits = fullBits
	case a.Levels == 0:
		bits = a.Bits
	}
	return float64(bits) / 8 * float64(r.Parameters())
}
