package algos

import (
	"errors"
	"math"
	"slices"

	"gossiptrainer/internal/vec"
)

// Clipped mixing: He, Karimireddy and Jaggi, "Byzantine-Robust Decentralized Learning via ClippedGossip", 2022,
// algorithm 1,
//
//	x_i ← x_i + Σ_j W_ij·clip(x̂_j − x̂_i, τ_i),  clip(z, τ) = z·min(1, τ/|z|_2).
//
// A message of any content moves a worker by W_ij·τ_i at most. The paper's τ_i depends on the distances of the honest
// neighbours, which the worker cannot know. Here f neighbours may lie: the f farthest ones are suspected, and τ_i is
// the distance of the farthest of the others. So τ_i never exceeds the distance of the farthest honest neighbour.
//
// A codec that wraps and does not verify recovers a lie as some model within θ of the receiver's own. The pull of the
// lie is noise, the same in each round, and the model follows it a radius at a time. Mixing then leaves out values
// farther than Wild radii. It keeps them in other codecs: there the pull of a lie is at most its radius. Honest models
// may be as far apart where the workers' data differ.
//
// Both ends of an edge clip to radii of their own, so the mean of the models is not conserved. Without clipped values
// the result is that of plain mixing.

// Wild is the distance in radii from which an unverified model is left out.
const Wild = 8

// A Clip is the radius of clipped mixing, and its working memory.
type Clip struct {
	Radius float64 // τ > 0 for all; 0: Liars sets it
	Liars  int     // f ≥ 1, less than the number of neighbours

	pull      []float32 // x̂_j − x̂_i
	distances []float64 // its length by message
	sorted    []float64
	scaled    []Message // with weights W_ij·min(1, τ/|x̂_j − x̂_i|)
	wrong     MismatchError
	wild      bool // mixing leaves out values farther than Wild radii
}

// A Verifier is a codec that can detect messages that it recovered wrongly.
type Verifier interface {
	// Verifies reports whether the codec detects wrong messages in this run.
	Verifies() bool
}

// mix is codec.Mix with clipping: it mixes in into x, the model that mine encodes. On error x is unchanged.
func (c *Clip) mix(codec Codec, k int, x []float32, mine []byte, in []Message) (Mixed, error) {
	c.scaled, c.distances = append(c.scaled[:0], in...), c.distances[:0]
	if c.pull == nil { // the first call
		c.pull = make([]float32, len(x))
		v, ok := codec.(Verifier)
		c.wild = ok && !v.Verifies() && c.Radius == 0
	}
	if err := c.measure(codec, k, x, mine); err != nil {
		return Mixed{}, err
	}
	radius := c.radius()
	farthest := math.Inf(1)
	if c.wild {
		farthest = Wild * radius
	}
	for j, d := range c.distances {
		c.scaled[j].Weight = in[j].Weight
		switch {
		case d > farthest:
			c.scaled[j].Weight = 0
		case d > radius:
			c.scaled[j].Weight = float32(float64(in[j].Weight) * (radius / d))
		}
	}
	return codec.Mix(x, k, x, mine, c.scaled)
}

// measure finds the distances of all messages. It returns one *MismatchError for all messages that need their repair.
func (c *Clip) measure(codec Codec, k int, x []float32, mine []byte) error {
	c.wrong.From = c.wrong.From[:0]
	for j := range c.scaled {
		clear(c.pull)
		c.scaled[j].Weight = 1
		_, err := codec.Mix(c.pull, k, x, mine, c.scaled[j:j+1])
		if wrong, ok := errors.AsType[*MismatchError](err); ok {
			c.wrong.From = append(c.wrong.From, wrong.From...)
			continue
		}
		if err != nil {
			return err
		}
		c.distances = append(c.distances, math.Sqrt(vec.Dot(c.pull, c.pull)))
	}
	if len(c.wrong.From) > 0 {
		return &c.wrong
	}
	return nil
}

// radius returns τ_i for the measured distances.
func (c *Clip) radius() float64 {
	if c.Radius > 0 {
		return c.Radius
	}
	c.sorted = append(c.sorted[:0], c.distances...)
	slices.Sort(c.sorted)
	if n := len(c.sorted) - c.Liars; n > 0 {
		return c.sorted[n-1]
	}
	return 0 // no neighbour can be trusted
}
