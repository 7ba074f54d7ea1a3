package moniqua

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/algos"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/rng"
	"gossiptrainer/topology"
)

// A pieced is a worker whose model travels in pieces, beside one whose model is whole.
type pieced struct {
	cut, whole *Codec
	x          []float32
	parcels    [][]byte
	message    []byte
}

// drawPieced draws two workers, up to reach·θ apart.
func drawPieced(t *rapid.T) (both [2]pieced) {
	rounding := rapid.SampledFrom([]Rounding{Dither, Nearest, Stochastic, Shared}).Draw(t, "rounding")
	levels := rapid.SampledFrom([]int{2, 3, 4, 5, 16, 256, 1000, 1 << 16}).Draw(t, "levels")
	if rounding.Check(levels) != nil {
		levels = 4
	}
	seed, reach := rapid.Uint64().Draw(t, "seed"), rapid.SampledFrom([]float64{0.4, 3}).Draw(t, "reach")
	verify := rapid.Bool().Draw(t, "verify")
	d := rapid.SampledFrom([]int{1, 64, 65, 1000, 5000}).Draw(t, "d")
	exact := rapid.SampledFrom([]int{0, 0, 1, 70, 6000}).Draw(t, "exact")
	piece := rapid.SampledFrom([]int{64, 128, 1024, 2048, 6400}).Draw(t, "piece")
	draws := rng.At(seed, 1)
	for i := range both {
		w := &both[i]
		for range 2 {
			c := &Codec{Levels: levels, Rounding: rounding, Theta: func(int) float64 { return 0.5 }, Seed: seed,
				Rank: topology.Rank(i), Verify: verify, Exact: exact}
			w.cut, w.whole = w.whole, c
		}
		w.cut.Piece = piece
		w.x = make([]float32, d)
		for c := range w.x {
			gap := 2 * reach * (float64(draws.Uniform(uint32(2*c+1))) - 0.5) * 0.5
			w.x[c] = float32(10*math.Sin(float64(c)) + float64(i)*gap)
		}
	}
	return both
}

// encode makes the message of round k and its pieces.
func (w *pieced) encode(t *rapid.T, k int) {
	w.message = mustEncode(t, w.whole, k, w.x)
	w.parcels = nil
	for p := range w.cut.Pieces(len(w.x)) {
		parcel, err := w.cut.EncodePiece(nil, k, p, w.x)
		if err != nil {
			t.Fatal(err)
		}
		if l := w.cut.Layout(k, len(w.x), p); l.Len() != len(parcel) || l.Check() != nil {
			t.Fatalf("piece %d: %d bytes, layout %+v", p, len(parcel), l)
		}
		if most := w.cut.MaxPiece(len(w.x)); len(parcel) > most {
			t.Fatalf("piece %d: %d bytes, at most %d were announced", p, len(parcel), most)
		}
		w.parcels = append(w.parcels, parcel)
	}
}

// Encoding, checking, repairing and mixing in pieces, in any order, give the model and the observations of whole
// messages. A message in one piece has the bytes of a whole one.
func TestPiecesGiveTheModelOfWholeMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const k = 7
		both := drawPieced(t)
		for i := range both {
			both[i].encode(t, k)
		}
		me, other := &both[0], &both[1]
		n := len(me.parcels)
		if n == 1 && !bytes.Equal(me.parcels[0], me.message) {
			t.Fatal("the one piece is not the message")
		}
		want, whole := slices.Clone(me.x), []algos.Message{{From: 1, Weight: 0.3, Payload: other.message}}
		wantSaw, err := me.whole.Mix(want, k, want, me.message, whole)
		_, wrong := errors.AsType[*algos.MismatchError](err)
		spans := rapid.Bool().Draw(t, "spans")
		if wrong {
			whole[0].Repair = repairOf(t, other.whole, k, 0, err, spans)
			wantSaw, err = me.whole.Mix(want, k, want, me.message, whole)
		}
		if err != nil {
			t.Fatal(err)
		}
		got, saw, mended := slices.Clone(me.x), algos.Mixed{}, false
		for _, p := range rapid.Permutation(numbers(n)).Draw(t, "order") {
			in := []algos.Message{{From: 1, Weight: 0.3, Payload: other.parcels[p]}}
			err := me.cut.CheckPiece(k, p, got, in)
			if _, wrong := errors.AsType[*algos.MismatchError](err); wrong {
				repair := repairOf(t, other.cut, k, p, err, spans)
				if most := other.cut.MaxPiece(len(other.x)); len(repair) > most {
					t.Fatalf("piece %d: a repair of %d bytes, at most %d", p, len(repair), most)
				}
				in[0].Repair, mended = repair, true
				err = me.cut.CheckPiece(k, p, got, in)
			}
			one, also := me.cut.MixPiece(k, p, algos.Own{Acc: got, X: got, Mine: me.parcels[p]}, in)
			if err := errors.Join(err, also); err != nil {
				t.Fatal(err)
			}
			saw = saw.Join(one)
		}
		if !sameBits(got, want) || saw != wantSaw || mended != wrong {
			t.Fatalf("%d pieces: %+v, repairs: %v; whole: %+v, %v; or another model", n, saw, mended, wantSaw, wrong)
		}
	})
}

