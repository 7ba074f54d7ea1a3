package still

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"gossiptrainer/internal/vec"
	"gossiptrainer/internal/wire/entropy"
)

// start returns n different numbers.
func start(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i + 1)
	}
	return x
}

// payload returns a payload with some bytes before and after the numbers, and the span of these.
func payload(x []float32, first int) ([]byte, Span) {
	body := vec.AppendLE([]byte("seven b"), x)
	return append(body, "end"...), Span{At: 7, First: first, Count: len(x)}
}

func TestWhatHasNotChangedIsLeftOut(t *testing.T) {
	x := start(1000)
	changed := slices.Clone(x)
	changed[500] = -1
	moved := slices.Clone(x[100:])
	const frame = headLen + len("seven b") + len("end")
	for _, test := range []struct {
		name  string
		x     []float32
		first int
		want  int // bytes of the coded form
	}{
		{"the start", x, 0, frame + 4},
		{"a part of the start", moved, 100, frame + 4},
		{"one number changed", changed, 0, frame + 3*4 + 4},
		{"differences that are 0", make([]float32, 1000), 0, frame + 4},
		{"zeros beyond the start", make([]float32, 1000), 5000, frame + 4},
		{"half of it 0", append(slices.Clone(x[:500]), make([]float32, 500)...), 0, frame + 2*4},
		{"other numbers", moved, 0, 0},
		{"minus zero, which is not 0", slices.Repeat([]float32{float32(math.Copysign(0, -1))}, 1000), 0, 0},
		{"too few numbers to be worth a run", x[:shortest-1], 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := New(x)
			plain, span := payload(test.x, test.first)
			coded, shorter := s.Encode([]byte("before"), plain, span)
			if got := len(coded) - len("before"); got != test.want || shorter != (test.want > 0) {
				t.Fatalf("%d bytes, want %d; shorter: %v", got, test.want, shorter)
			}
			if !shorter {
				return
			}
			back := bytes.Repeat([]byte{0xab}, len(plain))
			n, err := Len(coded[len("before"):], len(plain))
			if err != nil || n != len(plain) {
				t.Fatal(n, err)
			}
			if err := New(x).Decode(back, coded[len("before"):]); err != nil || !bytes.Equal(back, plain) {
				t.Errorf("%v, or another payload comes back", err)
			}
		})
	}
}

func TestNothingIsLeftOutWithoutAStart(t *testing.T) {
	plain, span := payload(start(100), 0)
	if s := New(nil); s != nil {
		t.Error("a start of no numbers")
	}
	if coded, shorter := (*Start)(nil).Encode(nil, plain, span); shorter || len(coded) > 0 {
		t.Errorf("%d bytes", len(coded))
	}
	if _, shorter := New(start(100)).Encode(nil, plain, Span{At: 90, Count: 100}); shorter {
		t.Error("a span beyond the payload is coded")
	}
}

func TestOtherBytesAreRefused(t *testing.T) {
	x := start(100)
	plain, span := payload(append(start(50), 9, 8, 7), 0)
	coded, _ := New(x).Encode(nil, plain, span)
	room := make([]byte, len(plain))
	changed := func(at int, value byte) []byte {
		b := slices.Clone(coded)
		b[at] = value
		return b
	}
	for _, test := range []struct {
		name  string
		start *Start
		coded []byte
	}{
		{"another start", New(start(99)), coded},
		{"no start", nil, coded},
		{"a head alone", New(x), coded[:headLen]},
		{"a part of a head", New(x), coded[:headLen-1]},
		{"another length", New(x), changed(0, 1)},
		{"a span beyond the payload", New(x), changed(5, 1)},
		{"a first number beyond the start", New(x), changed(8, 99)},
		{"another sum", New(x), changed(12, coded[12]+1)},
		{"more runs than bytes", New(x), changed(17, 1)},
		{"a longer run", New(x), changed(21, 1)},
		{"a run of kind 3", New(x), changed(20, coded[20]|3)},
		{"cut off", New(x), coded[:len(coded)-1]},
		{"too long", New(x), append(slices.Clone(coded), 0)},
	} {
		if err := test.start.Decode(room, test.coded); !errors.Is(err, entropy.ErrCoded) {
			t.Errorf("%s: error %v", test.name, err)
		}
	}
	if _, err := Len(coded, len(plain)-1); !errors.Is(err, entropy.ErrCoded) {
		t.Errorf("a payload that is too long: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	plain, span := payload(append(start(50), 9, 8, 7), 0)
	coded, _ := New(start(100)).Encode(nil, plain, span)
	f.Add(coded)
	f.Fuzz(func(t *testing.T, coded []byte) {
		n, err := Len(coded, 1<<12)
		if err != nil {
			return
		}
		room := make([]byte, n)
		if err := New(start(100)).Decode(room, coded); err != nil && !errors.Is(err, entropy.ErrCoded) {
			t.Errorf("error %v", err)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	x := start(200_000)
	s, plain, room := New(x), vec.AppendLE(nil, x), []byte(nil)
	b.SetBytes(int64(len(plain)))
	for b.Loop() {
		room, _ = s.Encode(room[:0], plain, Span{Count: len(x)})
	}
}
