// Package state copies the variables that a worker carries from one round to the next, and
// restores them in a new worker. A type names its variables in one method:
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
	"io"
	"slices"
	"strings"
)

// A Snapshot is the state of one worker at one moment. It owns its memory, and the next Save reuses it: a Save of the
// same form allocates nothing.
type Snapshot struct {
	Tensors []Tensor // by unique names
	saving  Visit    // reused like the tensors
	shares  bool
}

// A Tensor is one named part of a state.
type Tensor struct {
	Name string // a path, like machine/algorithm/h
	Type string // F32, F64, I64, U32 or U8, as in the safetensors format
	Data []byte // little-endian
	// Stored has the data of a vector of floats that is too large for a copy in memory; nil: Data has them.
	Stored *io.SectionReader
}

// len returns the number of bytes.
func (t *Tensor) len() int {
	if t.Stored != nil {
		return int(t.Stored.Size())
	}
	return len(t.Data)
}

// A Keeper carries variables from round to round. Constants, and values that follow from the variables, are not part of
// its state.
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

// Share returns an empty snapshot whose vectors share their memory with the keepers that are saved. It is valid until
// a keeper changes. A large state goes to disk from there without a copy.
func Share() *Snapshot { return &Snapshot{shares: true} }

// Bytes returns the length of all tensors.
func (s *Snapshot) Bytes() int64 {
	sum := int64(0)
	for i := range s.Tensors {
		sum += int64(s.Tensors[i].len())
	}
	return sum
}

// Begin empties the snapshot and keeps its memory.
func (s *Snapshot) Begin() { s.Tensors = s.Tensors[:0] }

// Save appends the state of k below the given name.
func (s *Snapshot) Save(name string, k Keeper) {
	v := &s.saving
	*v = Visit{snapshot: s, path: append(v.path[:0], name...)}
	k.State(v)
}

// Load replaces the state of k with the state that Save took from a similar Keeper. It fails if a tensor is missing,
// has another size, or holds invalid values. After an error k must not be used.
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
		return &Error{unused, errors.New("this worker has no such tensor")}
	}
	return nil
}

// Has reports whether s holds the state of a Keeper by a name.
func (s *Snapshot) Has(name string) bool {
	return slices.ContainsFunc(s.Tensors, func(t Tensor) bool { return strings.HasPrefix(t.Name, name+"/") })
}

// Below returns the tensors whose names begin with a prefix, without it, in memory.
func (s *Snapshot) Below(prefix string) (*Snapshot, error) {
	own := new(Snapshot)
	for _, t := range s.Tensors {
		name, ok := strings.CutPrefix(t.Name, prefix)
		if !ok {
			continue
		}
		if t.Stored != nil {
			t.Data = make([]byte, t.Stored.Size())
			if _, err := t.Stored.ReadAt(t.Data, 0); err != nil {
				return nil, &Error{t.Name, err}
			}
		}
		t.Name, t.Stored = name, nil
		own.Tensors = append(own.Tensors, t)
	}
	return own, nil
}

// CopyTo copies s, which is in memory, to other, whose memory it reuses.
func (s *Snapshot) CopyTo(other *Snapshot) {
	other.Begin()
	for _, t := range s.Tensors {
		data := other.next(t.Type)
		data.Name = t.Name
		data.Data = append(data.Data, t.Data...)
	}
}

// next appends an empty tensor, with the memory and the name of the tensor that was there before.
func (s *Snapshot) next(kind string) *Tensor {
	n := len(s.Tensors)
	s.Tensors = slices.Grow(s.Tensors, 1)[:n+1]
	t := &s.Tensors[n]
	t.Type, t.Data, t.Stored = kind, t.Data[:0], nil
	if s.shares {
		t.Data = nil // it may be a keeper's
	}
	return t
}
