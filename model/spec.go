package model

import (
	"fmt"

	"gossiptrainer/internal/data"
	"gossiptrainer/internal/kernel"
)

// A Spec says which objective to build. Fields that an objective does not use
// are ignored.
type Spec struct {
	Name    string     // quadratic | logistic | mlp | lenet | resnet | vgg16
	Shape   data.Shape // of one sample; all but quadratic
	Classes int        // number of labels, ≥ 2; all but quadratic
	Batch   int        // largest batch that Gradient gets, ≥ 1; all but quadratic

	Hidden []int  // mlp: widths of the hidden layers, at least one, each ≥ 1
	Depth  int    // resnet: 6n+2 with n ≥ 1
	Norm   string // resnet, vgg16: group | batch

	Dim    int     // quadratic: number of parameters, ≥ 1
	Spread float64 // quadratic: largest distance per coordinate between a worker's optimum and the common centre, ≥ 0
	Seed   uint64  // quadratic: of the curvatures and the optima
	Worker int     // quadratic: whose f_i, ≥ 0
}

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

// check refuses what no network can be built from.
func (s Spec) check() error {
	if s.Shape.H < 1 || s.Shape.W < 1 || s.Shape.C < 1 {
		return fmt.Errorf("sample shape %dx%dx%d: every size must be at least 1", s.Shape.H, s.Shape.W, s.Shape.C)
	}
	if s.Classes < 2 {
		return fmt.Errorf("%d classes: want at least 2", s.Classes)
	}
	if s.Batch < 1 {
		return fmt.Errorf("batch of %d samples: want at least 1", s.Batch)
	}
	return nil
}
