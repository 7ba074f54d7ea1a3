package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/internal/rng"
)

// drawLattice draws any lattice that the lanes take.
func drawLattice(t *rapid.T) Lattice {
	l := Lattice{
		Bits: rapid.IntRange(1, 8).Draw(t, "bits"),
		Step: math.Exp2(rapid.Float64Range(-50, 50).Draw(t, "log2 step")),
	}
	l.Shift = float64(rapid.IntRange(-1<<l.Bits, 2).Draw(t, "half steps")) / 2
	if rapid.Bool().Draw(t, "power of two") {
		l.Step = math.Exp2(math.Round(math.Log2(l.Step)))
	}
	if rapid.Bool().Draw(t, "noise") {
		key := rng.At(rapid.Uint64().Draw(t, "seed"), 3)
		l.Noise = &key
	}
	return l
}

// integer is the definition of a Quantizer.
func (l Lattice) integer(x float32, index int) float64 {
	c := l.Shift
	if l.Noise != nil {
		c += float64(l.Noise.Uniform(uint32(index)))
	}
	return math.Floor(float64(x)/l.Step + c)
}

// drawCoordinates draws n coordinates below 2^most·N steps, many of them next to an integer of the
// lattice.
func drawCoordinates(t *rapid.T, l Lattice, most float64, first, n int) []float32 {
	source := rng.At(rapid.Uint64().Draw(t, "coordinates"), 0)
	reach := most + float64(l.Bits) - 0.05
	reach = rapid.Float64Range(-3, reach).Draw(t, "log2 steps")
	x := make([]float32, n)
	for i := range x {
		r := func(j int) float64 { return float64(source.Uniform(uint32(8*i + j))) }
		steps := (2*r(0) - 1) * math.Exp2(reach*r(1))
		if r(2) < 0.3 {
			u := 0.0
			if l.Noise != nil {
				u = float64(l.Noise.Uniform(uint32(first + i)))
			}
			steps = math.Floor(steps) - u + math.Floor(2*r(3))/2
		}
		if r(4) < 0.05 {
			steps = 0
		}
		x[i] = float32(steps * l.Step)
		if r(5) < 0.5 {
			x[i] = math.Nextafter32(x[i], float32(r(6)-0.5))
		}
	}
	return x
}

func TestLanesRoundLikeTheDefinition(t *testing.T) {
	for _, tier := range Available()[1:] {
		t.Run(tier.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				l := drawLattice(t)
				first := Step * rapid.IntRange(0, 1<<24).Draw(t, "first")
				x := drawCoordinates(t, l, 22, first, 2*Step+5)
				checkLanes(t, tier, l, x, first)
			})
		})
	}
}

func checkLanes(t *rapid.T, tier Tier, l Lattice, x []float32, first int) {
	var q, whole Quantizer
	if !q.Set(l, OfResidues) || !whole.Set(l, OfIndices) {
		t.Fatal("the lattice was refused")
	}
	residues, indices, symbols := make([]byte, len(x)), make([]int32, len(x)), make([]byte, len(x))
	for name, get := range map[string]func(doubt []byte) (int, bool, func(at int) bool){
		"residue": func(doubt []byte) (int, bool, func(at int) bool) {
			n, doubtful := tier.Residues(residues, x, first, &q, doubt)
			return n, doubtful, func(at int) bool {
				return residues[at] == byte(int64(l.integer(x[at], first+at))&(1<<l.Bits-1))
			}
		},
		"index": func(doubt []byte) (int, bool, func(at int) bool) {
			n, doubtful := tier.Indices(indices, x, first, &whole, doubt)
			return n, doubtful, func(at int) bool { return float64(indices[at]) == l.integer(x[at], first+at) }
		},
		"hashed index": func(doubt []byte) (int, bool, func(at int) bool) {
			var h, want Hash
			h.Reset()
			want.Reset()
			to := Hashed{indices, symbols, byte(1<<l.Bits - 1), doubt, &h}
			done, hashed := tier.HashedIndices(to, x, first, &whole)
			tier.Hash(&want, indices[:hashed])
			if h.Sum() != want.Sum() {
				t.Fatalf("%d of %d hashed: %x, want %x", hashed, done, h.Sum(), want.Sum())
			}
			return done, hashed < done, func(at int) bool {
				return float64(indices[at]) == l.integer(x[at], first+at) &&
					symbols[at] == byte(indices[at])&byte(1<<l.Bits-1)
			}
		},
	} {
		doubt := make([]byte, (len(x)+63)/64*8)
		n, doubtful, right := get(doubt)
		early := name == "hashed index" && doubtful && n == Step
		if n != 2*Step && !early {
			t.Fatalf("%s: %d coordinates done", name, n)
		}
		unsure := map[int]bool{}
		Doubtful(doubt, func(at int) bool { unsure[at] = true; return true })
		if doubtful != (len(unsure) > 0) {
			t.Fatalf("%s: %d doubtful coordinates, reported %v", name, len(unsure), doubtful)
		}
		for i := range n {
			if !unsure[i] && !right(i) {
				t.Fatalf("%s: %v at %d: lattice %+v, definition %v, lanes %d %d", name, x[i], first+i, l,
					l.integer(x[i], first+i), residues[i], indices[i])
			}
		}
	}
}

