package algos

import (
	"errors"
	"math"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/vec"
)

// GT is one worker of gradient tracking: Pu and Nedić, "Distributed Stochastic Gradient Tracking Methods",
// Mathematical Programming 2021, in update form. The correction c approaches the difference between the mean direction
// of all workers and the worker's own direction p. So the models reach the optimum of the mean objective, however much
// the workers' data differ:
//
//	y = p + c,  z = x_k − α_k y,  x_{k+1,i} = z_i + Σ_j W_ij (ẑ_j − ẑ_i),  c ← c + Σ_j W_ij (ŷ_j − ŷ_i)
//
// from c = 0. The sum of c over all workers stays 0. Where p has momentum this is Momentum Tracking (Takezawa et al.,
// TMLR 2023), with the model mixed after the step. The correction has the unit of a direction, so that a step size may
// change from round to round.
//
// With H local steps between two exchanges it is K-GT (Liu et al., "Decentralized Gradient Tracking with Local Steps",
// 2023). Each step of a period goes along q = p + c, and
//
//	Z = Σ α_k q,  A = Σ α_k,  y = Z/A,  z = x_0 − η Z.
//
// Workers send two vectors in one exchange: z in lane 0 and y in lane 1, each by a codec of its own. Both lanes mix
// with the same row of W.
type GT struct {
	X     []float32 // the model x_{k,i}, z while a round mixes; updated in place
	Alpha StepSize
	Lanes []Codec // of z and of y; Piecers with the same pieces
	Eta   float32 // η in (0, 1]

	c     []float32
	sum   []float32 // Z of the period so far; nil without local steps
	steps float64   // A of the period so far
	y     []float32 // in the memory of the gradient, while a round mixes

	parcels [2]parcel
}

// Plan describes one exchange per round. Its messages need the gradient.
func (a *GT) Plan() Plan { return Plan{Hops: 1, Lead: 1} }

// Params returns x_{k,i}.
func (a *GT) Params() []float32 { return a.X }

// Descend turns x into z and g into y.
func (a *GT) Descend(k int, g []float32) error {
	a.correct(g)
	a.y = g
	alpha := a.Alpha(k)
	if a.steps == 0 { // y is q itself, and needs no division
		vec.Axpy(a.X, -float32(a.Eta*alpha), g)
		return nil
	}
	a.advance(alpha, g)
	if a.Eta != 1 {
		vec.Axpy(a.X, 1-a.Eta, a.sum)
	}
	vec.Scale(g, float32(1/a.steps), a.sum)
	clear(a.sum)
	a.steps = 0
	return nil
}

// Local subtracts α_k·q.
func (a *GT) Local(k int, g []float32) error {
	if a.sum == nil {
		a.sum = make([]float32, len(a.X))
	}
	a.correct(g)
	a.advance(a.Alpha(k), g)
	return nil
}

// correct turns a direction p into q.
func (a *GT) correct(p []float32) {
	if a.c == nil {
		a.c = make([]float32, len(a.X))
	}
	vec.Add(p, p, a.c)
}

// advance takes the step of one round along q.
func (a *GT) advance(alpha float32, q []float32) {
	vec.Axpy(a.X, -alpha, q)
	vec.Axpy(a.sum, alpha, q)
	a.steps += float64(alpha)
}

// Carries returns the codecs of both lanes.
func (a *GT) Carries() []Codec { return a.Lanes }

// errLanes is the error of calls for messages without lanes.
var errLanes = errors.New("gt: its two lanes travel in pieces: no message is whole")

// Send fails, because every message has pieces.
func (a *GT) Send(_, _ int, dst []byte) ([]byte, error) { return dst, errLanes }

// Mix fails, because every message has pieces.
func (a *GT) Mix(int, int, []Message) (Mixed, error) { return Mixed{}, errLanes }

// Pieces returns the number of pieces of a message, half of them for each lane. It returns 0, which no machine accepts,
// if the lanes have no pieces or different ones.
func (a *GT) Pieces() int {
	if len(a.Lanes) != len(a.parcels) {
		return 0
	}
	pieces := 0
	for i, codec := range a.Lanes {
		n := a.parcels[i].by(codec, len(a.X))
		if a.parcels[i].codec == nil || i > 0 && n != pieces/i {
			return 0
		}
		pieces += n
	}
	return pieces
}

// at returns the lane of a piece, its number there, and the vector that travels.
func (a *GT) at(piece int) (lane *parcel, number int, x []float32) {
	if each := len(a.parcels[0].mine); piece >= each {
		return &a.parcels[1], piece - each, a.y
	}
	return &a.parcels[0], piece, a.X
}

// SendPiece appends a piece of z or y.
func (a *GT) SendPiece(k, piece int, dst []byte) ([]byte, error) {
	lane, number, x := a.at(piece)
	return lane.send(k, number, x, dst)
}

// CheckPiece verifies a piece of the messages.
func (a *GT) CheckPiece(k, piece int, in []Message) error {
	lane, number, x := a.at(piece)
	return lane.codec.CheckPiece(k, number, x, in)
}

// MixPiece moves a piece of z towards the neighbours' z, or a piece of c by the differences of y.
func (a *GT) MixPiece(k, piece int, in []Message) (Mixed, error) {
	lane, number, x := a.at(piece)
	acc := x
	if lane == &a.parcels[1] {
		acc = a.c
	}
	return lane.mix(acc, k, number, x, in)
}

// ExtraMemory returns the bytes of c and Z.
func (a *GT) ExtraMemory() int { return floatBytes * (len(a.c) + len(a.sum)) }

// State shows c, Z and A.
func (a *GT) State(v *state.Visit) {
	v.Vector("c", &a.c, len(a.X))
	v.Vector("sum", &a.sum, len(a.X))
	v.Double("steps", &a.steps)
	if v.Loading() && !(a.steps >= 0 && a.steps <= math.MaxFloat32 && (a.steps == 0 || a.sum != nil)) {
		v.Fail("steps", errors.New("local steps, but no sum of them"))
	}
}

// Restart sets c to 0. The sum of c over all members of a view never changes, because columns of W sum to 1. It must be
// 0 for the mean of the models to move by the gradients alone.
func (a *GT) Restart(Origin) { a.c, a.sum, a.steps = nil, nil, 0 }
