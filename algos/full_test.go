package algos_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/internal/vec"
)

var (
	nan = float32(math.NaN())
	inf = float32(math.Inf(1))
)

// vector returns d numbers between −1 and 1.
func vector(seed uint64, d int) []float32 {
	r := rand.New(rand.NewPCG(seed, 0))
	x := make([]float32, d)
	for c := range x {
		x[c] = 2*r.Float32() - 1
	}
	return x
}

func encode(t *testing.T, x []float32) []byte {
	t.Helper()
	payload, err := algos.Full{}.Encode(nil, 0, x)
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

func TestFullEncodesLittleEndianFloats(t *testing.T) {
	got, err := algos.Full{}.Encode([]byte{9}, 0, []float32{1, -2})
	want := []byte{9, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("% x (%v), want % x", got, err, want)
	}
}

func TestFullRefusesToEncodeNaN(t *testing.T) {
	for _, bad := range []float32{nan, inf, -inf} {
		got, err := algos.Full{}.Encode([]byte{9}, 4, []float32{1, bad})
		const want = "full: round 4: a vector of 2 coordinates holds NaN or Inf"
		if err == nil || err.Error() != want || !slices.Equal(got, []byte{9}) {
			t.Errorf("%v: dst % x, error %v; want dst as it was, %q", bad, got, err, want)
		}
	}
}

// Dimensions on both sides of the blocks that Mix works in.
func TestFullAddsWeightedDifferences(t *testing.T) {
	for _, d := range []int{0, 1, 3, 1023, 1024, 1025, 3000} {
		t.Run(fmt.Sprintf("d=%d", d), func(t *testing.T) {
			x, a, b := vector(1, d), vector(2, d), vector(3, d)
			for c := range x {
				if c%3 == 0 { // coordinates in which all models are equal
					a[c], b[c] = x[c], x[c]
				}
			}
			in := []algos.Message{{From: 1, Weight: 0.25, Payload: encode(t, a)}, {From: 4, Weight: 0.5, Payload: encode(t, b)}}
			acc := vector(4, d)
			want := slices.Clone(acc)
			var gap float32
			moved := 0
			for c := range want {
				want[c] += float32(0.25*(a[c]-x[c])) + float32(0.5*(b[c]-x[c]))
				gap = max(gap, float32(math.Abs(float64(a[c]-x[c]))), float32(math.Abs(float64(b[c]-x[c]))))
				if a[c] != x[c] || b[c] != x[c] {
					moved++
				}
			}
			largest := max(vec.MaxAbs(a), vec.MaxAbs(b))
			mixed, err := algos.Full{}.Mix(acc, 0, x, nil, in)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(acc, want) {
				t.Error("acc is not what the formula says")
			}
			if mixed != (algos.Mixed{Gap: gap, Moved: moved, Largest: largest}) {
				t.Errorf("mixed %+v, want gap %v and %d coordinates", mixed, gap, moved)
			}
		})
	}
}

func TestFullMixesInPlace(t *testing.T) {
	x, y := vector(1, 2000), vector(2, 2000)
	in := []algos.Message{{From: 1, Weight: 0.25, Payload: encode(t, y)}}
	apart := slices.Clone(x)
	if _, err := (algos.Full{}).Mix(apart, 0, x, nil, in); err != nil {
		t.Fatal(err)
	}
	if _, err := (algos.Full{}).Mix(x, 0, x, nil, in); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(x, apart) {
		t.Error("mixing into x itself gives another result")
	}
}

// The gain of one end of an edge is the loss of the other, to the bit.
func TestFullIncrementsOfAnEdgeAreOpposite(t *testing.T) {
	x, y := vector(1, 500), vector(2, 500)
	up, down := make([]float32, 500), make([]float32, 500)
	if _, err := (algos.Full{}).Mix(up, 0, x, nil,
		[]algos.Message{{From: 1, Weight: 1. / 3, Payload: encode(t, y)}}); err != nil {
		t.Fatal(err)
	}
	if _, err := (algos.Full{}).Mix(down, 0, y, nil,
		[]algos.Message{{From: 0, Weight: 1. / 3, Payload: encode(t, x)}}); err != nil {
		t.Fatal(err)
	}
	for c := range up {
		if up[c] != -down[c] {
			t.Fatalf("coordinate %d: %v and %v", c, up[c], down[c])
		}
	}
}

// raw writes floats that Encode would refuse.
func raw(x ...float32) []byte {
	var b []byte
	for _, v := range x {
		u := math.Float32bits(v)
		b = append(b, byte(u), byte(u>>8), byte(u>>16), byte(u>>24))
	}
	return b
}

func TestFullRefusesBadMessagesWithoutMixing(t *testing.T) {
	tests := []struct {
		name    string
		payload []byte
		want    string
	}{
		{"empty", nil, "message from worker 6: 0 bytes, want 12"},
		{"a byte short", make([]byte, 11), "message from worker 6: 11 bytes, want 12"},
		{"a byte long", make([]byte, 13), "message from worker 6: 13 bytes, want 12"},
		{"NaN first", raw(nan, 0, 0), "message from worker 6: 3 coordinates hold NaN or Inf"},
		{"Inf second", raw(0, inf, 0), "message from worker 6: 3 coordinates hold NaN or Inf"},
		{"-Inf last", raw(0, 0, -inf), "message from worker 6: 3 coordinates hold NaN or Inf"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x := []float32{1, 2, 3}
			in := []algos.Message{{From: 2, Weight: 0.25, Payload: raw(5, 6, 7)}, {From: 6, Weight: 0.25, Payload: test.payload}}
			_, err := algos.Full{}.Mix(x, 0, x, nil, in)
			var bad *algos.MessageError
			if !errors.As(err, &bad) || bad.From != 6 || err.Error() != test.want {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if !slices.Equal(x, []float32{1, 2, 3}) {
				t.Errorf("acc became %v", x)
			}
		})
	}
}

func TestFullAcceptsTheLargestNumbers(t *testing.T) {
	x := []float32{0, 0, 0}
	in := []algos.Message{{From: 1, Weight: 0.5,
		Payload: raw(math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32)}}
	mixed, err := algos.Full{}.Mix(x, 0, x, nil, in)
	if err != nil || mixed.Gap != math.MaxFloat32 || mixed.Moved != 3 {
		t.Errorf("mixed %+v, error %v", mixed, err)
	}
}

func TestFullAllocatesNothing(t *testing.T) {
	x, payload := vector(1, 5000), make([]byte, 0, 20000)
	in := []algos.Message{{From: 1, Weight: 0.25, Payload: encode(t, vector(2, 5000))}}
	got := testing.AllocsPerRun(20, func() {
		payload, _ = algos.Full{}.Encode(payload[:0], 0, x)
		if _, err := (algos.Full{}).Mix(x, 0, x, payload, in); err != nil {
			t.Error(err)
		}
	})
	if got != 0 {
		t.Errorf("%v allocations per round", got)
	}
}

func TestMessageErrorShowsItsCause(t *testing.T) {
	cause := errors.New("torn")
	var err error = &algos.MessageError{From: 3, Err: cause}
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "worker 3") {
		t.Errorf("error %q hides worker or cause", err)
	}
}

