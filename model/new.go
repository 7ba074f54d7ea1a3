package model

import (
	"fmt"

	"gossiptrainer/internal/kernel"
)

// New builds the objective that s describes, with all memory it will need.
func New(s Spec) (Model, error) { return newOn(s, kernel.Best()) }

// newOn builds the objective to be computed by the kernels of a tier.
func newOn(s Spec, tier kernel.Tier) (Model, error) {
	if s.Name == "quadratic" {
		return newQuadratic(s)
	}
	b, logits, err := buildOn(s, tier)
	if err != nil {
		return nil, err
	}
	return b.net(logits), nil
}

// A Size says what an objective takes, see Measure.
type Size struct {
	Layout []Param
	Dim    int // parameters
	Sample int // floats of memory beside them for every sample of a batch
}

// Measure returns the size of the objective that s describes. It allocates no
// more than one sample needs, so that what is too large can be refused.
func Measure(s Spec) (Size, error) {
	if s.Name == "quadratic" {
		return Size{Layout: quadraticLayout(s.Dim), Dim: s.Dim}, s.checkQuadratic()
	}
	s.Batch = 1
	b, _, err := buildOn(s, kernel.Best())
	if err != nil {
		return Size{}, err
	}
	return Size{Layout: b.params, Dim: b.dim, Sample: b.floats}, nil
}

// buildOn builds the layers of a network.
func buildOn(s Spec, tier kernel.Tier) (*builder, node, error) {
	build, ok := map[string]func(*builder, Spec) (node, error){
		"logistic": buildLogistic,
		"mlp":      buildMLP,
		"lenet":    buildLeNet,
		"resnet":   buildResNet,
		"vgg16":    buildVGG,
	}[s.Name]
	if !ok {
		return nil, node{}, fmt.Errorf("model: unknown name %q: want quadratic, logistic, mlp, lenet, resnet or vgg16",
			s.Name)
	}
	if err := s.check(); err != nil {
		return nil, node{}, fmt.Errorf("model: %s: %w", s.Name, err)
	}
	b := &builder{tier: tier, batch: s.Batch}
	logits, err := build(b, s)
	if err != nil {
		return nil, node{}, fmt.Errorf("model: %s: %w", s.Name, err)
	}
	return b, logits, nil
}
