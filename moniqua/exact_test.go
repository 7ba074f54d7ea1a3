package moniqua

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/quant"
)

// exactly returns a codec of models whose last coordinates are exact, and one of the coordinates before them.
func exactly(levels int, verify bool, theta float64) (whole, before *Codec) {
	of := func(int) float64 { return theta }
	whole = &Codec{Levels: levels, Theta: of, Seed: 3, Verify: verify, Exact: 5}
	before = &Codec{Levels: levels, Theta: of, Seed: 3, Verify: verify}
	return whole, before
}

// around returns d coordinates within a distance of a wave.
func around(d, seed int, distance float64) []float32 {
	x := make([]float32, d)
	for c := range x {
		x[c] = float32(math.Sin(float64(c)) + distance*math.Cos(float64(c*seed+seed)))
	}
	return x
}

func encoded(t *testing.T, c algos.Codec, x []float32) []byte {
	t.Helper()
	payload, err := c.Encode(nil, 7, x)
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

// A message is one of the other coordinates with floats behind it, and mixing treats both parts as their codecs do.
func TestExactCoordinatesTravelBeside(t *testing.T) {
	const d, at = 205, 200
	for _, levels := range []int{2, 5, 16, 256, 1000} {
		for _, verify := range []bool{false, true} {
			whole, before := exactly(levels, verify, 0.5)
			x, y := around(d, 1, 0.1), around(d, 2, 0.1)
			mine, payload := encoded(t, whole, x), encoded(t, whole, y)
			first, last := encoded(t, before, y[:at]), encoded(t, algos.Full{}, y[at:])
			if !bytes.Equal(payload, slices.Concat(first, last)) {
				t.Fatalf("%d levels: the payload is not that of both parts", levels)
			}
			if got := whole.Layout(7, d, 0); got.Len() != len(payload) || got.Check() != nil || got.Count != at {
				t.Errorf("%d levels: layout %+v of %d bytes", levels, got, len(payload))
			}
			if most := whole.MaxPayload(d); most < len(payload) || most > before.MaxPayload(at)+4*5+HashLen {
				t.Errorf("%d levels: at most %d bytes, a message has %d", levels, most, len(payload))
			}
			for _, inPlace := range []bool{true, false} {
				got, want := slices.Clone(x), slices.Clone(x)
				reference := got
				if !inPlace {
					reference = x
				}
				saw, err := whole.Mix(got, 7, reference, mine, []algos.Message{{From: 1, Weight: 0.25, Payload: payload}})
				if err != nil {
					t.Fatal(err)
				}
				of, err := before.Mix(want[:at], 7, x[:at], encoded(t, before, x[:at]),
					[]algos.Message{{From: 1, Weight: 0.25, Payload: first}})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := (algos.Full{}).Mix(want[at:], 7, x[at:], nil,
					[]algos.Message{{From: 1, Weight: 0.25, Payload: last}}); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, want) || saw.Gap != of.Gap || saw.Moved != of.Moved+5 || saw.Largest < 0.5 {
					t.Errorf("%d levels: %+v, want %+v and the mix of both parts", levels, saw, of)
				}
			}
		}
	}
}

// On any error the model stays as it was.
func TestBadExactCoordinatesChangeNothing(t *testing.T) {
	const d = 205
	whole, _ := exactly(256, true, 0.5)
	x, y := around(d, 1, 0.1), around(d, 2, 0.1)
	mine, payload := encoded(t, whole, x), encoded(t, whole, y)
	far := around(d, 2, 0.1)
	far[3] += 9 // which cannot be recovered
	for name, m := range map[string]algos.Message{
		"not a number": {Payload: binary.LittleEndian.AppendUint32(slices.Clone(payload[:len(payload)-4]), 0x7fc00000)},
		"short":        {Payload: payload[:11]},
		"a byte less":  {Payload: payload[1:]},
		"absurd":       {Payload: payload, Limit: 0.01},
		"wrong":        {Payload: encoded(t, whole, far)},
	} {
		acc := slices.Clone(x)
		m.From, m.Weight = 3, 0.5
		_, err := whole.Mix(acc, 7, acc, mine, []algos.Message{m})
		var of *algos.MessageError
		var mismatch *algos.MismatchError
		if !(errors.As(err, &of) && of.From == 3) && !(errors.As(err, &mismatch) && name == "wrong") {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Equal(acc, x) {
			t.Errorf("%s: the model has changed", name)
		}
	}
}

func TestExactCoordinatesThatAreNotFinite(t *testing.T) {
	whole, _ := exactly(256, true, 0.5)
	x := around(205, 1, 0.1)
	x[204] = float32(math.Inf(1))
	if got, err := whole.Encode([]byte("abc"), 7, x); err == nil || string(got) != "abc" {
		t.Errorf("%q, %v", got, err)
	}
}

// θ does not depend on exact coordinates: where a control measures gaps, it leaves them out.
func TestExactCoordinatesHaveNoGap(t *testing.T) {
	control, err := Measured(ControlPlan{Diameter: 1, Every: 1, Start: 1, Unit: func(int) float64 { return 1 }})
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewControlled(256, Dither, control, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.Exact = 1
	if !full(c, 0) {
		t.Fatal("the first round is not in full precision")
	}
	payload, err := c.Encode(nil, 0, []float32{1.25, 900})
	if err != nil || len(payload) != 8 || c.MaxPayload(2) < 8 {
		t.Fatalf("%d bytes, %v", len(payload), err)
	}
	x := []float32{1, 100}
	saw, err := c.Mix(x, 0, x, nil, []algos.Message{{From: 1, Weight: 0.5, Payload: payload}})
	if err != nil || saw.Gap != 0.25 || saw.Moved != 2 || saw.Largest != 900 || x[1] != 500 {
		t.Errorf("%+v, %v, model %v", saw, err, x)
	}
}

func TestManyExactCoordinatesHaveNoLayout(t *testing.T) {
	c, _ := exactly(16, true, 1)
	c.Exact = 20_000
	d := 30_000
	if got, want := c.Layout(0, d, 0), quant.Bytes(5_000+HashLen+80_000); got != want || got.Check() != nil {
		t.Errorf("layout %+v, want %+v", got, want)
	}
}
