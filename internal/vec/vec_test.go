package vec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"gossiptrainer/internal/rng"
)

// random returns n numbers of both signs and many magnitudes.
func random(seed uint64, n int) []float32 {
	key, x := rng.At(seed, 0), make([]float32, n)
	for i := range x {
		x[i] = (key.Uniform(uint32(2*i)) - 0.5) * float32(math.Exp2(float64(key.Raw(uint32(2*i+1))%40)-20))
	}
	return x
}

// Lengths on both sides of every unrolled step.
var lengths = []int{0, 1, 3, 4, 5, 7, 8, 9, 31, 64, 1001}

func TestElementwiseKernels(t *testing.T) {
	const a = float32(0.3)
	kernels := []struct {
		name   string
		kernel func(dst, x, y []float32)
		want   func(dst, x, y float32) float32
	}{
		{"Axpy", func(dst, x, _ []float32) { Axpy(dst, a, x) },
			func(dst, x, _ float32) float32 { p := a * x; return dst + float32(p) }},
		{"Add", Add, func(_, x, y float32) float32 { return x + y }},
		{"Sub", Sub, func(_, x, y float32) float32 { return x - y }},
		{"Scale", func(dst, x, _ []float32) { Scale(dst, a, x) }, func(_, x, _ float32) float32 { return a * x }},
	}
	for _, k := range kernels {
		for _, n := range lengths {
			dst, x, y := random(1, n), random(2, n), random(3, n)
			want, wantInPlace := make([]float32, n), make([]float32, n)
			for i := range want {
				want[i] = k.want(dst[i], x[i], y[i])
				wantInPlace[i] = k.want(x[i], x[i], y[i])
			}
			if k.kernel(dst, x, y); !slices.Equal(dst, want) {
				t.Errorf("%s: wrong for length %d", k.name, n)
			}
			if k.kernel(x, x, y); !slices.Equal(x, wantInPlace) {
				t.Errorf("%s: wrong in place for length %d", k.name, n)
			}
		}
	}
}

// Vectors beyond the caches take another way to the same numbers.
func TestSubOfALongVector(t *testing.T) {
	x, y, dst := make([]float32, beyondCaches+3), make([]float32, beyondCaches+3), make([]float32, beyondCaches+3)
	for i := range x {
		x[i], y[i] = float32(i), float32(i%7)+0.5
	}
	Sub(dst, x, y)
	for i, v := range dst {
		if v != float32(i)-(float32(i%7)+0.5) {
			t.Fatalf("element %d: %v", i, v)
		}
	}
}

func TestReductions(t *testing.T) {
	for _, n := range lengths {
		x, y := random(1, n), random(2, n)
		var dot, size float64
		var most float32
		for i := range x {
			dot += float64(x[i]) * float64(y[i])
			size += math.Abs(float64(x[i]) * float64(y[i]))
			most = max(most, float32(math.Abs(float64(x[i]))))
		}
		if got := Dot(x, y); math.Abs(got-dot) > 1e-14*size {
			t.Errorf("Dot of %d = %v, want %v", n, got, dot)
		}
		if got := MaxAbs(x); got != most {
			t.Errorf("MaxAbs of %d = %v, want %v", n, got, most)
		}
	}
}

func TestNonFiniteValuesAreSeenAnywhere(t *testing.T) {
	inf := float32(math.Inf(1))
	bad := []float32{inf, -inf, float32(math.NaN()), math.Float32frombits(0xFF800001)}
	for _, n := range lengths {
		x := random(1, n)
		if !Finite(x) {
			t.Errorf("Finite of %d ordinary values = false", n)
		}
		for i := range x {
			old := x[i]
			for _, v := range bad {
				x[i] = v
				if Finite(x) {
					t.Fatalf("Finite with %v at %d of %d = true", v, i, n)
				}
				m := float64(MaxAbs(x))
				if isNaN := v != v; math.IsNaN(m) != isNaN || !isNaN && m != math.Inf(1) {
					t.Fatalf("with %v at %d of %d: MaxAbs %v", v, i, n, m)
				}
			}
			x[i] = old
		}
	}
}

func TestFiniteAcceptsTheExtremes(t *testing.T) {
	negativeZero := float32(math.Copysign(0, -1))
	if x := []float32{math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, 0, negativeZero}; !Finite(x) {
		t.Errorf("Finite(%v) = false", x)
	}
}

func TestBytesAreLittleEndianFloats(t *testing.T) {
	for _, n := range lengths {
		x := random(1, n)
		want := bytes.NewBufferString("head")
		if err := binary.Write(want, binary.LittleEndian, x); err != nil {
			t.Fatal(err)
		}
		got := AppendLE([]byte("head"), x)
		if !bytes.Equal(got, want.Bytes()) {
			t.Errorf("AppendLE of %d floats: wrong bytes", n)
		}
		back := make([]float32, n)
		if ReadLE(back, got[len("head"):]); !slices.Equal(back, x) {
			t.Errorf("ReadLE of %d floats: not what was written", n)
		}
	}
}

func TestAppendLEIntoSpareCapacityAllocatesNothing(t *testing.T) {
	x, dst := random(1, 1000), make([]byte, 0, 4000)
	if n := testing.AllocsPerRun(10, func() { dst = AppendLE(dst[:0], x) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAShorterSourcePanics(t *testing.T) {
	short, long := make([]float32, 3), make([]float32, 4)
	for name, call := range map[string]func(){
		"Axpy":   func() { Axpy(long, 1, short) },
		"Add":    func() { Add(long, long, short) },
		"Sub":    func() { Sub(long, short, long) },
		"Scale":  func() { Scale(long, 1, short) },
		"Dot":    func() { Dot(long, short) },
		"ReadLE": func() { ReadLE(long, make([]byte, 15)) },
	} {
		if !panics(call) {
			t.Errorf("%s: no panic", name)
		}
	}
}

func panics(call func()) (did bool) {
	defer func() { did = recover() != nil }()
	call()
	return false
}

// BenchmarkKernels reports each kernel's time over that of copying one vector
// of the same length.
func BenchmarkKernels(b *testing.B) {
	for _, n := range []int{1 << 12, 1 << 20} {
		x, y, buf := random(1, n), random(2, n), make([]byte, 4*n)
		dst, other := make([]float32, n), make([]float32, n)
		kernels := []struct {
			name string
			call func()
		}{
			{"Axpy", func() { Axpy(dst, 1e-9, x) }},
			{"Add", func() { Add(dst, x, y) }},
			{"Sub", func() { Sub(dst, x, y) }},
			{"Scale", func() { Scale(dst, 0.5, x) }},
			{"Dot", func() { Dot(x, y) }},
			{"MaxAbs", func() { MaxAbs(x) }},
			{"Finite", func() { Finite(x) }},
			{"AppendLE", func() { buf = AppendLE(buf[:0], x) }},
			{"ReadLE", func() { ReadLE(dst, buf) }},
		}
		for _, k := range kernels {
			b.Run(fmt.Sprintf("%s/%d", k.name, n), func(b *testing.B) {
				var kernel, copying time.Duration
				for b.Loop() {
					start := time.Now()
					k.call()
					middle := time.Now()
					copy(other, x)
					kernel += middle.Sub(start)
					copying += time.Since(middle)
				}
				b.ReportMetric(kernel.Seconds()/copying.Seconds(), "copies")
				b.ReportMetric(float64(4*n*b.N)/kernel.Seconds()/1e9, "GB/s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
