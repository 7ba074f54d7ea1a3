package rng

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "gossiptrainer/internal/proptest"
)

func TestUniformIsExact(t *testing.T) {
	key := At(7, 3)
	for i := range uint32(1 << 16) {
		u := key.Uniform(i)
		if want := float64(key.Raw(i)>>8) / (1 << 24); float64(u) != want {
			t.Fatalf("Uniform(%d) = %v, want exactly %v", i, u, want)
		}
		if u < 0 || u >= 1 {
			t.Fatalf("Uniform(%d) = %v, outside [0, 1)", i, u)
		}
	}
}

// The mean of n uniforms has standard deviation 1/√(12n); the correlation of
// n pairs about 1/√n. Five of these is the limit.
func TestUniformsLookIndependent(t *testing.T) {
	const n = 1 << 18
	base := At(Stream(1, 2), 10)
	others := map[string]func(i uint32) float32{
		"next index":   func(i uint32) float32 { return base.Uniform(i + 1) },
		"next round":   At(Stream(1, 2), 11).Uniform,
		"other worker": At(Stream(1, 3), 10).Uniform,
		"other seed":   At(Stream(2, 2), 10).Uniform,
		"shared":       At(1, 10).Uniform,
	}
	mean := 0.0
	for i := range uint32(n) {
		mean += float64(base.Uniform(i)) / n
	}
	if math.Abs(mean-0.5) > 5/math.Sqrt(12*n) {
		t.Errorf("mean %v, want 0.5", mean)
	}
	for name, other := range others {
		sum := 0.0
		for i := range uint32(n) {
			sum += (float64(base.Uniform(i)) - 0.5) * (float64(other(i)) - 0.5)
		}
		if correlation := 12 * sum / n; math.Abs(correlation) > 5/math.Sqrt(n) {
			t.Errorf("correlation with %s is %v", name, correlation)
		}
	}
}

func TestStreamsDiffer(t *testing.T) {
	seen := map[uint64]string{1: "the seed itself"}
	for i := range 40 {
		name := fmt.Sprintf("Stream(1, %d)", i)
		if other, ok := seen[Stream(1, i)]; ok {
			t.Fatalf("%s equals %s", name, other)
		}
		seen[Stream(1, i)] = name
		for j := range i {
			name := fmt.Sprintf("Edge(1, %d, %d)", i, j)
			if other, ok := seen[Edge(1, i, j)]; ok {
				t.Fatalf("%s equals %s", name, other)
			}
			seen[Edge(1, i, j)] = name
			if Edge(1, i, j) != Edge(1, j, i) {
				t.Fatalf("%s depends on the order of the ends", name)
			}
		}
	}
}

// denseRandomK is the definition: the shuffle on the full list.
func denseRandomK(seed uint64, round, d, k int) []uint32 {
	list := make([]uint32, d)
	for i := range list {
		list[i] = uint32(i)
	}
	for i := range k {
		j := i + int(At(seed, round).Raw(uint32(i))%uint32(d-i))
		list[i], list[j] = list[j], list[i]
	}
	slices.Sort(list[:k])
	return list[:k]
}

func TestRandomKIsThePartialShuffle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(0, 300).Draw(t, "d")
		k := rapid.IntRange(0, d).Draw(t, "k")
		seed, round := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 1000).Draw(t, "round")
		got := RandomK([]uint32{99}, seed, round, d, k)
		if want := append([]uint32{99}, denseRandomK(seed, round, d, k)...); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestRandomKReachesTheLargestIndices(t *testing.T) {
	got := RandomK(nil, 5, 0, 1<<32, 1000)
	if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != 1000 {
		t.Fatalf("not 1000 distinct increasing indices")
	}
	if got[999] < 1<<31 {
		t.Errorf("largest of 1000 indices below 2^32 is %d", got[999])
	}
}

func TestRandomKAllocatesNothingWhenReused(t *testing.T) {
	dst := RandomK(nil, 1, 0, 100000, 1000)
	round := 0
	if n := testing.AllocsPerRun(20, func() {
		round++
		dst = RandomK(dst[:0], 1, round, 100000, 1000)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestRandomKRefusesAnImpossibleCount(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic for k > d")
		}
	}()
	RandomK(nil, 1, 0, 3, 4)
}

func BenchmarkUniform(b *testing.B) {
	key := At(1, 0)
	dst := make([]float32, 1<<16)
	b.SetBytes(int64(4 * len(dst)))
	for b.Loop() {
		for i := range dst {
			dst[i] = key.Uniform(uint32(i))
		}
	}
}

func BenchmarkRandomK(b *testing.B) {
	var dst []uint32
	for b.Loop() {
		dst = RandomK(dst[:0], 1, 0, 1<<20, 1<<13)
	}
}
