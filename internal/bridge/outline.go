package bridge

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// Limits of an outline.
const (
	maxElements = min(math.MaxInt32, math.MaxInt/4) // of one vector: 8 GiB
	maxTensors  = 1 << 20
	maxName     = 1024 // bytes
	maxRank     = 64   // dimensions of a tensor
)

// A Tensor is a named part of a script's vector.
type Tensor struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"` // empty: one number
	Dtype string `json:"dtype"` // of the script's own copy, for instance float32 or bfloat16
}

// An Outline says what a script's vector holds. Its tensors follow each other without gaps. The last Exact of its
// Elements numbers travel in full precision whatever the codec.
type Outline struct {
	Tensors  []Tensor `json:"tensors"`
	Elements int      `json:"elements"`
	Exact    int      `json:"exact"`
}

// Check returns an error if the tensors do not make up the vector.
func (o Outline) Check() error {
	if o.Elements < 1 || o.Elements > maxElements {
		return fmt.Errorf("%d elements: want 1 to %d", o.Elements, maxElements)
	}
	if o.Exact < 0 || o.Exact > o.Elements {
		return fmt.Errorf("%d exact elements of %d", o.Exact, o.Elements)
	}
	if len(o.Tensors) > maxTensors {
		return fmt.Errorf("%d tensors: at most %d", len(o.Tensors), maxTensors)
	}
	names, total, boundary := make(map[string]bool, len(o.Tensors)), 0, o.Exact == 0
	for i, t := range o.Tensors {
		size, err := t.size()
		if err != nil {
			return fmt.Errorf("tensor %d, %q: %w", i, t.Name, err)
		}
		if names[t.Name] {
			return fmt.Errorf("tensor %d, %q: there is one of this name already", i, t.Name)
		}
		names[t.Name] = true
		boundary = boundary || total == o.Elements-o.Exact
		if total += size; total > o.Elements {
			return fmt.Errorf("tensor %d, %q: with it the tensors have %d elements, the vector %d", i, t.Name, total, o.Elements)
		}
	}
	if total != o.Elements {
		return fmt.Errorf("the tensors have %d elements, the vector %d", total, o.Elements)
	}
	if !boundary {
		return fmt.Errorf("the exact tail of %d elements begins inside a tensor", o.Exact)
	}
	return nil
}

// size returns the number of elements of a tensor.
func (t Tensor) size() (int, error) {
	if t.Name == "" || len(t.Name) > maxName || !utf8.ValidString(t.Name) {
		return 0, fmt.Errorf("a name has 1 to %d bytes of UTF-8", maxName)
	}
	if t.Dtype == "" || len(t.Dtype) > maxName || !utf8.ValidString(t.Dtype) {
		return 0, fmt.Errorf("dtype %q: it has 1 to %d bytes of UTF-8", t.Dtype, maxName)
	}
	if len(t.Shape) > maxRank {
		return 0, fmt.Errorf("%d dimensions: at most %d", len(t.Shape), maxRank)
	}
	size := int64(1)
	for _, d := range t.Shape {
		if d < 0 || d > maxElements {
			return 0, fmt.Errorf("dimension %d: want 0 to %d", d, maxElements)
		}
		if size *= int64(d); size > maxElements {
			return 0, fmt.Errorf("shape %v: more than %d elements", t.Shape, maxElements)
		}
	}
	return int(size), nil
}
