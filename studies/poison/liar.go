package main

import (
	"fmt"
	"slices"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/moniqua"
)

// A liar is a worker that trains like the others but sends −x to its neighbours wherever it should send x. With
// Moniqua, its symbols, hash and repairs all fit −x.
type liar struct {
	*gossip.Worker
	codec algos.Codec
	flip  []float32
	lie   []byte // payload of a piece of −x in round told
	told  int
	piece int
	err   error
}

func newLiar(w *gossip.Worker) (*liar, error) {
	l := &liar{Worker: w, told: -1}
	switch c := w.Codec(0).(type) {
	case algos.Full:
		l.codec = c
	case *moniqua.Codec:
		l.codec = &moniqua.Codec{Levels: c.Levels, Rounding: c.Rounding, Theta: c.Theta, Seed: c.Seed, Rank: c.Rank,
			Verify: c.Verify, Bits: c.Bits}
	default:
		return nil, fmt.Errorf("no lies in a %T", c)
	}
	return l, nil
}

// Ready replaces the payloads of x by those of −x. They depend only on the model of the round, which is the machine's
// present model, because the exchange comes before the gradient step.
func (l *liar) Ready() gossip.Ready {
	r := l.Worker.Ready()
	r.Send = slices.Clone(r.Send)
	for i := range r.Send {
		switch f := &r.Send[i]; f.Kind {
		case gossip.Data:
			f.Payload = l.tell(f.Round, f.Piece)
		case gossip.Repair:
			f.Payload, _ = l.codec.(gossip.Verifier).AppendRepair(nil, f.Round, f.Piece, nil)
		}
	}
	return r
}

// tell returns the payload of a piece of −x in round k, the same for all receivers.
func (l *liar) tell(k, piece int) []byte {
	if l.told == k && l.piece == piece || l.err != nil {
		return l.lie
	}
	if l.told != k {
		l.flip = l.flip[:0]
		for _, v := range l.Params() {
			l.flip = append(l.flip, -v)
		}
	}
	l.told, l.piece = k, piece
	if c, ok := l.codec.(algos.Piecer); ok && l.Slots().Parts() > 1 {
		l.lie, l.err = c.EncodePiece(nil, k, piece, l.flip)
	} else {
		l.lie, l.err = l.codec.Encode(nil, k, l.flip)
	}
	return l.lie
}
