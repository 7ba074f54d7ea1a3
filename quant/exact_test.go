package quant

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

func exactOver(t *testing.T, inner Compressor) *Exact {
	t.Helper()
	e, err := NewExact(inner, 3)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// inners are compressors of each kind: with buckets, sparse, with tables that travel, and of changing bits.
func inners(t *testing.T) map[string]func() Compressor {
	t.Helper()
	made := func(c Compressor, err error) Compressor {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	return map[string]func() Compressor{
		"qsgd":    func() Compressor { return made(NewQSGD(4, 16, LInf, 1)) },
		"sign":    func() Compressor { return made(NewSign(0)) },
		"topk":    func() Compressor { return made(NewTopK(5)) },
		"randomk": func() Compressor { return made(NewRandomK(5, Amplified, 1)) },
		"switched": func() Compressor {
			return made(NewSwitched(2, 8, func(k int) int { return 2 + k }, func(bits int) (Compressor, error) {
				return NewMinMax(bits, 16, Nearest, 1)
			}))
		},
		"alq": func() Compressor {
			a, err := NewAdaptive(AdaptiveOptions{Fit: ALQ, Bits: 3, Bucket: 16, Norm: L2}, 1)
			if err == nil {
				err = a.Refit([]int{0}, 2)
			}
			return made(a, err)
		},
	}
}

// A payload is one of the inner compressor with floats behind it, in every round.
func TestExactKeepsTheLastCoordinates(t *testing.T) {
	const d, at = 43, 40
	z := make([]float32, d)
	for c := range z {
		z[c] = float32(math.Sin(float64(c)))
	}
	z[41] = -1e4
	for name, inner := range inners(t) {
		e, alone := exactOver(t, inner()), inner()
		for k := range 4 {
			payload, err := e.Compress([]byte{9}, k, z)
			if err != nil || payload[0] != 9 {
				t.Fatalf("%s: %v", name, err)
			}
			payload = payload[1:]
			first, err := alone.Compress(nil, k, z[:at])
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(payload[:len(payload)-12], first) || len(payload) > e.Len(d) {
				t.Fatalf("%s: round %d: %d bytes, at most %d: not those of the inner compressor first", name, k, len(payload),
					e.Len(d))
			}
			if err := e.Check(d, payload); err != nil {
				t.Errorf("%s: round %d: %v", name, k, err)
			}
			if got := e.Bound(d, payload); got != 1e4 {
				t.Errorf("%s: round %d: bound %v, want 1e4", name, k, got)
			}
			got, want := slices.Repeat([]float32{1}, d), slices.Repeat([]float32{1}, d)
			if err := e.AddTo(got, 0.5, k, payload); err != nil {
				t.Fatal(err)
			}
			if err := alone.AddTo(want[:at], 0.5, k, first); err != nil {
				t.Fatal(err)
			}
			for c := at; c < d; c++ {
				want[c] += 0.5 * z[c]
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: round %d: %v, want %v", name, k, got, want)
			}
			l := e.LayoutOf(d, payload)
			if err := l.Check(); err != nil || (l.Len() != len(payload) || l.Tail < 12) && name != "alq" {
				t.Errorf("%s: round %d: layout %+v of %d bytes (%v)", name, k, l, len(payload), err)
			}
		}
		if e.Bits() != alone.Bits() || e.Properties() != alone.Properties() {
			t.Errorf("%s: %d bits, %+v", name, e.Bits(), e.Properties())
		}
	}
}

func TestExactRefusesBadPayloads(t *testing.T) {
	const d = 43
	for name, inner := range inners(t) {
		e := exactOver(t, inner())
		z := make([]float32, d)
		payload, err := e.Compress(nil, 0, z)
		if err != nil {
			t.Fatal(err)
		}
		wrong := binary.LittleEndian.AppendUint32(slices.Clone(payload[:len(payload)-4]), 0xff800000)
		for what, bad := range map[string][]byte{"short": payload[:11], "none": nil, "infinite": wrong, "longer": append(
			slices.Clone(payload), 0)} {
			acc := make([]float32, d)
			if e.Check(d, bad) == nil || e.AddTo(acc, 1, 0, bad) == nil {
				t.Errorf("%s: %s: accepted", name, what)
			}
			if slices.ContainsFunc(acc, func(v float32) bool { return v != 0 }) {
				t.Errorf("%s: %s: changed %v", name, what, acc)
			}
			e.Bound(d, bad)
			e.LayoutOf(d, bad)
		}
		z[d-1] = float32(math.NaN())
		if got, err := e.Compress([]byte("abc"), 0, z); err == nil || string(got) != "abc" {
			t.Errorf("%s: NaN: %q, %v", name, got, err)
		}
	}
	if _, err := NewExact(Full{}, 0); err == nil {
		t.Error("no exact coordinates were accepted")
	}
}

func TestLongerLayouts(t *testing.T) {
	l := Layout{Levels: 16, Count: 10, Head: 4, Tail: 8}
	if got := l.Longer(100); got.Tail != 108 || got.Len() != l.Len()+100 {
		t.Errorf("%+v", got)
	}
	if got := l.Longer(1 << 16); got != Bytes(l.Len()+1<<16) {
		t.Errorf("%+v", got)
	}
}
