package build

import (
	"maps"
	"math"
	"slices"
	"testing"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/wire/still"
	"gossiptrainer/model"
	"gossiptrainer/topology"
)

// table is how many exact elements never change in these tests.
const table = 400

// rounding are the algorithms whose mean of equal numbers is another number in its last bits.
var rounding = []string{"choco", "deepsqueeze", "ecd", "naive"}

// A table that no worker changes keeps its bits, and messages leave it out. Algorithms that round keep it almost.
func TestWhatDoesNotChangeIsLeftOut(t *testing.T) {
	runs := map[string]string{"ad-psgd": "{name: adpsgd, bits: 32}", "ad-psgd 8": "{name: adpsgd, bits: 8}"}
	for name, c := range coarse {
		runs[name] = c.set
	}
	for name, c := range inFull {
		runs[name] = c.set
	}
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		t.Run(name, func(t *testing.T) {
			r := withTable(t, fewBits(t, runs[name]))
			start := append(begin(), make([]float32, table)...)
			for c := range start[trained+exact:] {
				start[trained+exact+c] = float32(c%7) / 3
			}
			all := make([]*Worker, r.N())
			plain, sent := 0, 0
			for i := range all {
				p := &local{optimizer: "sgd", rank: i}
				all[i] = tabled(t, r, topology.Rank(i), start, p)
				w := all[i]
				begun := still.New(w.Coding.Still)
				w.Machine = &watched{Machine: w.Machine, see: func(f gossip.Frame) {
					if f.Kind != gossip.Data || len(f.Payload) <= gossip.CensusBytes(r.N()) {
						return // without a model
					}
					coded, shorter := begun.Encode(nil, f.Payload, w.Coding.Span(f))
					if plain, sent = plain+len(f.Payload), sent+len(coded); !shorter {
						sent += len(f.Payload)
					}
				}}
			}
			most := 0.
			for _, m := range drive(t, r, all, 1).Models.(score.InMemory) {
				for c, v := range m.X[trained+exact:] {
					most = max(most, math.Abs(float64(v-start[trained+exact+c])))
				}
			}
			if slices.Contains(rounding, r.Config().Algorithm.Name) {
				if most > 1e-4 {
					t.Errorf("the table has moved by %g", most)
				}
				return
			}
			if most > 0 || plain == 0 || sent > plain/4 {
				t.Errorf("the table has moved by %g, and messages of %d bytes take %d", most, plain, sent)
			}
		})
	}
}

// tabled builds a worker whose program never changes the table.
func tabled(t *testing.T, r *experiment.Run, rank topology.Rank, start []float32, p *local) *Worker {
	t.Helper()
	program := experiment.Program{Start: slices.Clone(start), Exact: start[trained:]}
	program.Gradient = func(g []float32, k int, x []float32) (float32, error) {
		clear(g)
		return p.gradient(g[:trained+exact], k, x[:trained+exact])
	}
	w, err := New(r.Programmed(program), rank, nil)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// withTable returns the run of a model with a table behind its statistics.
func withTable(t *testing.T, r *experiment.Run) *experiment.Run {
	t.Helper()
	cfg := r.Config()
	o := *cfg.Model.Outline
	o.Params = append(slices.Clone(o.Params), model.Param{Name: "table", Off: trained + exact, Shape: []int{table}})
	o.Exact += table
	cfg.Model.Outline = &o
	longer, err := experiment.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return longer
}
