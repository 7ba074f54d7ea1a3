package algos

import (
	"gossiptrainer/internal/vec"
	"gossiptrainer/topology"
)

// Asynchronous decentralized parallel SGD: Lian et al., "Asynchronous Decentralized Parallel Stochastic Gradient
// Descent", ICML 2018, algorithm 1. Worker i knows no round of the others. It takes a gradient g at a snapshot of x_i,
// averages with one neighbour j meanwhile, and descends:
//
//	x_i ← x_i + ½ (x̂_j − x̂_i)      x_j ← x_j + ½ (x̂_i − x̂_j)
//	x_i ← x_i − α g
//
// x̂ are the models as the codec recovers them, each as of its encoding. Both ends add exact negatives of each other to
// their present models. So gradient steps in between are kept, and the mean of the models moves only by the gradients.
// With the Moniqua codec this is algorithm 3 of Lu & De Sa, ICML 2020.

// ADPSGD is one worker of AD-PSGD. It keeps no vector besides X; the caller owns the snapshot.
//
// An exchange has a number that no other exchange of the two workers has. The codec uses it as the round: it addresses
// the rounding noise of both ends.
type ADPSGD struct {
	X     []float32 // the model x_i, updated in place
	Alpha StepSize
	Codec func(peer topology.Rank) Codec // of the link to peer, the same at both ends
	// Weight is the share of the way to the other model that an exchange goes: ½ in the paper, γ/2 with slack γ.
	Weight float32

	in [1]Message // the argument of Mix
}

// Descend subtracts α_k·g.
func (a *ADPSGD) Descend(k int, g []float32) { vec.Axpy(a.X, -a.Alpha(k), g) }

// Encode appends the model to dst, encoded for exchange number with peer.
func (a *ADPSGD) Encode(dst []byte, number int, peer topology.Rank) ([]byte, error) {
	return a.Codec(peer).Encode(dst, number, a.X)
}

// Average moves the model by the share Weight of the difference between the other end's model and the own one. The
// own one was encoded at the model at, as mine. On error the model is unchanged. A *MismatchError means that the
// message needs its Repair.
func (a *ADPSGD) Average(number int, at []float32, mine []byte, theirs Message) (Mixed, error) {
	theirs.Weight = a.Weight
	a.in[0] = theirs
	mixed, err := a.Codec(theirs.From).Mix(a.X, number, at, mine, a.in[:])
	a.in[0] = Message{}
	return mixed, err
}
