package moniqua

import (
	"bytes"
	"slices"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/internal/kernel"
)

func TestFarQuotientsAreMendedOrRefused(t *testing.T) {
	r, err := mustCodec(t, 16, Nearest, 7.5, 1).round(0, 0) // D = 1
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 300)
	for _, test := range []struct {
		quotient int32
		sound    bool
	}{{0, true}, {6, true}, {-7, true}, {7, true}, {-8, true}, {-1 << 26, true},
		{1<<27 - 1, true}, {1 << 27, false}, {-1<<27 - 1, false}} {
		repair := append(appendQuotients(nil, slices.Repeat([]int32{test.quotient}, len(x)), 0, kernel.Best()), 7)
		want := slices.Repeat([]int32{16*test.quotient + 3}, len(x))
		for _, r.tier = range kernel.Available() {
			message := algos.Message{Payload: bytes.Repeat([]byte{0x33}, len(x)/2), Repair: repair}
			got := make([]int32, len(x))
			var v verification
			v.start([]algos.Message{message})
			var q kernel.Quantizer
			m := newLaneChecker(&r, len(x), r.encode.lanes(&q, kernel.OfIndices, r.width, len(x)), coding{
				make([]int32, checkedIndices*blockLen), make([]byte, checkedBytes*blockLen),
			})
			if !m.ownIndices(x, 0) {
				t.Fatal("no own indices")
			}
			err := m.mend(got, &v.rest[0], message, 0)
			if sound := err == nil; sound != test.sound || sound &&
				(!slices.Equal(got, want) || !bytes.Equal(v.rest[0], []byte{7})) {
				t.Errorf("%v: quotient %d: index %d, %d bytes left, %v", r.tier, test.quotient, got[299],
					len(v.rest[0]), err)
			}
			message.Limit = float32(max(want[0], -want[0])) // its own distance, though the block may hold larger ones
			v.start([]algos.Message{message})
			if err := m.mend(got, &v.rest[0], message, 0); (err == nil) != test.sound {
				t.Errorf("%v: quotient %d: within its limit: %v", r.tier, test.quotient, err)
			}
		}
	}
}

func TestMendingDoesNotAllocate(t *testing.T) {
	for _, levels := range []int{2, 5, 16, 256} {
		c, sender := mustCodec(t, levels, Nearest, 0.1, 1), mustCodec(t, levels, Nearest, 0.1, 1)
		c.Verify, sender.Verify = true, true
		all := models(3, 5000, 0.1)
		mine := mustEncode(t, c, 0, all[0])
		in := []algos.Message{
			{From: 1, Payload: mustEncode(t, c, 0, all[1])},
			{From: 2, Payload: mustEncode(t, sender, 0, all[2])},
		}
		in[1].Repair, _ = sender.AppendRepair(nil, 0, 0, nil)
		acc := slices.Clone(all[0])
		if allocs := testing.AllocsPerRun(5, func() {
			if _, err := c.Mix(acc, 0, all[0], mine, in); err != nil {
				t.Fatal(err)
			}
		}); allocs != 0 {
			t.Errorf("%d levels: %v allocations per round", levels, allocs)
		}
	}
}
