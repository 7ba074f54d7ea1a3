package quant

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The coordinates of the spans are compressed as one vector, and the others arrive as they are.
func TestPartialCompressesItsSpans(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := rapid.IntRange(1, 40).Draw(rt, "d")
		z := make([]float32, d)
		for i := range z {
			z[i] = float32(math.Sin(float64(3*i))) + 1
		}
		var spans []Span
		for at := rapid.IntRange(0, d-1).Draw(rt, "first"); at < d; {
			end := rapid.IntRange(at+1, d).Draw(rt, "end")
			spans = append(spans, Span{at, end})
			at = end + rapid.IntRange(0, 5).Draw(rt, "gap")
		}
		made := func() Compressor {
			p, err := NewPartial(must(NewQSGD(3, 5, LInf, 1)), spans, d)
			return must(p, err)
		}
		payload, err := made().Compress(nil, 3, z)
		if err != nil {
			rt.Fatal(err)
		}
		got := decoded(t, made(), 3, d, payload)
		var part []float32
		chosen := make([]bool, d)
		for _, s := range spans {
			part = append(part, z[s.First:s.End]...)
			for i := s.First; i < s.End; i++ {
				chosen[i] = true
			}
		}
		alone := must(NewQSGD(3, 5, LInf, 1))
		inner, err := alone.Compress(nil, 3, part)
		if err != nil {
			rt.Fatal(err)
		}
		want := decoded(t, alone, 3, len(part), inner)
		for i, v := range got {
			if chosen[i] {
				if v != want[0] {
					rt.Fatalf("coordinate %d: %v, want %v", i, v, want[0])
				}
				want = want[1:]
			} else if v != z[i] {
				rt.Fatalf("coordinate %d: %v, want %v in full precision", i, v, z[i])
			}
		}
		if n := len(inner) + 4*(d-len(part)); len(payload) != n || made().Len(d) != n || made().Layout(d).Len() != n {
			rt.Fatalf("%d bytes, want %d", len(payload), n)
		}
		acc := slices.Clone(z)
		if err := made().AddTo(acc, 1, 3, payload[:len(payload)-1]); err == nil || !slices.Equal(acc, z) {
			rt.Fatalf("a short payload: %v", err)
		}
	})
}

func TestPartialRefuses(t *testing.T) {
	inner := must(NewSign(0))
	for _, spans := range [][]Span{nil, {{0, 0}}, {{2, 4}, {3, 5}}, {{-1, 3}}, {{5, 11}}} {
		if _, err := NewPartial(inner, spans, 10); err == nil {
			t.Errorf("%v of 10 coordinates is accepted", spans)
		}
	}
	p, err := NewPartial(inner, []Span{{2, 4}}, 10)
	must(p, err)
	if _, err := p.Compress(nil, 0, make([]float32, 9)); err == nil {
		t.Error("9 coordinates of 10 are accepted")
	}
	z := make([]float32, 10)
	z[9] = float32(math.NaN())
	if got, err := p.Compress([]byte{7}, 0, z); err == nil || len(got) != 1 {
		t.Errorf("NaN is sent: % x", got)
	}
}
