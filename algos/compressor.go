package algos

import (
	"fmt"
	"strconv"

	"gossiptrainer/gossip/state"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// A Compression holds the compressors that one worker needs: its own, and one per neighbour.
// Neighbours decode a worker's payload with a compressor made like the sender's.
type Compression struct {
	Own quant.Compressor
	In  []quant.Compressor // of the neighbours, in increasing rank as in Row.In
	// Of returns the compressor of a neighbour where the neighbours change from exchange to exchange; nil: In has them.
	Of func(topology.Rank) quant.Compressor
}

// of returns the compressor of message j.
func (c Compression) of(j int, m Message) quant.Compressor {
	if c.Of != nil {
		return c.Of(m.From)
	}
	return c.In[j]
}

// send appends C(z) and also returns the appended part alone.
func (c Compression) send(dst []byte, k int, z []float32) (out, mine []byte, err error) {
	start := len(dst)
	out, err = c.Own.Compress(dst, k, z)
	return out, out[start:], err
}

// check makes sure, before any change, that all messages of a round of d coordinates can be decoded and are within
// their limits. It returns their largest magnitude.
func (c Compression) check(k, d int, in []Message) (saw Mixed, err error) {
	if c.Of == nil && len(in) != len(c.In) {
		return saw, fmt.Errorf("internal error: round %d: %d messages for %d compressors", k, len(in), len(c.In))
	}
	for j, m := range in {
		of := c.of(j, m)
		if err := of.Check(d, m.Payload); err != nil {
			return Mixed{}, &MessageError{m.From, fmt.Errorf("round %d: %w", k, err)}
		}
		largest := of.Bound(d, m.Payload)
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
		if err := c.of(j, m).AddTo(acc, a*m.Weight, k, m.Payload); err != nil {
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

// State shows the table of this worker's compressor, if it has one. The compressors of the neighbours have no state:
// their payloads contain all that decoding needs.
func (c Compression) State(v *state.Visit) { v.Part("compressor", c.Own) }

// visitVectors visits n vectors of d coordinates, which exist once a run has begun.
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
