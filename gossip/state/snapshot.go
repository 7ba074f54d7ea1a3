// Package state copies what a worker carries from one round to the next, and gives it to a
// worker that begins there. A type that carries something names it in one method:
//
//	func (m *momentum) State(v *state.Visit) {
//		v.Floats("v", m.v)
//		state.Int(v, "steps", &m.steps, 0, 1<<30)
//	}
//
//	var s state.Snapshot
//	s.Save("momentum", old)
//	err := s.Load("momentum", again)
//
// Load checks sizes and ranges, and refuses NaN and Inf. The package writes no files and knows
// no algorithm.
package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Snapshot is the state of one worker at one moment. It has memory of its own,
// which the next Save uses again: one of the same form allocates nothing.
type Snapshot struct {
	Tensors []Tensor // by their names, which differ
	saving  Visit    // its memory is used again, too
}

// A Tensor is one named part of a state.
type Tensor struct {
	Name string // a path, like machine/algorithm/h
	Type string // F32, F64, I64, U32 or U8, as in the safetensors format
	Data []byte // little-endian
}

// A Keeper carries something from round to round. What never changes and what
// follows from the rest is not part of it.
type Keeper interface {
	// State shows every such variable to v, always in the same order.
	State(v *Visit)
}

// An Error says which part of a state a worker cannot take over, and why.
type Error struct {
	Name string
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("state: %s: %v", e.Name, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// Begin makes the snapshot empty; its memory is kept.
func (s *Snapshot) Begin() { s.Tensors = s.Tensors[:0] }

// Save appends what k carries, below a name of its own.
func (s *Snapshot) Save(name string, k Keeper) {
	v := &s.saving
	*v = Visit{snapshot: s, path: append(v.path[:0], name...)}
	k.State(v)
}

// Load gives k what Save took from one like it. It fails if something is
// missing, of another size or not such as k could carry; k is then of no use.
func (s *Snapshot) Load(name string, k Keeper) error {
	v := Visit{snapshot: s, path: []byte(name), loading: true, at: make(map[string]int)}
	for i, t := range s.Tensors {
		if strings.HasPrefix(t.Name, name+"/") {
			v.at[t.Name] = i
		}
	}
	k.State(&v)
	if v.err != nil {
		return v.err
	}
	for unused := range v.at {
		return &Error{unused, errors.New("nothing here carries it")}
	}
	return nil
}

// CopyTo makes other equal to s, in the memory that other has.
func (s *Snapshot) CopyTo(other *Snapshot) {
	other.Begin()
	for _, t := range s.Tensors {
		data := other.next(t.Type)
		data.Name = t.Name
		data.Data = append(data.Data, t.Data...)
	}
}

// next appends an empty tensor, with the memory and the name of the one that was there.
func (s *Snapshot) next(kind string) *Tensor {
	n := len(s.Tensors)
	s.Tensors = slices.Grow(s.Tensors, 1)[:n+1]
	t := &s.Tensors[n]
	t.Type, t.Data = kind, t.Data[:0]
	return t
}
