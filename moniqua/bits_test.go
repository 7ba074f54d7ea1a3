package moniqua

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/internal/rng"
)

// byRound changes the bits in every round.
func byRound(k int) int { return []int{8, 2, 5, 1, 16, 3}[k%6] }

// model returns d coordinates within width of those of every other rank.
func model(rank, d int, width float32) []float32 {
	x := make([]float32, d)
	for i := range x {
		x[i] = 3*rng.At(1, 0).Uniform(uint32(i)) + width*rng.At(2, rank).Uniform(uint32(i))
	}
	return x
}

func switching(theta float64) *Codec {
	return &Codec{
		Levels: 1 << 16, Bits: byRound, Theta: func(int) float64 { return theta }, Seed: 4, Verify: true,
	}
}

// In each round a codec that switches bits equals a codec with the bits of that round.
func TestEveryRoundHasItsOwnLevels(t *testing.T) {
	x := model(0, 2500, 1)
	y := model(1, 2500, 1)
	c := switching(2)
	for k := range 12 {
		fixed := switching(2)
		fixed.Bits, fixed.Levels = nil, 1<<byRound(k)
		payload := mustEncode(t, c, k, x)
		if want := mustEncode(t, fixed, k, x); !bytes.Equal(payload, want) {
			t.Fatalf("round %d: another payload than that of %d bits", k, byRound(k))
		}
		if most := c.MaxPayload(len(x)); len(payload) > most {
			t.Errorf("round %d: %d bytes, more than the most, %d", k, len(payload), most)
		}
		in := []algos.Message{{From: 1, Weight: 0.25, Payload: mustEncode(t, fixed, k, y)}}
		got, want := slices.Clone(x), slices.Clone(x)
		seen, err := c.Mix(got, k, x, payload, in)
		if err != nil {
			t.Fatal(err)
		}
		seenFixed, err := fixed.Mix(want, k, x, payload, in)
		if err != nil || seen != seenFixed || !slices.Equal(got, want) {
			t.Fatalf("round %d: mixed %+v, with %d bits alone %+v (%v)", k, seen, byRound(k), seenFixed, err)
		}
	}
}

// The repair of a round has the bits of that round, even if the sender has switched since.
func TestRepairsOutliveASwitch(t *testing.T) {
	for k := range 12 {
		x, y := model(0, 2500, 1), model(1, 2500, 1)
		here, there := switching(0.05), switching(0.05)
		mine := mustEncode(t, here, k, x)
		in := []algos.Message{{From: 1, Weight: 0.25, Payload: mustEncode(t, there, k, y)}}
		acc := slices.Clone(x)
		var wrong *algos.MismatchError
		if _, err := here.Mix(acc, k, x, mine, in); !errors.As(err, &wrong) {
			t.Fatalf("round %d: error %v, want a mismatch", k, err)
		}
		mustEncode(t, there, k+1, y)
		repair, ok := there.AppendRepair(nil, k, 0, nil)
		if !ok || len(repair) > there.MaxPayload(len(y)) {
			t.Fatalf("round %d: repair of %d bytes, kept: %v", k, len(repair), ok)
		}
		in[0].Repair = repair
		if _, err := here.Mix(acc, k, x, mine, in); err != nil {
			t.Fatalf("round %d: %v", k, err)
		}
		// A message with repaired indices means D·k_j.
		mineIndex, theirIndex := make([]int32, len(x)), make([]int32, len(x))
		if err := errors.Join(here.Indices(mineIndex, k, x), there.Indices(theirIndex, k, y)); err != nil {
			t.Fatal(err)
		}
		grid, err := here.Grid(k)
		if err != nil {
			t.Fatal(err)
		}
		scale := float32(0.25 * grid.Step())
		for i := range acc {
			if want := x[i] + float32(scale*float32(theirIndex[i]-mineIndex[i])); acc[i] != want {
				t.Fatalf("round %d coordinate %d: %v, want %v", k, i, acc[i], want)
			}
		}
	}
}

func TestBitsThatAreNoneAreRefused(t *testing.T) {
	for _, bits := range []int{-1, 0, 9, 17, 64} {
		c := &Codec{Levels: 1 << 8, Bits: func(int) int { return bits }, Theta: func(int) float64 { return 1 }}
		if _, err := c.Encode(nil, 7, []float32{1}); err == nil || !strings.Contains(err.Error(), "round 7") {
			t.Errorf("%d bits where 8 are the most: error %v", bits, err)
		}
	}
}
