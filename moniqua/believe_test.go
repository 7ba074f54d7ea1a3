package moniqua

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gossiptrainer/algos"
)

// Symbols cannot hold values far from the reference. Quotients can, under a hash that matches them.
func TestRepairsFarBeyondBeliefAreRefused(t *testing.T) {
	liar, honest := mustCodec(t, 16, Dither, 0.5, 8), mustCodec(t, 16, Dither, 0.5, 8)
	liar.Verify, honest.Verify = true, true
	x, far := []float32{0.25, -0.5, 1}, []float32{0.25, 1e7, 1}
	mine, payload := mustEncode(t, honest, 3, x), mustEncode(t, liar, 3, far)
	repair, _ := liar.AppendRepair(nil, 3, 0, nil)
	acc := slices.Clone(x)
	for _, limit := range []float32{1e6, 1e8} {
		in := []algos.Message{{From: 7, Weight: 0.5, Payload: payload, Repair: repair, Limit: limit}}
		_, err := honest.Mix(acc, 3, x, mine, in)
		var bad *algos.MessageError
		if refused := errors.As(err, &bad) && bad.From == 7 &&
			errors.Is(err, algos.ErrAbsurd); refused != (limit < 1e7) {
			t.Errorf("limit %v: error %v", limit, err)
		}
		if limit < 1e7 && !slices.Equal(acc, x) {
			t.Error("refused, but mixed")
		}
	}
}

func TestForgedThetasOfExchangesAreRefused(t *testing.T) {
	one, other := pairEnds(t, Codec{Levels: 256}, nil)
	if one.Propose(2, 0); other.Heed(2, math.Float32bits(1)) != nil {
		t.Error("the theta of the run is refused")
	}
	if err := other.Heed(4, math.Float32bits(3)); err == nil {
		t.Error("another theta than that of the run is heeded")
	}
	_, other = pairEnds(t, Codec{Levels: 256}, Adaptive)
	if err := other.Heed(2, math.Float32bits(1e20)); err != nil {
		t.Fatal(err)
	}
	x := []float32{1, 2}
	mine, err := other.Encode(nil, 2, x)
	if err != nil {
		t.Fatal(err)
	}
	_, err = other.Mix(x, 2, x, mine, []algos.Message{{From: 1, Weight: 0.5, Payload: mine, Limit: 1e9}})
	if !errors.Is(err, algos.ErrAbsurd) || !slices.Equal(x, []float32{1, 2}) {
		t.Errorf("error %v, model %v, want theta refused and the model as it was", err, x)
	}
}
