package algos

import (
	"fmt"
	"strconv"

	"gossiptrainer/internal/state"
	"gossiptrainer/topology"
)

// A Compressor is the C(·) of the algorithms that send something else than a
// model, or a model without a reference to recover it from. It belongs to one
// worker: what that one compressed, its neighbours decode with a Compressor
// that was made like it. k is the round.
type Compressor interface {
	// Compress appends the payload of z to dst. It fails, with dst as it was,
	// on NaN and Inf.
	Compress(dst []byte, k int, z []float32) ([]byte, error)
	// Check says what is wrong with the payload of d coordinates, if anything.
	Check(d int, payload []byte) error
	// Bound returns a magnitude that no coordinate of C(z) exceeds, of a payload
	// of d coordinates with which Check finds no fault.
	Bound(d int, payload []byte) float32
	// AddTo computes acc ← acc + w·C(z), with the C(z) that its sender has too,
	// bit for bit. It fails, with acc as it was, on a payload with which Check
	// finds fault.
	AddTo(acc []float32, w float32, k int, payload []byte) error
}

// A Compression holds the compressors that one worker needs.
type Compression struct {
	Own Compressor
	In  []Compressor // of the neighbours, in increasing rank as in Row.In
}

// send appends C(z) and returns which part of the result it is.
func (c Compression) send(dst []byte, k int, z []float32) (out, mine []byte, err error) {
	start := len(dst)
	out, err = c.Own.Compress(dst, k, z)
	return out, out[start:], err
}

// check makes sure, before anything changes, that all messages of a round of d
// coordinates can be decoded and believed. What it returns says how large they are.
func (c Compression) check(k, d int, in []Message) (saw Mixed, err error) {
	if len(in) != len(c.In) {
		return saw, fmt.Errorf("internal error: round %d: %d messages for %d compressors", k, len(in), len(c.In))
	}
	for j, m := range in {
		if err := c.In[j].Check(d, m.Payload); err != nil {
			return Mixed{}, &MessageError{m.From, fmt.Errorf("round %d: %w", k, err)}
		}
		largest := c.In[j].Bound(d, m.Payload)
		if err := m.Believe(largest); err != nil {
			return Mixed{}, fmt.Errorf("round %d: %w", k, err)
		}
		saw.Largest = max(saw.Largest, largest)
	}
	return saw, nil
}

// addAll adds Σ_j a·W_ij·C_j to acc.
func (c Compression) addAll(acc []float32, a float32, k int, in []Message) error {
	for j, m := range in {
		if err := c.In[j].AddTo(acc, a*m.Weight, k, m.Payload); err != nil {
			return err
		}
	}
	return nil
}

// weights returns Σ_j W_ij = 1 − W_ii over the messages of all neighbours.
func weights(in []Message) float32 {
	sum := float32(0)
	for _, m := range in {
		sum += m.Weight
	}
	return sum
}

// replicas returns a copy of x for each neighbour.
func replicas(x []float32, row topology.Row) [][]float32 {
	all := make([][]float32, len(row.In))
	for j := range all {
		all[j] = append([]float32(nil), x...)
	}
	return all
}

// floatBytes is the size of a coordinate in memory.
const floatBytes = 4

// State shows the table of the own compressor, if it has one. Those of the
// neighbours need none: they decode by what a payload says.
func (c Compression) State(v *state.Visit) { v.Part("compressor", c.Own) }

// visitVectors visits n vectors of d coordinates that are there once a run has begun.
func visitVectors(v *state.Visit, name string, all *[][]float32, n, d int) {
	begun := *all != nil
	v.Bool(name+"s", &begun)
	if v.Loading() && begun {
		*all = make([][]float32, n)
		for j := range *all {
			(*all)[j] = make([]float32, d)
		}
	}
	for j, x := range *all {
		v.Floats(name+strconv.Itoa(j), x)
	}
}
