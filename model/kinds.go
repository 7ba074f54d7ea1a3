package model

import (
	"fmt"
	"slices"
	"strings"

	"gossiptrainer/internal/kernel"
)

// A Kind is one row of the table of objectives: the name of a Spec and its properties. The
// zero value of a field forbids.
type Kind struct {
	Name string
	// Takes are the settings that mean something to it: hidden, depth, norm, dim, spread.
	Takes []string
	// Samples: it learns from data. Any other one needs Dim, Seed and Worker instead.
	Samples bool
	// External: a program outside computes its updates. Nothing here can build it, and an Outline
	// gives its size.
	External bool
	// Check names an invalid setting and the reason, or returns "" if all are valid. Nil
	// accepts every setting.
	Check func(s Spec) (setting, why string)

	build   func(s Spec, tier kernel.Tier) (Model, error)
	measure func(s Spec) (Size, error)
}

// Kinds returns all rows. The first is the simplest.
func Kinds() []Kind {
	return []Kind{
		quadraticKind(),
		network("logistic", buildLogistic),
		network("mlp", buildMLP, "hidden"),
		network("lenet", buildLeNet),
		resnetKind(),
		network("vgg11", buildVGG11),
		network("vgg16", buildVGG, "norm"),
		externalKind(),
	}
}

// New builds the objective that s describes, with all memory it will need.
func New(s Spec) (Model, error) { return newOn(s, kernel.Best()) }

// newOn builds the objective to be computed by the kernels of a tier.
func newOn(s Spec, tier kernel.Tier) (Model, error) {
	if s.Problem != nil && s.Name == "quadratic" { // one of very many workers: without the table
		return newQuadratic(s)
	}
	kind, err := known(s.Name)
	if err != nil {
		return nil, err
	}
	return kind.build(s, tier)
}

// A Size says what an objective takes, see Measure.
type Size struct {
	Layout []Param
	Form   Form // how files hold it
	Dim    int  // parameters
	Sample int  // floats of memory beside them for every sample of a batch
	Packed int  // floats of memory for any batch: packed weights, sums of their gradients, coefficients
	Part   int  // coordinates of the longest part of a gradient, see Parted; 0: it comes whole
}

// Measure returns the size of the objective that s describes. It allocates no more than one
// sample needs, so callers can refuse an objective that is too large.
func Measure(s Spec) (Size, error) {
	kind, err := known(s.Name)
	if err != nil {
		return Size{}, err
	}
	return kind.measure(s)
}

// network is the row of a network of layers.
func network(name string, build func(*builder, Spec) (node, error), takes ...string) Kind {
	wire := func(s Spec, tier kernel.Tier) (*builder, node, error) {
		if err := s.check(); err != nil {
			return nil, node{}, fmt.Errorf("model: %s: %w", name, err)
		}
		b := &builder{tier: tier, batch: s.Batch}
		logits, err := build(b, s)
		if err != nil {
			return nil, node{}, fmt.Errorf("model: %s: %w", name, err)
		}
		return b, logits, nil
	}
	return Kind{
		Name: name, Takes: takes, Samples: true,
		build: func(s Spec, tier kernel.Tier) (Model, error) {
			b, logits, err := wire(s, tier)
			if err != nil {
				return nil, err
			}
			return b.net(logits), nil
		},
		measure: func(s Spec) (Size, error) {
			s.Batch = 1
			b, _, err := wire(s, kernel.Best())
			if err != nil {
				return Size{}, err
			}
			return Size{Layout: b.params, Form: b.form, Dim: b.dim, Sample: b.floats, Packed: b.packed, Part: b.longest}, nil
		},
	}
}

// Names returns the names of the rows that take a setting; of all rows for "".
func Names(setting string) []string {
	var names []string
	for _, k := range Kinds() {
		if setting == "" || k.Has(setting) {
			names = append(names, k.Name)
		}
	}
	return names
}

// Find returns the row of a name.
func Find(name string) (Kind, bool) {
	all := Kinds()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return all[i], true
}

// known is Find with an error that lists the names.
func known(name string) (Kind, error) {
	if k, ok := Find(name); ok {
		return k, nil
	}
	names := Names("")
	last := len(names) - 1
	return Kind{}, fmt.Errorf("model: unknown name %q: want %s or %s", name, strings.Join(names[:last], ", "), names[last])
}

// Has says whether a setting means something to the objective.
func (k Kind) Has(setting string) bool { return slices.Contains(k.Takes, setting) }
