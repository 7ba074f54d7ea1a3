package quant

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// switched returns a compressor that changes its bits with the round, made of
// minmax or qsgd.
func switched(t testing.TB, of func(bits int) (Compressor, error), bits func(k int) int) *Switched {
	t.Helper()
	s, err := NewSwitched(2, 8, bits, of)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var switchable = map[string]func(bits int) (Compressor, error){
	"minmax": func(bits int) (Compressor, error) { return NewMinMax(bits, 100, Stochastic, 3) },
	"qsgd":   func(bits int) (Compressor, error) { return NewQSGD(bits, 100, LInf, 3) },
}

func everyRound(k int) int { return 2 + k*5%7 }

// The receiver has the sender's vector, whatever bits it expects, and so does a compressor with these
// bits alone.
func TestSwitchedIsExactAtBothEnds(t *testing.T) {
	for name, of := range switchable {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				bits := rapid.SliceOfN(rapid.IntRange(2, 8), 1, 6).Draw(r, "bits")
				d := rapid.IntRange(0, 300).Draw(r, "d")
				sender := switched(t, of, func(k int) int { return bits[k] })
				receiver := switched(t, of, nil)
				for k := range bits {
					z := rapid.SliceOfN(rapid.Float32Range(-100, 100), d, d).Draw(r, "z")
					payload, err := sender.Compress(nil, k, z)
					if err != nil {
						t.Fatal(err)
					}
					if len(payload) > sender.Len(d) || int(payload[len(payload)-1]) != bits[k] {
						t.Fatalf("round %d: %d bytes naming %d bits, want at most %d and %d", k, len(payload),
							payload[len(payload)-1], sender.Len(d), bits[k])
					}
					plain, _ := of(bits[k])
					alone, err := plain.Compress(nil, k, z)
					if err != nil || !bytes.Equal(payload[:len(payload)-1], alone) {
						t.Fatalf("round %d: another payload than that of %d bits alone", k, bits[k])
					}
					mine, theirs := make([]float32, d), make([]float32, d)
					if err := sender.AddTo(mine, 1, k, payload); err != nil {
						t.Fatal(err)
					}
					if err := receiver.AddTo(theirs, 1, k, payload); err != nil || !slices.Equal(mine, theirs) {
						t.Fatalf("round %d: sender and receiver differ: %v", k, err)
					}
				}
			})
		})
	}
}

func TestSwitchedHasWhatAllHave(t *testing.T) {
	scaled := func(bits int) (Compressor, error) {
		q, err := NewQSGD(bits, 0, L2, 1)
		if bits > 4 {
			err = errors.Join(err, q.Scale())
		}
		return q, err
	}
	s := switched(t, scaled, everyRound)
	if p := s.Properties(); p.Unbiased || p.Contraction || p.Deterministic {
		t.Errorf("properties %+v of a mixture that has none in common", p)
	}
	if got, want := s.Len(800), 1+4+800; got != want {
		t.Errorf("%d bytes at most, want %d", got, want)
	}
}

// The layout is that of the bits in the payload, whatever the others have.
func TestSwitchedLayout(t *testing.T) {
	const d = 250
	s := switched(t, switchable["minmax"], everyRound)
	for k := range 7 {
		payload, err := s.Compress(nil, k, make([]float32, d))
		if err != nil {
			t.Fatal(err)
		}
		want := Layout{Levels: 1 << everyRound(k), Count: d, Bucket: 100, Head: 8, Tail: 1}
		if got := s.LayoutOf(d, payload); got != want || got.Len() != len(payload) {
			t.Errorf("%d bits: %+v of %d bytes, want %+v of %d", everyRound(k), got, got.Len(), want, len(payload))
		}
	}
	for _, none := range [][]byte{nil, {9}, {0, 0, 3}} {
		if got := s.LayoutOf(d, none); got != Bytes(len(none)) {
			t.Errorf("% x: %+v", none, got)
		}
	}
}

func TestSwitchedRefuses(t *testing.T) {
	of := switchable["minmax"]
	s := switched(t, of, func(int) int { return 9 })
	if dst, err := s.Compress([]byte("before"), 4, make([]float32, 3)); string(dst) != "before" ||
		err == nil || !strings.Contains(err.Error(), "round 4: 9 bits: must be 2 to 8") {
		t.Errorf("9 bits: %q, error %v", dst, err)
	}
	for name, payload := range map[string][]byte{
		"nothing": nil, "0 bits": {1, 2, 3, 0}, "9 bits": {1, 2, 3, 9},
		"bits of another payload": append(make([]byte, 10), 3),
	} {
		acc := []float32{1, 2, 3, 4, 5, 6, 7, 8}
		if s.Check(len(acc), payload) == nil || s.AddTo(acc, 1, 0, payload) == nil {
			t.Errorf("%s: accepted", name)
		}
		if !slices.Equal(acc, []float32{1, 2, 3, 4, 5, 6, 7, 8}) {
			t.Errorf("%s: the model has changed", name)
		}
	}
	for _, r := range [][2]int{{0, 8}, {5, 4}, {1, 256}} {
		if _, err := NewSwitched(r[0], r[1], everyRound, of); err == nil {
			t.Errorf("%d to %d bits: accepted", r[0], r[1])
		}
	}
	_, err := NewSwitched(1, 8, everyRound, switchable["qsgd"])
	if err == nil || !strings.Contains(err.Error(), "switched: 1 bits") {
		t.Errorf("a compressor that has no 1 bit: error %v", err)
	}
}

func TestSwitchedAllocatesNothing(t *testing.T) {
	s := switched(t, switchable["minmax"], everyRound)
	z, payload, k := make([]float32, 1000), []byte(nil), 0
	payload, _ = s.Compress(payload, 4, z)
	got := testing.AllocsPerRun(50, func() {
		payload, _ = s.Compress(payload[:0], k, z)
		if err := s.AddTo(z, 1, k, payload); err != nil {
			t.Error(err)
		}
		k++
	})
	if got != 0 {
		t.Errorf("%v allocations per round", got)
	}
}

func FuzzSwitched(f *testing.F) {
	s := switched(f, switchable["minmax"], everyRound)
	good, _ := s.Compress(nil, 3, make([]float32, 20))
	f.Add(good)
	f.Add([]byte{2})
	f.Fuzz(func(t *testing.T, payload []byte) {
		acc := make([]float32, 20)
		if ok := s.Check(20, payload) == nil; ok != (s.AddTo(acc, 1, 0, payload) == nil) {
			t.Errorf("check says %v, decoding another thing", ok)
		}
	})
}
