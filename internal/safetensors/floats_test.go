package safetensors

import (
	"encoding/binary"
	"math"
	"testing"
)

// Every number of 16 bits returns, and the middle of two neighbours goes to the even one.
func TestNumbersOf16BitsReturn(t *testing.T) {
	for _, dtype := range []string{"F16", "BF16"} {
		value := func(bits uint16) float64 {
			var v [1]float64
			Decode(v[:], binary.LittleEndian.AppendUint16(nil, bits), dtype)
			return v[0]
		}
		bits := func(v float64) uint16 { return binary.LittleEndian.Uint16(Append(nil, []float64{v}, dtype)) }
		for b := range 1 << 16 {
			b := uint16(b)
			v := value(b)
			if math.IsNaN(v) {
				if !math.IsNaN(value(bits(v))) {
					t.Fatalf("%s: %04x is no number, and becomes one", dtype, b)
				}
				continue
			}
			if got := bits(v); got != b {
				t.Fatalf("%s: %04x = %v becomes %04x", dtype, b, v, got)
			}
			next := value(b + 1)
			if b&0x7fff == 0x7fff || math.IsInf(v, 0) || math.IsInf(next, 0) || math.IsNaN(next) || b == 0x7fff {
				continue
			}
			even := b + b&1
			if got := bits((v + next) / 2); got != even {
				t.Fatalf("%s: the middle of %v and %v becomes %04x, want %04x", dtype, v, next, got, even)
			}
		}
		if bits(1e300) != bits(math.Inf(1)) || bits(-1e300) != bits(math.Inf(-1)) || bits(1e-300) != 0 {
			t.Errorf("%s: numbers out of range do not become infinite or 0", dtype)
		}
	}
}

func TestKnownNumbers(t *testing.T) {
	for _, test := range []struct {
		dtype string
		bits  uint64
		want  float64
	}{
		{"F16", 0x3c00, 1}, {"F16", 0xc000, -2}, {"F16", 0x7bff, 65504}, {"F16", 0x0001, 0x1p-24},
		{"F16", 0x3555, 0.333251953125},
		{"BF16", 0x3f80, 1}, {"BF16", 0xc049, -3.140625}, {"F32", 0x40490fdb, 3.1415927410125732},
		{"F64", 0x400921fb54442d18, math.Pi},
	} {
		raw := binary.LittleEndian.AppendUint64(nil, test.bits)[:Size(test.dtype)]
		var got [1]float64
		if Decode(got[:], raw, test.dtype); got[0] != test.want {
			t.Errorf("%s %x is %v, want %v", test.dtype, test.bits, got[0], test.want)
		}
		if back := Append(nil, got[:], test.dtype); string(back) != string(raw) {
			t.Errorf("%s %v is %x, want %x", test.dtype, test.want, back, raw)
		}
	}
}

func TestOnlyFloatsAreNumbers(t *testing.T) {
	for _, dtype := range []string{"I64", "BOOL", "F8_E4M3", "F33"} {
		if Floats(dtype) {
			t.Errorf("%s counts as floats", dtype)
		}
	}
}
