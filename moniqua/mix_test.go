package moniqua

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gossiptrainer/algos"
	"gossiptrainer/topology"
)

// models returns n models of d coordinates with |x_i − x_j|_∞ < gap.
func models(n, d int, gap float64) [][]float32 {
	source := rand.New(rand.NewPCG(1, uint64(n)))
	out := make([][]float32, n)
	centre := make([]float64, d)
	for c := range centre {
		centre[c] = source.NormFloat64()
	}
	for i := range out {
		out[i] = make([]float32, d)
		for c := range centre {
			out[i][c] = float32(centre[c] + 0.49*gap*(2*source.Float64()-1))
		}
	}
	return out
}

// mixAt mixes the other models into a copy of models[0] and returns it.
func mixAt(t fataler, c *Codec, k int, models [][]float32, weight float32) ([]float32, algos.Mixed) {
	t.Helper()
	in := make([]algos.Message, 0, len(models)-1)
	for j := 1; j < len(models); j++ {
		in = append(in, algos.Message{
			From: topology.Rank(j), Weight: weight, Payload: mustEncode(t, c.as(topology.Rank(j)), k, models[j]),
		})
	}
	acc := slices.Clone(models[0])
	mixed, err := c.Mix(acc, k, models[0], mustEncode(t, c, k, models[0]), in)
	if err != nil {
		t.Fatal(err)
	}
	return acc, mixed
}

func TestMixFollowsTheFormula(t *testing.T) {
	const d, k, gap = 3000, 4, 0.1
	for _, neighbours := range []int{1, 2, 4, 7} {
		for _, levels := range []int{2, 3, 5, 16, 100, 256, 65536} {
			for _, rounding := range []Rounding{Dither, Nearest, Stochastic, Shared} {
				if levels <= rounding.spread() {
					continue
				}
				c := mustCodec(t, levels, rounding, gap, 99)
				all := models(neighbours+1, d, gap)
				weight := 1 / float32(neighbours+1)
				got, mixed := mixAt(t, c, k, all, weight)

				indices := make([][]int32, len(all))
				for j, x := range all {
					indices[j] = make([]int32, d)
					if err := c.as(topology.Rank(j)).Indices(indices[j], k, x); err != nil {
						t.Fatal(err)
					}
				}
				step := Grid{gap, levels, rounding}.Step()
				moved, largest := 0, int32(0)
				for i := range d {
					sum, peak := 0.0, int32(0)
					for _, other := range indices[1:] {
						difference := other[i] - indices[0][i]
						sum += float64(weight) * step * float64(difference)
						peak = max(peak, difference, -difference)
					}
					if want := float64(all[0][i]) + sum; math.Abs(float64(got[i])-want) > 1e-6 {
						t.Fatalf("%d neighbours, %d levels, %v: coordinate %d: %v, want %v", neighbours, levels,
							rounding, i, got[i], want)
					}
					largest = max(largest, peak)
					if peak > 0 {
						moved++
					}
				}
				want := algos.Mixed{Gap: float32(step * float64(largest)), Moved: moved}
				want.Largest = want.Gap
				if mixed != want {
					t.Errorf("%d neighbours, %d levels, %v: %+v, want %+v", neighbours, levels, rounding, mixed, want)
				}
			}
		}
	}
}

func TestManyBitsMixAsFullPrecisionDoes(t *testing.T) {
	const d, gap = 2000, 0.01
	for _, rounding := range []Rounding{Dither, Nearest, Stochastic, Shared} {
		all := models(3, d, gap)
		got, _ := mixAt(t, mustCodec(t, 65536, rounding, gap, 1), 0, all, 1.0/3)
		for i := range d {
			want := (float64(all[0][i]) + float64(all[1][i]) + float64(all[2][i])) / 3
			if math.Abs(float64(got[i])-want) > 1e-6 {
				t.Fatalf("%v: coordinate %d: %v, want %v", rounding, i, got[i], want)
			}
		}
	}
}

