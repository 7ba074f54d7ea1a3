package moniqua

import (
	"math"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/topology"
)

// runControl enters the gap of each exchange into the control of a single worker and returns its thetas.
func runControl(t *testing.T, c *Control, exchanges int, gap func(k int) float64) []float64 {
	t.Helper()
	thetas := make([]float64, exchanges)
	for k := range thetas {
		thetas[k] = c.Theta(k)
		g, wrong := gap(k), 0
		if !c.Full(k) && g >= thetas[k] {
			wrong = 1
		}
		c.mixed(k, nil, algos.Mixed{Gap: float32(g)}, wrong)
	}
	return thetas
}

func one(int) float64 { return 1 }

func mustControl(t *testing.T, make func(ControlPlan) (*Control, error), plan ControlPlan) *Control {
	t.Helper()
	c, err := make(plan)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAdaptiveGrowsToTheGapAtOnce(t *testing.T) {
	c := mustControl(t, Adaptive, ControlPlan{Diameter: 1, Every: 1, Start: 0.01, Unit: one})
	got := runControl(t, c, 6, func(int) float64 { return 1 })
	// Epochs of 2: seen in the first, told in the second, known in the third.
	for k, want := range []float64{0.01, 0.01, 0.01, 0.01, 1.28, 1.28} {
		if math.Abs(got[k]-want) > 1e-12 {
			t.Errorf("exchange %d: theta %v, want %v", k, got[k], want)
		}
	}
}

// With one bit every gap is measured as a multiple of 2θ.
func TestAdaptiveGrowsLittleWhereStepsAreCoarse(t *testing.T) {
	c := mustControl(t, Adaptive, ControlPlan{Every: 1, Start: 1, Step: 2, Unit: one})
	c.mixed(0, nil, algos.Mixed{Gap: 2}, 1)
	c.mixed(1, nil, algos.Mixed{}, 0)
	if got := c.Theta(2); got != 1.25 {
		t.Errorf("one step apart, which may be a little more than theta: theta %v, want 1.25", got)
	}
	c = mustControl(t, Adaptive, ControlPlan{Every: 1, Start: 1, Step: 2, Unit: one})
	c.mixed(0, nil, algos.Mixed{Gap: 8}, 1)
	c.mixed(1, nil, algos.Mixed{}, 0)
	if got := c.Theta(2); got <= 6 || got > 1.25*6 {
		t.Errorf("four steps apart, three at least: theta %v, want the first above 6", got)
	}
	c = mustControl(t, Adaptive, ControlPlan{Every: 1, Start: 1, Step: 2. / 3, Unit: one})
	c.mixed(0, nil, algos.Mixed{Gap: 1.2}, 1)
	c.mixed(1, nil, algos.Mixed{}, 0)
	if got := c.Theta(2); got != 2 {
		t.Errorf("with two bits: theta %v, want 2", got)
	}
}

func TestAdaptiveShrinks(t *testing.T) {
	small := func(int) float64 { return 0.3 }
	fresh := mustControl(t, Adaptive, ControlPlan{Every: 1, Start: 64, Unit: one})
	if got := runControl(t, fresh, 40, small)[39]; got < 0.5 || got > 1 {
		t.Errorf("started far too large: theta %v after 40 exchanges, want halvings to 0.5 .. 1", got)
	}
	c := mustControl(t, Adaptive, ControlPlan{Every: 1, Start: 0.5, Unit: one})
	got := runControl(t, c, 240, func(k int) float64 {
		if k == 0 {
			return 0.6
		}
		return 0.3
	})
	if got[90] != 1 || math.Abs(got[120]-0.97) > 1e-12 || math.Abs(got[230]-0.97*0.97) > 1e-12 {
		t.Errorf("after a violation: theta %v, %v, %v; want 1, 0.97, 0.97²", got[90], got[120], got[230])
	}
	still := mustControl(t, Adaptive, ControlPlan{Every: 1, Start: 0.5, Unit: one})
	if got := runControl(t, still, 100, func(int) float64 { return 0 })[99]; got != 0.5 {
		t.Errorf("where nothing moves: theta %v, want 0.5: there is nothing to learn", got)
	}
}

// Two workers come ever closer, and θ halves after each epoch. Without a bound an index would leave 2³¹ after some
// sixty
// exchanges.
func TestAdaptiveKeepsTheGridAboveFloat32(t *testing.T) {
	const large = 1.5 // the parameter that bounds the grid
	for name, levels := range map[string]int{"8 bits": 256, "1 bit": 2, "16 bits": 1 << 16} {
		var codecs [2]*Codec
		for rank := range codecs {
			control := mustControl(t, Adaptive, ControlPlan{Diameter: 1, Every: 1, Start: 0.01, Unit: one,
				Step: Grid{Theta: 1, Levels: levels}.Step()})
			var err error
			if codecs[rank], err = NewControlled(levels, Dither, control, 1, topology.Rank(rank)); err != nil {
				t.Fatal(err)
			}
		}
		least := math.Inf(1)
		for k := range 400 {
			theta := float32(codecs[0].Theta(k))
			x := [2][]float32{{large, 0}, {large, 0.3 * theta}}
			mine := [2][]byte{mustEncode(t, codecs[0], k, x[0]), mustEncode(t, codecs[1], k, x[1])}
			told := [2]uint32{codecs[0].Note(k), codecs[1].Note(k)}
			for rank, c := range codecs {
				in := []algos.Message{{From: topology.Rank(1 - rank), Weight: 0.5, Payload: mine[1-rank]}}
				saw, err := c.Mix(x[rank], k, x[rank], mine[rank], in)
				if err != nil {
					t.Fatalf("%s: round %d: %v", name, k, err)
				}
				if levels == 2 && k < 200 {
					saw.Gap = 0.3 * theta // as if one bit showed it
				}
				c.Mixed(k, told[1-rank:][:1], saw, 0)
			}
			if codecs[0].Theta(k) != codecs[1].Theta(k) {
				t.Fatalf("%s: round %d: two values of theta", name, k)
			}
			least = min(least, finestStep(codecs[0], k))
		}
		if steps := large / least; steps < finest/2 || steps > 8*finest {
			t.Errorf("%s: the parameter is at most 2^%.1f steps from 0, want about 2^26", name, math.Log2(steps))
		}
	}
}

func TestMeasuredTakesTwiceTheLargestGap(t *testing.T) {
	c := mustControl(t, Measured, ControlPlan{Diameter: 4, Every: 2, Start: 9, Unit: one})
	for k := range 100 {
		if full := k < 2*25; c.Full(k) != full {
			t.Fatalf("round %d in full precision: %v, want %v", k, c.Full(k), full)
		}
		if k%2 == 1 {
			c.mixed(k, nil, algos.Mixed{Gap: float32(k)}, 0)
		}
	}
	// Four epochs of 5 exchanges count: up to round 39.
	if got := c.Theta(99); got != 78 {
		t.Errorf("theta %v, want 78", got)
	}
}

func TestNotesOfStrangersDoNoHarm(t *testing.T) {
	for name, n := range map[string]uint32{
		"NaN":      math.Float32bits(float32(math.NaN())),
		"infinity": math.Float32bits(float32(math.Inf(1))), "all bits": math.MaxUint32,
	} {
		c := mustControl(t, Adaptive, ControlPlan{Every: 1, Start: 1, Unit: one})
		for k := range 500 {
			c.mixed(k, []uint32{n}, algos.Mixed{}, 0)
			if theta := c.Theta(k + 1); !(theta > 0) || math.IsInf(theta, 0) || theta > math.MaxFloat32 {
				t.Fatalf("%s: theta %v", name, theta)
			}
		}
	}
}

func TestControlsThatCannotBe(t *testing.T) {
	for name, plan := range map[string]ControlPlan{
		"no unit":           {Every: 1, Start: 1},
		"no start":          {Every: 1, Unit: one},
		"infinite start":    {Every: 1, Start: math.Inf(1), Unit: one},
		"no exchange":       {Start: 1, Unit: one},
		"negative step":     {Every: 1, Start: 1, Unit: one, Step: -1},
		"no number":         {Every: 1, Start: 1, Unit: one, Step: math.NaN()},
		"negative diameter": {Diameter: -1, Every: 1, Start: 1, Unit: one},
	} {
		if _, err := Adaptive(plan); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzNote(f *testing.F) {
	f.Add(uint32(0), uint32(1))
	f.Add(uint32(math.MaxUint32), uint32(1<<31))
	f.Fuzz(func(t *testing.T, a, b uint32) {
		both := note(a).or(note(b))
		if both != note(b).or(note(a)) || both.or(note(a)) != both {
			t.Errorf("%#x and %#x: the order of arrival counts", a, b)
		}
		if g := both.gap(largestNote); !(g >= 0 && g <= largestNote) {
			t.Errorf("%#x and %#x: gap %v", a, b, g)
		}
	})
}
