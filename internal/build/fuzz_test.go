package build

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/vec"
)

// A changed state is refused, or a worker goes on from it; it never panics. A checkpoint with its hash lets no such
// state through. The seeds break every tensor of every algorithm once.
func FuzzResume(f *testing.F) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(memories)),
		func(name string) bool { return strings.Contains(name, "normalization") })
	runs, saved := make([]*experiment.Run, len(names)), make([]state.Snapshot, len(names))
	for i, name := range names {
		base := []string{"topology.size=4", "train.rounds=14", "model.name=quadratic", "model.dim=40"}
		runs[i] = remembering(f, memories[name], append(base, bucketsOf(16)...))
		all := workers(f, runs[i])
		all[0].Machine.AtBoundary(func(k int) {
			if k == 7 {
				all[0].Save(&saved[i])
			}
		})
		drive(f, runs[i], all, 1)
		for tensor := range saved[i].Tensors {
			f.Add(uint8(i), uint16(tensor), uint16(0), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, false)
			f.Add(uint8(i), uint16(tensor), uint16(3), []byte(nil), true)
		}
	}
	f.Fuzz(func(t *testing.T, run uint8, tensor, at uint16, change []byte, cut bool) {
		i := int(run) % len(runs)
		var s state.Snapshot
		saved[i].CopyTo(&s)
		part := &s.Tensors[int(tensor)%len(s.Tensors)]
		from := int(at) % (len(part.Data) + 1)
		if copy(part.Data[from:], change); cut {
			part.Data = append(part.Data[:from], change...)
		}
		w, err := New(runs[i], 0, &s)
		if err != nil {
			return
		}
		if !vec.Finite(w.Machine.Params()) {
			t.Fatalf("%s: goes on from a model that is not finite", names[i])
		}
		if r := w.Machine.Ready(); r.Compute {
			g := make([]float32, len(r.At))
			if loss, err := w.Gradient(g, r.Round, r.At); err == nil {
				_ = w.Machine.Gradient(g, loss, 0) // may fail, because the model may have diverged
			}
		}
	})
}