func TestBothEndsOfAnEdgeAddExactNegatives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCodec(t)
		x, y := drawPair(t, c)
		a, b := mustEncode(t, c.as(1), 6, x), mustEncode(t, c.as(2), 6, y)
		weight := rapid.Float32Range(0.01, 0.5).Draw(t, "weight")
		forth, back := make([]float32, len(x)), make([]float32, len(x))
		if _, err := c.as(1).Mix(forth, 6, x, a, []algos.Message{{From: 2, Weight: weight, Payload: b}}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.as(2).Mix(back, 6, y, b, []algos.Message{{From: 1, Weight: weight, Payload: a}}); err != nil {
			t.Fatal(err)
		}
		for i := range forth {
			if forth[i] != -back[i] {
				t.Fatalf("coordinate %d: %v and %v", i, forth[i], back[i])
			}
		}
	})
}

func TestMixInPlace(t *testing.T) {
	for _, levels := range []int{2, 5, 16, 256} {
		c := mustCodec(t, levels, Dither, 0.2, 4)
		all := models(4, 2500, 0.2)
		want, wantSaw := mixAt(t, c, 0, all, 0.25)

		in := make([]algos.Message, 0, 3)
		for j := 1; j < 4; j++ {
			in = append(in, algos.Message{From: topology.Rank(j), Weight: 0.25, Payload: mustEncode(t, c, 0, all[j])})
		}
		mine := mustEncode(t, c, 0, all[0])
		saw, err := c.Mix(all[0], 0, all[0], mine, in)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(all[0], want) || saw != wantSaw {
			t.Errorf("%d levels: mixing into x itself gives another result: %+v, want %+v", levels, saw, wantSaw)
		}
	}
}

func TestEqualModelsExchangeNothing(t *testing.T) {
	for _, rounding := range []Rounding{Dither, Nearest, Shared} {
		x := models(1, 2000, 1)[0]
		got, mixed := mixAt(t, mustCodec(t, 16, rounding, 0.5, 8), 2, [][]float32{x, x, x}, 1.0/3)
		if !slices.Equal(got, x) || mixed != (algos.Mixed{}) {
			t.Errorf("%v: %+v", rounding, mixed)
		}
	}
}

func TestFailedMixLeavesTheModel(t *testing.T) {
	const d = 2500
	long := func(n int) []byte { return make([]byte, n) }
	tests := []struct {
		name        string
		levels      int
		mine, third []byte
		x           float32
		want        string
		from        topology.Rank // −1: no neighbour is at fault
	}{
		{"message too short", 256, long(d), long(d - 1), 0, "2499 bytes: 2500 symbols of 256 levels take 2500", 7},
		{"message too long", 256, long(d), long(d + 1), 0, "2501 bytes", 7},
		{"message empty", 256, long(d), nil, 0, "0 bytes", 7},
		{"message with padding", 2, long(313), append(long(312), 0x10), 0, "must be zero", 7},
		{"message with an impossible group", 3, long(500), append(long(496), 255, 255, 255, 255), 0,
			"group of symbol 2480", 7},
		{"own payload too short", 256, long(d - 1), long(d), 0, "own payload", -1},
		{"own model not finite", 256, long(d), long(d), float32(math.NaN()), "coordinate 2400: NaN", -1},
		{"own model out of range", 256, long(d), long(d), 1e30, "coordinate 2400: 1e+30", -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := mustCodec(t, test.levels, Nearest, 1, 0)
			x := models(1, d, 1)[0]
			x[2400] = test.x
			acc := slices.Repeat([]float32{3}, d)
			good := long(len(test.mine))
			if test.from < 0 {
				good = test.third
			}
			_, err := c.Mix(acc, 5, x, test.mine,
				[]algos.Message{{From: 2, Weight: 0.3, Payload: good}, {From: 7, Weight: 0.3, Payload: test.third}})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "round 5") {
				t.Fatalf("error %v, want %q and the round", err, test.want)
			}
			var message *algos.MessageError
			if errors.As(err, &message) != (test.from >= 0) || (message != nil && message.From != test.from) {
				t.Errorf("error %#v, want one about worker %d", err, test.from)
			}
			for i, v := range acc {
				if v != 3 {
					t.Fatalf("acc[%d] became %v", i, v)
				}
			}
		})
	}
}