func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// A repair of a piece that is given for another one is refused.
func TestRepairsBelongToTheirPiece(t *testing.T) {
	const k, d = 4, 300
	c := &Codec{Levels: 16, Theta: func(int) float64 { return 0.1 }, Seed: 1, Verify: true, Piece: 128}
	x, y := around(d, 1, 0.01), around(d, 2, 9)
	theirs := *c
	var parcels [][]byte
	for p := range c.Pieces(d) {
		parcel, err := theirs.EncodePiece(nil, k, p, y)
		if err != nil {
			t.Fatal(err)
		}
		parcels = append(parcels, parcel)
	}
	if len(parcels) != 3 {
		t.Fatalf("%d pieces, want 3", len(parcels))
	}
	for p := range parcels {
		for q := range parcels {
			repair, _ := theirs.AppendRepair(nil, k, q, nil)
			err := c.CheckPiece(k, p, x, []algos.Message{{From: 1, Weight: 1, Payload: parcels[p], Repair: repair}})
			if (err == nil) != (p == q) {
				t.Errorf("piece %d with the repair of piece %d: %v", p, q, err)
			}
		}
	}
	for _, p := range []int{-1, 3} {
		if _, ok := theirs.AppendRepair(nil, k, p, nil); ok {
			t.Errorf("a repair of piece %d of 3", p)
		}
	}
}

// A checkpoint holds the repairs of all pieces of the last message.
func TestSavedRepairsAreThoseOfTheirPieces(t *testing.T) {
	for _, test := range []struct{ levels, d, piece int }{
		{16, 5_000, 64}, {16, 4_096, 2_048}, {3, 5_000, 1_000}, {1000, 3_001, 1_500}, {4, 70_000, 0}, {4, 64_512, 0},
		{5, 100, 200},
	} {
		make := func() *Codec {
			return &Codec{Levels: test.levels, Theta: func(int) float64 { return 0.01 }, Verify: true, Piece: test.piece}
		}
		c, x := make(), around(test.d, 1, 3)
		for p := range c.Pieces(test.d) {
			if _, err := c.EncodePiece(nil, 6, p, x); err != nil {
				t.Fatal(err)
			}
		}
		var saved state.Snapshot
		saved.Save("codec", c)
		again := make()
		if err := saved.Load("codec", again); err != nil {
			t.Fatal(err)
		}
		for p := range c.Pieces(test.d) + 1 {
			want, known := c.AppendRepair(nil, 6, p, nil)
			got, ok := again.AppendRepair(nil, 6, p, nil)
			if ok != known || ok != (p < c.Pieces(test.d)) || !bytes.Equal(got, want) {
				t.Errorf("%+v: piece %d: %d bytes (%v), want %d (%v)", test, p, len(got), ok, len(want), known)
			}
		}
	}
}

// The standard piece fills a message of 64 KiB at 8 bits, and smaller models travel whole.
func TestStandardPieces(t *testing.T) {
	for _, test := range []struct{ levels, exact, d, pieces int }{
		{256, 0, 64_512, 1}, {256, 0, 64_513, 2}, {2, 0, 3 * 64_512, 3}, {256, 100, 64_612, 1}, {256, 100, 64_613, 2},
		{3, 0, 63_000, 1}, {3, 0, 63_001, 2}, {256, 500, 400, 1}, {256, 0, 0, 1},
	} {
		c := &Codec{Levels: test.levels, Exact: test.exact}
		if got := c.Pieces(test.d); got != test.pieces {
			t.Errorf("%+v: %d pieces", test, got)
		}
		if test.levels == 256 && test.exact == 0 && (algos.Full{}).Pieces(test.d) != test.pieces {
			t.Errorf("%+v: %d pieces in full precision", test, algos.Full{}.Pieces(test.d))
		}
	}
	if most := (&Codec{Levels: 256, Verify: false}).MaxPiece(1 << 30); most != 64_512 {
		t.Errorf("%d bytes, want 64,512", most)
	}
}
