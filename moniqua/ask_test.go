package moniqua

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"gossiptrainer/algos"
)

// repairOf returns the repair of a piece for the receiver with a mismatch err: of the spans that it needs, or of all.
func repairOf(t fataler, sender *Codec, k, piece int, err error, spans bool) []byte {
	t.Helper()
	wrong, ok := errors.AsType[*algos.MismatchError](err)
	if !ok {
		t.Fatal("want a mismatch:", err)
	}
	var asked []byte
	if spans {
		asked = wrong.Asked(0)
	}
	repair, ok := sender.AppendRepair(nil, k, piece, asked)
	if !ok {
		t.Fatal("no repair is kept")
	}
	return repair
}

// outlying returns two models of d coordinates that differ by less than θ = 0.1 but in the coordinates far. It returns
// the first one itself and the message of the second one, with the codecs of both.
func outlying(t fataler, levels, d int, far ...int) (c, theirs *Codec, x []float32, in []algos.Message) {
	theirs = &Codec{Levels: levels, Theta: func(int) float64 { return 0.1 }, Seed: 1, Verify: true, Rank: 1}
	c = theirs.as(0)
	x = make([]float32, d)
	y := make([]float32, d)
	for i := range x {
		x[i] = float32(math.Sin(float64(i)))
		y[i] = x[i] + 0.01*float32(i%3)
	}
	for _, i := range far {
		y[i] += 0.5
	}
	mustEncode(t, c, 4, x)
	return c, theirs, x, []algos.Message{{From: 1, Weight: 0.25, Payload: mustEncode(t, theirs, 4, y)}}
}

// A repair has the spans that are wrong, wherever they are, and completed it is the repair of all coordinates.
func TestRepairsOfSpansAreCompleted(t *testing.T) {
	for _, levels := range []int{2, 5, 16, 256} {
		for _, far := range [][]int{{0}, {255}, {256}, {4999}, {1023, 1024}, {10, 300, 600, 900, 4998}} {
			c, theirs, x, in := outlying(t, levels, 5000, far...)
			err := c.CheckPiece(4, 0, x, in)
			all, some := repairOf(t, theirs, 4, 0, err, false), repairOf(t, theirs, 4, 0, err, true)
			if most := len(ofSpans) + 5 + len(far)*(quotientHead+len(all)/(5000/spanLen)+spanLen/8); len(some) > most {
				t.Errorf("%d levels, %v: %d bytes, want at most %d; all coordinates take %d", levels, far, len(some), most,
					len(all))
			}
			in[0].Repair = some
			if err := c.CheckPiece(4, 0, x, in); err != nil {
				t.Errorf("%d levels, %v: %v", levels, far, err)
			}
			if !bytes.Equal(in[0].Repair, all) {
				t.Errorf("%d levels, %v: the completed repair differs from that of all coordinates", levels, far)
			}
		}
	}
}

// Where all spans are wrong, the repair of all of them is shorter.
func TestARepairOfAllSpansIsTheShorterOne(t *testing.T) {
	far := make([]int, 3000)
	for i := range far {
		far[i] = i
	}
	c, theirs, x, in := outlying(t, 16, 3000, far...)
	err := c.CheckPiece(4, 0, x, in)
	if !bytes.Equal(repairOf(t, theirs, 4, 0, err, true), repairOf(t, theirs, 4, 0, err, false)) {
		t.Error("a repair of spans takes more bytes than one of all coordinates")
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	c, theirs, x, in := outlying(t, 16, 3000, 7)
	wrong, _ := errors.AsType[*algos.MismatchError](c.CheckPiece(4, 0, x, in))
	asked := wrong.Asked(0)
	if want := countLen + HashLen*12; len(asked) != want || binary.LittleEndian.Uint32(asked) != 3000 {
		t.Fatalf("a request of %d bytes for 3000 coordinates, want %d", len(asked), want)
	}
	other, huge := slices.Clone(asked), slices.Clone(asked)
	other[1]++ // 3256 coordinates
	copy(huge, []byte{0xff, 0xff, 0xff, 0xff})
	for name, bad := range map[string][]byte{
		"short": asked[:len(asked)-1], "long": append(slices.Clone(asked), 0), "a head alone": asked[:3],
		"another count": other, "a huge count": huge, "more spans": append(other, asked[:HashLen]...),
	} {
		if _, ok := theirs.AppendRepair(nil, 4, 0, bad); ok {
			t.Errorf("%s: %d bytes are answered", name, len(bad))
		}
	}
}

func TestBadRepairsOfSpansAreRefused(t *testing.T) {
	c, theirs, x, in := outlying(t, 16, 3000, 7, 2900)
	sound := repairOf(t, theirs, 4, 0, c.CheckPiece(4, 0, x, in), true)
	none := append([]byte(ofSpans), 0, 0, 0)
	for name, bad := range map[string][]byte{
		"no block": []byte(ofSpans), "nothing wrong": none, "cut off": sound[:len(sound)-1], "too long": append(sound, 0),
		"a span too many": flipped(none, len(none)-1), "a mask beyond the block": append(none[:len(none)-1], 0x10),
		"another span": flipped(sound, len(ofSpans)),
	} {
		in[0].Repair = bad
		var sorry *algos.MessageError
		if err := c.CheckPiece(4, 0, x, in); !errors.As(err, &sorry) || sorry.From != 1 {
			t.Errorf("%s: error %v, want a message error", name, err)
		}
	}
}

func FuzzSpans(f *testing.F) {
	c, theirs, x, sound := outlying(f, 16, 1300, 7, 1299)
	err := c.CheckPiece(4, 0, x, sound)
	wrong, _ := errors.AsType[*algos.MismatchError](err)
	f.Add(wrong.Asked(0))
	f.Add(repairOf(f, theirs, 4, 0, err, true))
	f.Add([]byte{0, 0, 0, 0, 0xff, 3, 0, 0, 0, 0, 40})
	f.Fuzz(func(t *testing.T, b []byte) {
		if repair, ok := theirs.AppendRepair(nil, 4, 0, b); ok && len(repair) > theirs.MaxPiece(len(x)) {
			t.Errorf("a repair of %d bytes", len(repair))
		}
		in := slices.Clone(sound)
		in[0].Repair = b
		if b == nil {
			in[0].Repair = []byte{}
		}
		var sorry *algos.MessageError
		if err := c.CheckPiece(4, 0, x, in); err != nil && !errors.As(err, &sorry) {
			t.Errorf("error %v, want a message error", err)
		}
	})
}
