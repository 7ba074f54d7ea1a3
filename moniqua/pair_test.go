package moniqua

import (
	"errors"
	"math"
	"testing"

	"gossiptrainer/algos"
)

// meetings lets one worker offer exchanges of a given gap and returns its thetas.
func meetings(c *PairControl, exchanges int, gap func(e int) float64) []float64 {
	thetas := make([]float64, exchanges)
	for e := range thetas {
		g, wrong := gap(e), 0
		unit := c.unit(e)
		thetas[e] = c.choose(e)
		if thetas[e] > 0 && g >= thetas[e] {
			wrong = 1
		}
		c.ended(unit, algos.Mixed{Gap: float32(g)}, wrong)
	}
	return thetas
}

func mustPairControl(t *testing.T, rule func(ControlPlan) (*Control, error), plan ControlPlan) *PairControl {
	t.Helper()
	c, err := NewPairControl(rule, plan)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The gap of one exchange counts from the second one after it on.
func TestPairsAdaptAtOnce(t *testing.T) {
	half := func(int) float64 { return 0.5 }
	c := mustPairControl(t, Adaptive, ControlPlan{Start: 0.02, Unit: half})
	got := meetings(c, 250, func(int) float64 { return 1 })
	for e, want := range map[int]float64{0: 0.01, 1: 0.01, 2: 1.28, 3: 1.28, 249: 1.28} {
		if math.Abs(got[e]-want) > 1e-6 {
			t.Errorf("exchange %d: theta %v, want %v", e, got[e], want)
		}
	}
	got = meetings(c, 250, func(int) float64 { return 0.3 })
	if got[150] >= 1.28 || got[240] >= got[150] || got[240] < 0.9*1.28 {
		t.Errorf("smaller gaps: theta %v, then %v, want it to shrink by 0.97 twice", got[150], got[240])
	}
	fresh := mustPairControl(t, Adaptive, ControlPlan{Start: 128, Unit: half})
	if got := meetings(fresh, 40, func(int) float64 { return 0.3 })[39]; got < 0.5 || got > 1 {
		t.Errorf("started far too large: theta %v, want halvings to 0.5 .. 1", got)
	}
}

func TestPairsFollowTheStepSize(t *testing.T) {
	c := mustPairControl(t, Adaptive,
		ControlPlan{Start: 4, Unit: func(clock int) float64 { return 1 / float64(1+clock) }})
	got := meetings(c, 10, func(e int) float64 { return 2 / float64(1+e) })
	for e, theta := range got {
		if want := 4 / float64(1+e); math.Abs(theta-want) > 1e-6*want {
			t.Errorf("exchange %d: theta %v, want %v", e, theta, want)
		}
	}
	if c.Theta() != got[9] {
		t.Errorf("theta of the last exchange: %v, want %v", c.Theta(), got[9])
	}
}

func TestPairsMeasureInFullPrecision(t *testing.T) {
	c := mustPairControl(t, Measured, ControlPlan{Start: 9, Unit: func(int) float64 { return 1 }})
	for e, theta := range meetings(c, 60, func(e int) float64 { return float64(min(e, 15)) / 10 }) {
		if full := theta == 0; full != (e < warmup+1) {
			t.Errorf("exchange %d: theta %v", e, theta)
		} else if !full && theta != 3 {
			t.Errorf("exchange %d: theta %v, want twice the largest gap, 3", e, theta)
		}
	}
}

// pairEnds returns the codecs of the two ends of a link.
func pairEnds(t *testing.T, template Codec, rule func(ControlPlan) (*Control, error)) (one, other *PairCodec) {
	t.Helper()
	ends := [2]*PairCodec{}
	for i := range ends {
		control, err := NewPairFixed(1)
		if rule != nil {
			control, err = NewPairControl(rule, ControlPlan{Start: 1, Unit: func(int) float64 { return 1 }})
		}
		if err != nil {
			t.Fatal(err)
		}
		if ends[i], err = NewPair(template, 1, control); err != nil {
			t.Fatal(err)
		}
	}
	return ends[0], ends[1]
}

// Both ends of an exchange use the θ of its initiator, for messages and repairs.
func TestBothEndsTakeTheSameTheta(t *testing.T) {
	for name, c := range map[string]struct {
		rule func(ControlPlan) (*Control, error)
		note uint32
		size int
	}{
		"fixed":          {nil, math.Float32bits(1), 3 + HashLen},
		"adaptive":       {Adaptive, math.Float32bits(1), 3 + HashLen},
		"full precision": {Measured, 0, 12},
	} {
		one, other := pairEnds(t, Codec{Levels: 256, Verify: true}, c.rule)
		note := one.Propose(4, 0)
		if note != c.note {
			t.Errorf("%s: note %#x, want %#x", name, note, c.note)
		}
		if err := other.Heed(4, note); err != nil {
			t.Fatal(err)
		}
		x, y := []float32{0, 0.25, 0.5}, []float32{0.5, 0.25, 0}
		offer, err := one.Encode(nil, 4, x)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := other.Encode(nil, 4, y)
		if err != nil {
			t.Fatal(err)
		}
		if len(offer) != c.size || len(reply) != c.size || len(offer) > one.MaxPayload(3) {
			t.Errorf("%s: payloads of %d and %d bytes, at most %d, want %d", name, len(offer), len(reply),
				one.MaxPayload(3), c.size)
		}
		sum := []float32{0, 0, 0}
		if _, err := one.Mix(sum, 4, x, offer, []algos.Message{{From: 1, Weight: 0.5, Payload: reply}}); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Mix(sum, 4, y, reply, []algos.Message{{From: 1, Weight: 0.5, Payload: offer}}); err != nil {
			t.Fatal(err)
		}
		if sum[0] != 0 || sum[1] != 0 || sum[2] != 0 {
			t.Errorf("%s: what one end gains the other must lose: %v is left", name, sum)
		}
		_, known := one.AppendRepair(nil, 4, 0, nil)
		if _, ok := one.AppendRepair(nil, 6, 0, nil); ok || known != (c.note != 0) {
			t.Errorf("%s: repair known %v, of another exchange %v", name, known, ok)
		}
	}
}

// A link keeps the quotients of its two exchanges, and no others.
func TestAPairKeepsOneRepairForEachEnd(t *testing.T) {
	one, _ := pairEnds(t, Codec{Levels: 16, Verify: true}, nil)
	x := make([]float32, 3000)
	for number := range 20 {
		if number%2 == 0 {
			one.Propose(number, 0)
		} else if err := one.Heed(number, math.Float32bits(1)); err != nil {
			t.Fatal(err)
		}
		if _, err := one.Encode(nil, number, x); err != nil {
			t.Fatal(err)
		}
		for back := range 4 {
			if _, ok := one.AppendRepair(nil, number-back, 0, nil); ok != (back < 2 && number >= back) {
				t.Errorf("after exchange %d: repair of %d known: %v", number, number-back, ok)
			}
		}
	}
	if got := one.ExtraMemory(); got < 2*3*quotientHead || got > 200 {
		t.Errorf("%d bytes for two times 3 blocks of equal quotients", got)
	}
}

func TestPairsThatCannotBe(t *testing.T) {
	for _, theta := range []float64{0, -1, math.NaN(), math.Inf(1), 1e-31, 1e31} {
		if _, err := NewPairFixed(theta); err == nil {
			t.Errorf("fixed theta %v is accepted", theta)
		}
	}
	if c, err := NewPairFixed(0.1); err != nil || c.choose(3) < 0.1 || c.choose(3) > 0.1000001 {
		t.Errorf("fixed theta 0.1: %v, %v", c, err)
	}
	if _, err := NewPairControl(Adaptive, ControlPlan{Start: 1}); err == nil {
		t.Error("no unit is accepted")
	}
	control, _ := NewPairFixed(1)
	if _, err := NewPair(Codec{Levels: 2, Rounding: Shared}, 1, control); err == nil {
		t.Error("one bit with shared rounding is accepted")
	}
	c, _ := pairEnds(t, Codec{Levels: 4}, nil)
	if _, err := c.Encode(nil, 7, []float32{1}); err == nil {
		t.Error("an exchange without theta is encoded")
	}
}

// After Heed accepts a note, a finite model can be encoded, or the error blames the sender of the note.
func FuzzHeed(f *testing.F) {
	f.Add(math.Float32bits(0.5), float32(1))
	f.Add(math.Float32bits(1e-20), float32(3))
	f.Add(uint32(0), float32(-1e30))
	f.Fuzz(func(t *testing.T, note uint32, x float32) {
		control, _ := NewPairFixed(1)
		c, err := NewPair(Codec{Levels: 16, Verify: true}, 1, control)
		if err != nil {
			t.Fatal(err)
		}
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			t.Skip("no finite model")
		}
		if c.Heed(1, note) != nil {
			return
		}
		var bad *algos.MessageError
		if _, err := c.Encode(nil, 1, []float32{x}); err != nil && (!errors.As(err, &bad) || bad.From != 1) {
			t.Errorf("theta %v, model %v: %v", math.Float32frombits(note), x, err)
		}
	})
}
