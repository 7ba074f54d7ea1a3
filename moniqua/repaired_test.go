package moniqua

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/algos"
	"gossiptrainer/internal/kernel"
	"gossiptrainer/topology"
)

func TestLanesMendAndMixLikeTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, r := drawByteRound(t)
		all := drawModels(t, &r, rapid.IntRange(2, 6).Draw(t, "models"))
		x := all[0]
		var payloads [][]byte
		var in []algos.Message
		var repairs [][]byte
		for j, y := range all {
			sender := c.as(topology.Rank(j))
			sender.Verify = true
			payload, err := sender.Encode(nil, r.k, y)
			if err != nil {
				t.Skip("no indices")
			}
			payloads = append(payloads, payload)
			if j == 0 {
				continue
			}
			m := algos.Message{From: topology.Rank(j), Weight: 0.3, Payload: payload}
			if j == 1 || rapid.Bool().Draw(t, "repaired") {
				m.Repair, _ = sender.AppendRepair(nil, r.k)
			}
			in, repairs = append(in, m), append(repairs, m.Repair)
		}
		want := slices.Clone(x)
		wantSaw, err := r.mixWords(want, x, payloads[0], in, slices.Clone(repairs))
		if err != nil {
			t.Fatal(err)
		}
		var wantHash, gotHash verification
		wantHash.start(in)
		for first := 0; first < len(x); first += r.block {
			if err := wantHash.block(&r, x[first:min(first+r.block, len(x))], first, in); err != nil {
				t.Fatal(err)
			}
		}
		for _, r.tier = range kernel.Available() {
			if r.byteWidth() < 8 {
				got := slices.Clone(x)
				if saw, err := r.mixRepaired(got, got, payloads[0], in, slices.Clone(repairs)); err != nil || saw != wantSaw || !slices.Equal(got, want) {
					t.Fatalf("%v: %+v, want %+v, or another model (%v)", r.tier, saw, wantSaw, err)
				}
			}
			gotHash.start(in)
			if err := gotHash.recover(&r, x, in); err != nil {
				t.Fatal(err)
			}
			for j := range in {
				if gotHash.theirs[j].Sum() != wantHash.theirs[j].Sum() || len(gotHash.rest[j]) > 0 {
					t.Fatalf("%v: other indices of neighbour %d, or %d bytes of its repair left", r.tier, j, len(gotHash.rest[j]))
				}
			}
		}
	})
}

func TestFarQuotientsAreMendedOrRefused(t *testing.T) {
	r, err := mustCodec(t, 16, Nearest, 7.5, 1).round(0) // D = 1
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 300)
	for _, test := range []struct {
		quotient int32
		sound    bool
	}{{0, true}, {6, true}, {-7, true}, {7, true}, {-8, true}, {-1 << 26, true}, {1<<27 - 1, true}, {1 << 27, false}, {-1<<27 - 1, false}} {
		repair := append(appendQuotients(nil, slices.Repeat([]int32{test.quotient}, len(x))), 7)
		want := slices.Repeat([]int32{16*test.quotient + 3}, len(x))
		for _, r.tier = range kernel.Available() {
			message := algos.Message{Payload: bytes.Repeat([]byte{0x33}, len(x)/2), Repair: repair}
			got := make([]int32, len(x))
			var v verification
			var m laneChecker
			v.start([]algos.Message{message})
			m.prepare(&r, len(x))
			if !m.ownIndices(&r, x, 0, 4) {
				t.Fatal("no own indices")
			}
			err := v.mend(&r, &m, got, 0, message, 0, 4)
			if sound := err == nil; sound != test.sound || sound && (!slices.Equal(got, want) || !bytes.Equal(v.rest[0], []byte{7})) {
				t.Errorf("%v: quotient %d: index %d, %d bytes left, %v", r.tier, test.quotient, got[299], len(v.rest[0]), err)
			}
			message.Limit = float32(max(want[0], -want[0])) // as far as it is, though the block may hold farther ones
			v.start([]algos.Message{message})
			if err := v.mend(&r, &m, got, 0, message, 0, 4); (err == nil) != test.sound {
				t.Errorf("%v: quotient %d: within its limit: %v", r.tier, test.quotient, err)
			}
		}
	}
}
