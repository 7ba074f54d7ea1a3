package model

import (
	"slices"
	"testing"

	"gossiptrainer/internal/kernel"
)

// Each quad is computed once, in order, by parts of whole tiles, and nothing beyond the tensors is fetched.
func TestPartsCoverAllQuads(t *testing.T) {
	a, b := newTensor(3, dims{h: 2, w: 2, c: 4}), newTensor(3, dims{h: 1, w: 2, c: 4, border: 1})
	for _, s := range []span{{}, {[]*tensor{a}, 1, 3}, {[]*tensor{a, b}, 2, 4}, {[]*tensor{a, b, b}, 3, 6}} {
		for n := range 40 {
			quads, fetched := make([]kernel.Quad, n), 0
			for i := range quads {
				quads[i].In = i
			}
			var done []kernel.Quad
			s.during(quads, func(part []kernel.Quad, fetch []float32) {
				if len(done)%kernel.FullQuads != 0 {
					t.Errorf("%d quads: a part begins at quad %d, inside a tile", n, len(done))
				}
				done = append(done, part...)
				fetched += len(fetch)
			})
			if !slices.Equal(done, quads) {
				t.Errorf("%d quads, %d tensors: parts of %v", n, len(s.tensors), done)
			}
			want := 0
			for _, of := range s.tensors {
				want += max(0, min(3, s.end)-s.first) * of.size()
			}
			if n >= kernel.FullQuads*max(1, len(s.tensors)) && fetched != want {
				t.Errorf("%d quads, %d tensors: %d floats fetched, want %d", n, len(s.tensors), fetched, want)
			}
		}
	}
}
