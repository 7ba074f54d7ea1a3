package train

import (
	"fmt"
	"slices"

	"gossiptrainer/internal/safetensors"
	"gossiptrainer/model"
)

// A Replica is a model file that is read in pieces, as one vector. It holds no number in memory, and no open file.
type Replica struct {
	source
	layout []model.Param // of the vector
	types  map[string]string
	raw    []byte
	wide   []float64
}

// OpenReplica reads the header of a model file, as Read does. The vector has its tensors in the order of the file.
func OpenReplica(path string) (*Replica, error) {
	s, err := newSource(path)
	if err != nil {
		return nil, fmt.Errorf("train: load model: %w", err)
	}
	r := &Replica{source: s, types: map[string]string{}}
	if r.layout, err = layoutOf(s.header); err != nil {
		return nil, fmt.Errorf("train: load model %s: %w", path, err)
	}
	for _, t := range s.header.Tensors {
		r.types[t.Name] = t.Type
	}
	return r, nil
}

// Layout returns names and shapes of the tensors in the vector.
func (r *Replica) Layout() []model.Param { return r.layout }

// Of returns the same file with a vector of some of its tensors, in their order. The two must not be read at once.
func (r *Replica) Of(layout []model.Param) *Replica {
	of := *r
	of.layout = layout
	return &of
}

// Len returns the length of the vector.
func (r *Replica) Len() int { return lenOf(r.layout, 0) }

// Read fills x with the vector from coordinate first on. It fails if one is not finite, or the file has changed.
func (r *Replica) Read(x []float32, first int) error {
	for _, p := range r.layout {
		from, to := max(0, first-p.Off), min(p.Len(), first+len(x)-p.Off)
		if from >= to {
			continue
		}
		part := x[p.Off+from-first : p.Off+to-first]
		if err := r.tensor(part, p.Name, from); err != nil {
			return fmt.Errorf("train: load model: %w", err)
		}
		if i := slices.IndexFunc(part, notFinite); i >= 0 {
			return fmt.Errorf("train: load model %s: tensor %s: element %d is %v: want finite numbers", r.path, p.Name,
				from+i, part[i])
		}
	}
	return nil
}

// tensor fills x with the elements of a tensor from a number on.
func (r *Replica) tensor(x []float32, name string, from int) error {
	dtype := r.types[name]
	size := safetensors.Size(dtype)
	r.raw = slices.Grow(r.raw[:0], size*len(x))[:size*len(x)]
	r.wide = slices.Grow(r.wide[:0], len(x))[:len(x)]
	if err := r.read(r.raw, name, int64(size*from)); err != nil {
		return err
	}
	safetensors.Decode(r.wide, r.raw, dtype)
	for i, v := range r.wide {
		x[i] = float32(v)
	}
	return nil
}

// ReadReplica is Read, also of a replica in a file of stacked ones.
func ReadReplica(path string) (Saved, error) {
	if _, _, stacked := rowOf(path); !stacked {
		return Read(path)
	}
	r, err := OpenReplica(path)
	if err != nil {
		return Saved{}, err
	}
	s := Saved{Layout: r.Layout(), Metadata: r.header.Metadata, X: make([]float32, r.Len())}
	return s, r.Read(s.X, 0)
}

// ReplicaLayout is ReadReplica without the numbers.
func ReplicaLayout(path string) (Saved, error) {
	if _, _, stacked := rowOf(path); !stacked {
		return ReadLayout(path)
	}
	r, err := OpenReplica(path)
	if err != nil {
		return Saved{}, err
	}
	return Saved{Layout: r.Layout(), Metadata: r.header.Metadata}, nil
}
