package experiment

import (
	"gossiptrainer/configs"
	"gossiptrainer/internal/registry"
)

// A Description says for people what a run does.
type Description struct {
	configs.Method
	Label   string // of the algorithm in tables
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
	d := Description{
		Method: r.cfg.Method(), Label: label(r), Paper: r.method.Text.Paper, Overlap: waits, Graph: graphName(r),
	}
	if quantized(r) {
		d.Paper += "; the codec moniqua " + registry.MoniquaPaper
	}
	switch {
	case r.method.Asynchronous():
		d.Overlap = asynchronous
	case r.method.Sends.Early && a.Order != "atc":
		d.Overlap = Overlaps
	}
	return d
}

// graphName names the graph on which messages travel.
func graphName(r *Run) string {
	switch {
	case r.method.On.Kind != "":
		return string(r.method.On.Kind)
	case r.method.On.Rows != nil:
		return "cycle"
	}
	return r.cfg.Topology.Kind
}

// label returns the name of the algorithm in tables. The codec decides between dpsgd and moniqua, d2 and moniqua-d2.
func label(r *Run) string {
	if quantized(r) {
		return r.method.Sends.Label
	}
	return r.method.Name
}