// Payloads are untrusted. For any payload Mix fails and leaves acc unchanged, or succeeds with finite numbers within
// the modulus.
func FuzzMix(f *testing.F) {
	f.Add(uint32(256), uint8(0), []byte{1, 2, 3}, []byte{4, 5, 6})
	f.Add(uint32(3), uint8(1), []byte{1}, []byte{242})
	f.Add(uint32(2), uint8(0), []byte{7}, []byte{0xff})
	f.Add(uint32(65535), uint8(3), make([]byte, 8), []byte{255, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, levels uint32, rounding uint8, mine, payload []byte) {
		c, err := New(int(levels), Rounding(rounding), func(int) float64 { return 0.5 }, 1, 0)
		if err != nil {
			return
		}
		x := models(1, 8*len(mine)/16+1, 1)[0]
		acc := make([]float32, len(x))
		_, err = c.Mix(acc, 0, x, mine, []algos.Message{{From: 1, Weight: 0.5, Payload: payload}})
		limit := 0.0
		if err == nil {
			limit = 0.5 * Grid{0.5, int(levels), Rounding(rounding)}.Modulus()
		}
		for i, v := range acc {
			if !(math.Abs(float64(v)) <= limit) {
				t.Fatalf("acc[%d] = %v after error %v", i, v, err)
			}
		}
	})
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	for _, levels := range []int{2, 5, 8, 256} {
		for _, rounding := range []Rounding{Dither, Nearest} {
			for _, verify := range []bool{false, true} {
				c := mustCodec(t, levels, rounding, 0.1, 1)
				c.Verify = verify
				all := models(3, 5000, 0.1)
				mine := mustEncode(t, c, 0, all[0])
				in := []algos.Message{
					{From: 1, Payload: mustEncode(t, c, 0, all[1])},
					{From: 2, Payload: mustEncode(t, c, 0, all[2])},
				}
				acc := slices.Clone(all[0])
				allocs := testing.AllocsPerRun(5, func() {
					if _, err := c.Encode(mine[:0], 0, all[0]); err != nil {
						t.Fatal(err)
					}
					if _, err := c.Mix(acc, 0, all[0], mine, in); err != nil {
						t.Fatal(err)
					}
				})
				if allocs != 0 {
					t.Errorf("%d levels, %v, verified %v: %v allocations per round", levels, rounding, verify, allocs)
				}
			}
		}
	}
}

// BenchmarkCodec reports times as multiples of the time to copy the same float32 bytes, measured between the
// iterations. Mix works in place, as the algorithms use it.
func BenchmarkCodec(b *testing.B) {
	for _, d := range []int{270_000, 1_000_000, 10_000_000} {
		for _, levels := range []int{256, 16, 4, 2, 5} {
			if d > 1_000_000 && levels == 5 {
				continue
			}
			c := mustCodec(b, levels, Dither, 0.2, 1)
			all := models(4, d, 0.1)
			payloads := make([][]byte, len(all))
			for j, x := range all {
				payloads[j] = mustEncode(b, c, 0, x)
			}
			b.Run(fmt.Sprintf("encode/d=%d/levels=%d", d, levels), func(b *testing.B) {
				againstCopy(b, all[0], func() error {
					_, err := c.Encode(payloads[0][:0], 0, all[0])
					return err
				})
			})
			for _, neighbours := range []int{1, 3} {
				in := make([]algos.Message, neighbours)
				for j := range in {
					in[j] = algos.Message{From: topology.Rank(j + 1), Weight: 0.25, Payload: payloads[j+1]}
				}
				acc := slices.Clone(all[0])
				b.Run(fmt.Sprintf("mix%d/d=%d/levels=%d", neighbours, d, levels), func(b *testing.B) {
					againstCopy(b, all[0], func() error {
						_, err := c.Mix(acc, 0, acc, payloads[0], in)
						return err
					})
				})
			}
		}
	}
}

// againstCopy reports the shortest time over that of a copy: disturbances of the machine make times longer, never
// shorter.
func againstCopy(b *testing.B, x []float32, work func() error) {
	target := make([]float32, len(x))
	copying, working := time.Hour, time.Hour
	for b.Loop() {
		begin := b.Elapsed()
		copy(target, x)
		middle := b.Elapsed()
		if err := work(); err != nil {
			b.Fatal(err)
		}
		copying = min(copying, middle-begin)
		working = min(working, b.Elapsed()-middle)
	}
	b.ReportMetric(float64(working)/float64(copying), "×copy")
	b.ReportMetric(float64(working)/float64(len(x)), "ns/coordinate")
}
