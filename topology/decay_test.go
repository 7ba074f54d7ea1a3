package topology

import (
	"math"
	"testing"
)

// On a static graph the noise of the exchanges is that of the spectrum.
func TestNoiseOfExchangesIsThatOfTheSpectrum(t *testing.T) {
	ring := build(t, "static-exponential:3") // the complete graph of three
	s, err := build(t, "complete:3").Spectrum()
	if err != nil {
		t.Fatal(err)
	}
	for _, slack := range []float64{1, 0.5} {
		if got, want := ring.Noise(slack), s.Noise(slack); math.Abs(got-want) > 1e-9 {
			t.Errorf("slack %v: %v, want %v", slack, got, want)
		}
	}
}

// Noise shrinks with the slack, so that there is one at which it is as small as wanted.
func TestNoiseShrinksWithTheSlack(t *testing.T) {
	for _, kind := range []Kind{OnePeerExponential, OnePeerHypercube, Base2, RandomShift, RandomMatching, StaticExponential} {
		g, err := New(Spec{Kind: kind, N: 16, Slack: 1})
		if err != nil {
			t.Fatal(err)
		}
		before := 0.0
		for _, slack := range []float64{0.01, 0.1, 0.3, 1} {
			noise := g.Noise(slack)
			if !(noise > before) || slack == 0.01 && noise > 0.05 {
				t.Errorf("%s: noise %v at slack %v, %v before", kind, noise, slack, before)
			}
			before = noise
		}
	}
}

func TestDecayOfExactAndOtherGraphs(t *testing.T) {
	for text, want := range map[string][2]float64{
		"base2:12": {0, 0.2}, "one-peer-exponential:12": {0.1, 0.9}, "random-matching:9": {0.3, 0.95}, "base2:1": {0, 1e-11},
		"one-peer-exponential:1000": {0, 0.4},
	} {
		got, err := build(t, text).Decay()
		if err != nil || !(got >= want[0] && got <= want[1]) {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
}