// FuzzFull feeds payloads of a hostile neighbour.
func FuzzFull(f *testing.F) {
	f.Add(raw(1, 2, 3))
	f.Add(raw(nan))
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, payload []byte) {
		x := vector(1, len(payload)/4)
		before := slices.Clone(x)
		_, err := algos.Full{}.Mix(x, 0, x, nil, []algos.Message{{From: 1, Weight: 0.25, Payload: payload}})
		if err != nil && !slices.Equal(x, before) {
			t.Error("refused, but mixed")
		}
		for c, v := range x {
			if v != v {
				t.Fatalf("coordinate %d became NaN", c)
			}
		}
	})
}

// BenchmarkFullMix reports the time to mix three neighbours over that of
// copying one model.
func BenchmarkFullMix(b *testing.B) {
	const d = 1 << 20
	x, sink := vector(1, d), make([]float32, d)
	payload, err := algos.Full{}.Encode(nil, 0, vector(2, d))
	if err != nil {
		b.Fatal(err)
	}
	in := []algos.Message{{From: 1, Weight: 0.1, Payload: payload}, {From: 2, Weight: 0.1, Payload: payload},
		{From: 3, Weight: 0.1, Payload: payload}}
	b.SetBytes(4 * d)
	var mixing, copying time.Duration
	for b.Loop() {
		start := time.Now()
		if _, err := (algos.Full{}).Mix(x, 0, x, nil, in); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		copy(sink, x)
		mixing += middle.Sub(start)
		copying += time.Since(middle)
	}
	b.ReportMetric(float64(mixing)/float64(copying), "×copy")
}
