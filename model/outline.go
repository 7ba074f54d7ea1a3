package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"gossiptrainer/internal/kernel"
)

// External is the name of the objective that a program of the user computes.
const External = "external"

func externalKind() Kind {
	return Kind{
		Name: External, External: true,
		build: func(Spec, kernel.Tier) (Model, error) {
			return nil, fmt.Errorf("model: %s: the objective is in a program of the user, and not in this one", External)
		},
		measure: measureOutline,
	}
}

// An Outline describes the vector of an external model.
type Outline struct {
	// Params lists all tensors in the order of the flat vector, which they fill without gaps.
	Params []Param
	// Exact is E, the number of elements at the end of the vector that travel in full precision whatever the codec.
	// They are statistics, such as those of a batch normalization, and no parameters that are trained. 0 to Dim − 1.
	Exact int
	// Same is a hash of all that is equal on all workers but not in the vector; "": unknown, or compared otherwise.
	Same string
}

// Dim returns d, the number of elements, the exact ones included.
func (o *Outline) Dim() int {
	d := 0
	for _, p := range o.Params {
		d += p.Len()
	}
	return d
}

// Hash returns the SHA-256, in hexadecimal, of the names and shapes of all tensors and of the number of exact elements.
func (o *Outline) Hash() string {
	h := sha256.New()
	for _, p := range o.Params {
		fmt.Fprintf(h, "%q %d\n", p.Name, p.Shape)
	}
	fmt.Fprintf(h, "exact %d\n", o.Exact)
	return hex.EncodeToString(h.Sum(nil))
}

// Check refuses tensors with gaps or without elements, names that occur twice, and more exact elements than there are.
func (o *Outline) Check() error {
	end, seen := 0, map[string]bool{}
	for i, p := range o.Params {
		switch {
		case p.Name == "":
			return fmt.Errorf("model: external: tensor %d has no name", i)
		case seen[p.Name]:
			return fmt.Errorf("model: external: two tensors have the name %q", p.Name)
		case p.Off != end:
			return fmt.Errorf("model: external: tensor %q begins at %d, the one before ends at %d", p.Name, p.Off, end)
		}
		if err := checkShape(p); err != nil {
			return err
		}
		end += p.Len()
		seen[p.Name] = true
	}
	switch {
	case end < 1 || end > mostElements:
		return fmt.Errorf("model: external: %d elements: want 1 to %d", end, mostElements)
	case o.Exact < 0 || o.Exact >= end:
		return fmt.Errorf("model: external: %d exact elements of %d: want 0 to %d, or there is nothing to train", o.Exact,
			end, end-1)
	}
	return nil
}

func checkShape(p Param) error {
	elements := 1
	for _, size := range p.Shape {
		if size < 0 || size > mostElements {
			return fmt.Errorf("model: external: tensor %q has the shape %v: every size must be 0 to %d", p.Name, p.Shape,
				mostElements)
		}
		if elements *= size; elements > mostElements {
			return fmt.Errorf("model: external: tensor %q has more than %d elements", p.Name, mostElements)
		}
	}
	return nil
}

// mostElements bounds the vector: indices of parameters are 32 bits wide.
const mostElements = 1<<31 - 1

// measureOutline returns the size of an external model, the zero Size before it is known.
func measureOutline(s Spec) (Size, error) {
	if s.Outline == nil {
		return Size{}, nil
	}
	return Size{Layout: s.Outline.Params, Dim: s.Outline.Dim()}, s.Outline.Check()
}
