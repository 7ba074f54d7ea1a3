package record

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"
)

func TestDigestIsOfLittleEndianFloats(t *testing.T) {
	for _, n := range []int{0, 1, 1023, 1024, 1025, 5000} {
		x := make([]float32, n)
		var bytes []byte
		for i := range x {
			x[i] = float32(i)*0.37 - 5
			bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(x[i]))
		}
		if got, want := Digest(x), sha256.Sum256(bytes); got != want {
			t.Errorf("%d values: %x, want %x", n, got, want)
		}
	}
}

// SHA-256 of the eight bytes 00 00 80 3f 00 00 00 c0 by sha256sum.
func TestDigestOfKnownValues(t *testing.T) {
	d := Digest([]float32{1, -2})
	if got, want := hex.EncodeToString(d[:]),
		"ee4ac73c2bd27756ab82780f27c73a7bc4d3f0bb6acb37e008bc27eccd7e588b"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestRunDigestHashesInRankOrder(t *testing.T) {
	a, b := Digest([]float32{1}), Digest([]float32{2})
	if got, want := RunDigest([][32]byte{a, b}), sha256.Sum256(append(a[:], b[:]...)); got != want {
		t.Errorf("%x, want %x", got, want)
	}
	if RunDigest([][32]byte{a, b}) == RunDigest([][32]byte{b, a}) {
		t.Error("the order of the workers does not matter")
	}
}
