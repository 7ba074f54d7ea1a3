// Package witness has what tests see: a page with the text of several writers, and an update rule that remembers its
// messages and weights. Property tests check with the rule that the mixing matrix of every round is doubly stochastic,
// and that the mean of the models does not drift.
package witness

import (
	"slices"

	"gossiptrainer/algos"
	"gossiptrainer/topology"
)

// A Witness is D-PSGD without gradient steps. It notes the models that it sent and the weights that it mixed with.
type Witness struct {
	*algos.DPSGD
	Mixed map[int]map[topology.Rank]float32 // weights by neighbour, by round
	Sent  map[int][]float32                 // models, by round
}

// New returns the witness of a worker whose model is x.
func New(x []float32, codec algos.Codec) *Witness {
	return &Witness{
		DPSGD: &algos.DPSGD{X: x, Alpha: func(int) float32 { return 0 }, Codec: codec},
		Mixed: make(map[int]map[topology.Rank]float32), Sent: make(map[int][]float32),
	}
}

// Send notes the model of round k.
func (w *Witness) Send(k, hop int, dst []byte) ([]byte, error) {
	w.Sent[k] = slices.Clone(w.X)
	return w.DPSGD.Send(k, hop, dst)
}

// Mix notes the neighbours of round k.
func (w *Witness) Mix(k, hop int, in []algos.Message) (algos.Mixed, error) {
	mixed, err := w.DPSGD.Mix(k, hop, in)
	w.note(k, in, err)
	return mixed, err
}

// SendPiece notes the model of round k before its first piece.
func (w *Witness) SendPiece(k, piece int, dst []byte) ([]byte, error) {
	if piece == 0 {
		w.Sent[k] = slices.Clone(w.X)
	}
	return w.DPSGD.SendPiece(k, piece, dst)
}

// MixPiece notes the neighbours of round k.
func (w *Witness) MixPiece(k, piece int, in []algos.Message) (algos.Mixed, error) {
	mixed, err := w.DPSGD.MixPiece(k, piece, in)
	w.note(k, in, err)
	return mixed, err
}

// note enters the neighbours of round k, which are those of all its pieces.
func (w *Witness) note(k int, in []algos.Message, err error) {
	if err != nil {
		return
	}
	w.Mixed[k] = make(map[topology.Rank]float32)
	for _, m := range in {
		w.Mixed[k][m.From] = m.Weight
	}
}
