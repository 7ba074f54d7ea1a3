package gossip_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// inPieces are runs whose messages have several pieces, of two coordinates each. Lock-step has whole messages.
var inPieces = slices.Concat(fullInPieces, moniquaInPieces())

var fullInPieces = []family{
	{"pieces of full precision on cta", func(g graph, dim, rounds int) setup {
		return g.dpsgd(dim, rounds, algos.CTA, func(int) algos.Codec { return algos.Full{Piece: 2} })
	}},
	{"pieces of full precision on atc", func(g graph, dim, rounds int) setup {
		return g.dpsgd(dim, rounds, algos.ATC, func(int) algos.Codec { return algos.Full{Piece: 2} })
	}},
	{"pieces of full precision, local steps", func(g graph, dim, rounds int) setup {
		s := g.dpsgd(dim, 2*rounds, algos.CTA, func(int) algos.Codec { return algos.Full{Piece: 2} })
		s.every = 2
		return s
	}},
	{"pieces of full precision, d2", func(g graph, dim, rounds int) setup {
		return g.compressing(dim, rounds, func(x []float32, _ topology.Row, _ algos.Compression) gossip.Algorithm {
			return &algos.D2{X: x, Alpha: decreasing, Codec: algos.Full{Piece: 2}}
		})
	}},
}

// moniquaInPieces returns runs with the codec, most of them verified and with a theta that is too small.
func moniquaInPieces() (all []family) {
	for i, levels := range []int{2, 3, 4, 5, 16, 256} {
		order := algos.Order(i % 2)
		codec := moniqua.Codec{Levels: levels, Theta: constantly(0.2), Seed: 1, Piece: 2}
		all = append(all, family{fmt.Sprintf("pieces of %d levels, verified", levels), func(g graph, dim, rounds int) setup {
			return g.verified(dim, rounds, order, codec)
		}}, family{fmt.Sprintf("pieces of %d levels, verified, d2", levels), func(g graph, dim, rounds int) setup {
			return g.verifiedD2(dim, rounds, codec)
		}}, family{fmt.Sprintf("pieces of %d levels", levels), func(g graph, dim, rounds int) setup {
			return g.dpsgd(dim, rounds, 1-order, func(int) algos.Codec {
				c := codec
				c.Theta = constantly(4)
				return &c
			})
		}})
	}
	return append(all, family{"pieces of 4 levels, verified, local steps", func(g graph, dim, rounds int) setup {
		s := g.verified(dim, 3*rounds, algos.CTA, moniqua.Codec{Levels: 4, Theta: constantly(0.1), Seed: 1, Piece: 2})
		s.every = 3
		return s
	}})
}

// A run in pieces counts the wrong messages of one whose messages are whole: each once, however many pieces are wrong.
func TestPiecesCountAsTheirMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
		g, rounds := newGraph(2+choose(3), choose), 1+choose(4)
		var counts [2][]gossip.Repairs
		for i, piece := range []int{0, 2} {
			s := g.verified(7, rounds, algos.CTA, moniqua.Codec{Levels: 16, Theta: constantly(0.3), Seed: 1, Piece: piece})
			d := newNetwork(t, s)
			d.finish()
			for _, w := range d.machines {
				counts[i] = append(counts[i], w.Repairs())
				if parts := w.Slots().Parts(); parts != []int{1, 4}[i] {
					t.Fatalf("%d pieces", parts)
				}
			}
		}
		if !slices.Equal(counts[0], counts[1]) {
			t.Fatalf("repairs %+v, of whole messages %+v", counts[1], counts[0])
		}
	})
}
