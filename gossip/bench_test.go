package gossip_test

import (
	"fmt"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/machine"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// A round of two workers with the parameters of a ResNet-50, in pieces and with whole messages, without links.
func BenchmarkRound(b *testing.B) {
	const dim = 25_500_000
	for _, bits := range []int{1, 8, 32} {
		for _, cut := range []struct {
			name  string
			piece int
			cores int
		}{{"whole", dim, 1}, {"pieces", 0, 1}, {"pieces, two cores", 0, 2}} {
			b.Run(fmt.Sprintf("%d bits, %s", bits, cut.name), func(b *testing.B) {
				var workers [2]*gossip.Worker
				for i, row := range (graph{{1: true}, {0: true}}).rows() {
					var codec algos.Codec = algos.Full{Piece: cut.piece}
					if bits < 32 {
						codec = &moniqua.Codec{Levels: 1 << bits, Theta: constantly(1), Seed: 1, Verify: true, Piece: cut.piece}
					}
					rule := &algos.DPSGD{X: make([]float32, dim), Alpha: func(int) float32 { return 0 }, Codec: codec}
					w, err := gossip.New(topology.Rank(i), row, rule, 1<<30)
					if err != nil {
						b.Fatal(err)
					}
					if cut.cores > 1 {
						w.Use(func(parts int, work func(part int)) {
							machine.Do(cut.cores, parts, func(_, part int) { work(part) })
						})
					}
					workers[i] = w
				}
				g := make([]float32, dim)
				b.SetBytes(4 * dim)
				for b.Loop() {
					for busy := true; busy; {
						busy = false
						for _, w := range workers {
							r := w.Ready()
							busy = busy || r.More || len(r.Send) > 0
							for _, f := range r.Send {
								if err := workers[f.To].Receive(f); err != nil {
									b.Fatal(err)
								}
							}
						}
					}
					for _, w := range workers {
						if err := w.Gradient(g, 0, 0); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}