func TestPackedLanesRoundLikeTheDefinition(t *testing.T) {
	for _, tier := range Available()[1:] {
		t.Run(tier.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				l := drawLattice(t)
				l.Bits = 1
				if tier == AVX512 {
					l.Bits = 1 << rapid.IntRange(0, 2).Draw(t, "log2 bits")
				}
				l.Shift = max(l.Shift, -float64(uint(1)<<l.Bits)/2)
				first := Step * rapid.IntRange(0, 1<<24).Draw(t, "first")
				checkPacked(t, tier, l, drawCoordinates(t, l, 6, first, 2*Step+5), first)
			})
		})
	}
}

func checkPacked(t *rapid.T, tier Tier, l Lattice, x []float32, first int) {
	var q Quantizer
	if !q.Set(l, OfPacked) {
		t.Fatal("the lattice was refused")
	}
	packed, symbols, doubt := make([]byte, 2*Step*l.Bits/8), make([]byte, 2*Step), make([]byte, 48)
	n, doubtful := tier.Packed(packed, x, first, &q, doubt)
	if n != 2*Step {
		t.Fatalf("%d coordinates done", n)
	}
	Off.Unpack(symbols, l.Bits, packed)
	unsure := map[int]bool{}
	Doubtful(doubt, func(at int) bool { unsure[at] = true; return true })
	if doubtful != (len(unsure) > 0) {
		t.Fatalf("%d doubtful coordinates, reported %v", len(unsure), doubtful)
	}
	for i, s := range symbols {
		k := l.integer(x[i], first+i)
		if !unsure[i] && s>>(8-l.Bits) != byte(int64(k))&byte(1<<l.Bits-1) {
			t.Fatalf("%v at %d: lattice %+v, definition %v, lanes %d", x[i], first+i, l, k, s>>(8-l.Bits))
		}
	}
}

func TestFewCoordinatesAreDoubtful(t *testing.T) {
	const n = 1 << 20
	key := rng.At(1, 1)
	x := random(5, n)
	for _, tier := range Available()[1:] {
		for bits := 1; bits <= 8; bits++ {
			var q Quantizer
			q.Set(Lattice{Step: 0.01, Bits: bits, Noise: &key}, OfResidues)
			count, doubt := 0, make([]byte, n/8)
			done, _ := tier.Residues(make([]byte, n), x, 0, &q, doubt)
			Doubtful(doubt, func(int) bool { count++; return true })
			if done != n || count > n>>12 {
				t.Errorf("%v, %d bits: %d of %d doubtful", tier, bits, count, done)
			}
		}
	}
}

func TestLanesLeaveWhatTheyCannotDo(t *testing.T) {
	var q, packed, whole Quantizer
	for _, l := range []Lattice{
		{Step: 1, Bits: 9}, {Step: 1, Bits: 0}, {Step: 0x1p-64, Bits: 4}, {Step: math.Inf(1), Bits: 4},
		{Step: 1, Bits: 4, Shift: 1.5}, {Step: 1, Bits: 4, Shift: -8.5},
	} {
		if q.Set(l, OfResidues) {
			t.Errorf("%+v was accepted", l)
		}
	}
	q.Set(Lattice{Step: 1, Bits: 4}, OfResidues)
	whole.Set(Lattice{Step: 1, Bits: 4}, OfIndices)
	packed.Set(Lattice{Step: 1 << 16, Bits: 1}, OfPacked)
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, tier := range Available() {
		for _, bad := range []float32{nan, inf, 1 << 27, -1 << 40, math.MaxFloat32} {
			x := random(1, 3*Step)
			x[Step+7] = bad
			if n, _ := tier.Residues(make([]byte, len(x)), x, 0, &q, make([]byte, 48)); n != 0 {
				t.Errorf("%v: residues with %v: %d done", tier, bad, n)
			}
			if n, _ := tier.Packed(make([]byte, len(x)), x, 0, &packed, make([]byte, 48)); n != 0 {
				t.Errorf("%v: packing with %v: %d done", tier, bad, n)
			}
			if n, _ := tier.Indices(make([]int32, len(x)), x, 0, &whole, make([]byte, 48)); n != 0 {
				t.Errorf("%v: indices with %v: %d done", tier, bad, n)
			}
		}
		x := random(1, Step)
		if n, _ := tier.Residues(make([]byte, Step), x, 64, &q, make([]byte, 16)); n != 0 {
			t.Errorf("%v: a start within a step", tier)
		}
	}
}
