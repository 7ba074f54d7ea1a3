package entropy

import (
	"errors"
	"testing"

	"gossiptrainer/quant"
)

// fuzzLimit is the largest payload that a fuzzed one may announce.
const fuzzLimit = 1 << 16

// A decoder refuses its input or fills the announced payload. A payload that it accepts can be coded again.
func FuzzDecode(f *testing.F) {
	for i, l := range []quant.Layout{
		{Levels: 256, Count: 3000, Tail: 8}, {Levels: 3, Count: 3000, Bucket: 700, Head: 4}, {Levels: 512, Count: 900},
		quant.Floats(500), {Word: 8, Count: 90},
	} {
		for _, c := range allCoders {
			coded, by, err := mustEncoder(f, c).Encode(nil, symbolsOf(f, l, uint64(i)), l, 0)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(byte(by), coded)
		}
	}
	decoder := new(Decoder)
	f.Fuzz(func(t *testing.T, by byte, coded []byte) {
		n, err := Len(coded, fuzzLimit)
		if err != nil {
			if !errors.Is(err, ErrCoded) {
				t.Fatalf("error %v is no ErrCoded", err)
			}
			return
		}
		if n > fuzzLimit {
			t.Fatalf("%d bytes announced, at most %d", n, fuzzLimit)
		}
		payload := make([]byte, n)
		if err := decoder.Decode(payload, Coder(by), coded); err != nil {
			if !errors.Is(err, ErrCoded) {
				t.Fatalf("error %v is no ErrCoded", err)
			}
			return
		}
		layout, _, _ := parsePrefix(coded, fuzzLimit)
		code(t, mustEncoder(t, Huff0), decoder, payload, layout, 0)
	})
}

// A payload of any layout comes back unchanged, or is refused because it does not have that layout.
func FuzzRoundTrip(f *testing.F) {
	f.Add(byte(1), uint32(8), byte(0), uint32(100), uint32(30), uint16(4), []byte("some bytes, some bytes"))
	f.Add(byte(2), uint32(0), byte(4), uint32(100), uint32(0), uint16(0), []byte("more of it"))
	f.Add(byte(3), uint32(257), byte(0), uint32(1000), uint32(0), uint16(9), []byte{0, 1, 0, 0})
	f.Add(byte(4), uint32(3), byte(0), uint32(77), uint32(41), uint16(1), []byte{0})
	decoder := new(Decoder)
	f.Fuzz(func(t *testing.T, by byte, levels uint32, word byte, count, bucket uint32, head uint16, text []byte) {
		l := quant.Layout{Levels: int(levels), Word: int(word), Count: int(count), Bucket: int(bucket), Head: int(head % 64),
			Tail: int(head % 17)}
		by %= byte(coders)
		if l.Check() != nil || l.Len() > fuzzLimit || len(text) == 0 || by == 0 {
			return
		}
		payload := make([]byte, l.Len())
		for i := range payload {
			payload[i] = text[i%len(text)]
		}
		e := mustEncoder(t, Coder(by))
		if _, _, err := e.Encode(nil, payload, l, 0); err != nil {
			return // not the bytes of symbols
		}
		code(t, e, decoder, payload, l, 0)
	})
}
