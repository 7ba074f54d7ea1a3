package algos

import (
	"gossiptrainer/internal/vec"
	"gossiptrainer/topology"
)

// Asynchronous decentralized parallel SGD: Lian et al., "Asynchronous
// Decentralized Parallel Stochastic Gradient Descent", ICML 2018, algorithm 1.
// Worker i, which knows no round of the others, takes a gradient g at a
// snapshot of x_i, averages with one neighbour j meanwhile, and descends:
//
//	x_i ← x_i + ½ (x̂_j − x̂_i)      x_j ← x_j + ½ (x̂_i − x̂_j)
//	x_i ← x_i − α g
//
// x̂ are the models as the codec carries them, each as it was when it was
// encoded. Both ends add exact negatives of each other to what their models
// are by then: gradient steps that come in between are kept, and the mean of
// the models moves by the gradients alone. With the Moniqua codec this is
// algorithm 3 of Lu & De Sa, ICML 2020.

// ADPSGD is one worker of AD-PSGD. It keeps no vector besides X; the snapshot
// belongs to who decides when to exchange.
//
// An exchange has a number that no other exchange of the two workers has. The
// codec takes it for the round: it addresses the rounding noise of both ends.
type ADPSGD struct {
	X     []float32 // the model x_i, updated in place
	Alpha StepSize
	Codec func(peer topology.Rank) Codec // of the link to peer, the same at both ends
	// Weight is how much of the way to the other model an exchange goes: ½ in
	// the paper, γ/2 with slack γ.
	Weight float32

	in [1]Message // the argument of Mix
}

// Descend subtracts α_k·g.
func (a *ADPSGD) Descend(k int, g []float32) { vec.Axpy(a.X, -a.Alpha(k), g) }

// Offer appends the model, as exchange number offers it to peer, to dst.
func (a *ADPSGD) Offer(dst []byte, number int, peer topology.Rank) ([]byte, error) {
	return a.Codec(peer).Encode(dst, number, a.X)
}

// Answer appends the model as it is to dst, for the worker that has made the
// offer, and moves it towards the one offered. On error the model is
// unchanged; if that is a *MismatchError, the offer wants its Repair and may
// then be answered anew, with the model as it is by then.
func (a *ADPSGD) Answer(dst []byte, number int, offer Message) ([]byte, Mixed, error) {
	start := len(dst)
	dst, err := a.Codec(offer.From).Encode(dst, number, a.X)
	if err != nil {
		return dst, Mixed{}, err
	}
	mixed, err := a.move(number, a.X, dst[start:], offer)
	return dst, mixed, err
}

// Settle moves the model in the direction from what was offered to the answer:
// at is the model that was offered, mine its payload. On error the model is
// unchanged; if that is a *MismatchError, the answer wants its Repair.
func (a *ADPSGD) Settle(number int, at []float32, mine []byte, answer Message) (Mixed, error) {
	return a.move(number, at, mine, answer)
}

func (a *ADPSGD) move(number int, at []float32, mine []byte, theirs Message) (Mixed, error) {
	theirs.Weight = a.Weight
	a.in[0] = theirs
	mixed, err := a.Codec(theirs.From).Mix(a.X, number, at, mine, a.in[:])
	a.in[0] = Message{}
	return mixed, err
}
