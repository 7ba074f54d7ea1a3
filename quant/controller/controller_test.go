package controller

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOlandRajFollowsTheGradient(t *testing.T) {
	c, err := NewOlandRaj(2, 8)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		rms  float64
		want int
	}{{0, 2}, {0.5, 8}, {0.25, 7}, {0.13, 6}, {4, 8}, {1e-9, 2}, {math.NaN(), 2}, {math.Inf(1), 8}, {0.25, 7}} {
		if got := c.Choose(nil, step.rms, 0); got != step.want {
			t.Errorf("rms %v: %d bits, want %d", step.rms, got, step.want)
		}
	}
}

// mqgrad returns a controller with a net that chooses more bits at a loss above 1 and fewer below, and
// never explores.
func mqgrad(t *testing.T, start int) *MQGrad {
	t.Helper()
	s := PaperSettings(2, 4)
	s.Start, s.Eta = start, 0
	net := Net{
		W1: [][]float64{{0, 0, 0, 0, 1}}, B1: []float64{0},
		W2: [][]float64{{0}, {1}, {2}}, B2: []float64{0, -1, -2},
	}
	c, err := NewMQGradFrom(s, net, func(int) float64 { return 0.5 })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMQGradGoesUpWhileThatLooksBetter(t *testing.T) {
	c := mqgrad(t, 2)
	losses := []float64{2, 2, 2, 2, 2}
	var got []int
	for range 5 {
		got = append(got, c.Choose(losses, 0, time.Second))
	}
	if want := []int{3, 4, 4, 4, 4}; !slices.Equal(got, want) {
		t.Errorf("bits %v, want %v", got, want)
	}
	low := mqgrad(t, 3)
	if got := low.Choose([]float64{9, 0.5}, 0, 0); got != 3 {
		t.Errorf("%d bits at a loss of 0.5, want 3", got)
	}
}

func TestMQGradExplores(t *testing.T) {
	c := mqgrad(t, 4)
	c.draw = func(int) float64 { return 0 }
	if got := c.Choose([]float64{0.5}, 0, 0); got != 4 {
		t.Errorf("%d bits, want 4: there is nothing above the largest", got)
	}
	c = mqgrad(t, 2)
	c.draw = func(int) float64 { return 0 }
	if got := c.Choose([]float64{0.5}, 0, 0); got != 3 {
		t.Errorf("%d bits, want 3: the other action", got)
	}
}

func TestMQGradRewardsFallingLossesPerTime(t *testing.T) {
	c := mqgrad(t, 2)
	copy(c.state, []float64{5, 4, 3, 2, 1})
	for took, want := range map[time.Duration]float64{0: 300, time.Millisecond: 300, 10 * time.Millisecond: 30} {
		if got := c.reward(took); math.Abs(got-want) > 1e-12 {
			t.Errorf("reward %v after %v, want %v", got, took, want)
		}
	}
}

// For any losses that a neighbour reports to worker 0, the bits stay in range and the weights of the
// net finite.
func TestAbsurdLossesDoNoHarm(t *testing.T) {
	c, err := NewMQGrad(2, 8, 7)
	if err != nil {
		t.Fatal(err)
	}
	absurd := []float64{math.NaN(), math.Inf(1), math.MaxFloat64, -1e12, 1e6, -1e6, 0, 1}
	for i := range 5000 {
		losses := make([]float64, 5)
		for j := range losses {
			losses[j] = absurd[(i*(j+3)+i/7)%len(absurd)]
		}
		if bits := c.Choose(losses[:i%6], 0, time.Duration(i%3)*time.Second); bits < 2 || bits > 8 {
			t.Fatalf("call %d: %d bits", i, bits)
		}
		for o := range 7 {
			if q := c.net.output(o, c.state); math.IsNaN(q) || math.IsInf(q, 0) {
				t.Fatalf("call %d: output %d is %v", i, o, q)
			}
		}
	}
}

func TestControllersAreFunctionsOfTheirSeed(t *testing.T) {
	run := func(seed uint64) (bits []int) {
		c, err := NewMQGrad(2, 8, seed)
		if err != nil {
			t.Fatal(err)
		}
		for k := range 60 {
			loss := 2 / (1 + float64(k)/10)
			bits = append(bits, c.Choose([]float64{loss, loss * 0.99, loss * 0.98, loss * 0.97, loss * 0.96}, 0, time.Second))
		}
		return bits
	}
	if !slices.Equal(run(1), run(1)) {
		t.Error("two runs of one seed differ")
	}
	if slices.Equal(run(1), run(2)) {
		t.Error("the seed changes nothing")
	}
}

func TestControllersThatCannotBe(t *testing.T) {
	for _, r := range [][2]int{{0, 8}, {5, 4}, {2, 17}} {
		if _, err := NewOlandRaj(r[0], r[1]); err == nil || !strings.Contains(err.Error(), "oland-raj") {
			t.Errorf("oland-raj %v: error %v", r, err)
		}
		if _, err := NewMQGrad(r[0], r[1], 0); err == nil || !strings.Contains(err.Error(), "mqgrad") {
			t.Errorf("mqgrad %v: error %v", r, err)
		}
	}
	good := PaperSettings(2, 8)
	for name, change := range map[string]func(*Settings){
		"no iterations":     func(s *Settings) { s.T = 0 },
		"start below":       func(s *Settings) { s.Start = 1 },
		"start above":       func(s *Settings) { s.Start = 9 },
		"other outputs":     func(s *Settings) { s.High = 9 },
		"other inputs":      func(s *Settings) { s.T = 6 },
		"bits out of range": func(s *Settings) { s.Low = 0 },
	} {
		s := good
		c, _ := NewMQGrad(2, 8, 1)
		change(&s)
		if _, err := NewMQGradFrom(s, c.net, c.draw); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func BenchmarkMQGrad(b *testing.B) {
	c, err := NewMQGrad(2, 8, 1)
	if err != nil {
		b.Fatal(err)
	}
	losses := []float64{2, 1.9, 1.8, 1.7, 1.6}
	for b.Loop() {
		c.Choose(losses, 0, time.Second)
	}
}

func TestControllersAllocateNothing(t *testing.T) {
	c, err := NewMQGrad(2, 8, 1)
	if err != nil {
		t.Fatal(err)
	}
	losses := []float64{2, 1.9, 1.8, 1.7, 1.6}
	if got := testing.AllocsPerRun(100, func() { c.Choose(losses, 0, time.Second) }); got != 0 {
		t.Errorf("%v allocations per call", got)
	}
}
