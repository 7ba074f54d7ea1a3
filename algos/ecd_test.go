package algos

import (
	"math"
	"math/rand/v2"
	"testing"

	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// The model moves on a straight line. C has as many points for a large z as for a small one. The error of the estimate
// then grows with the square root of the round, as docs/math.md says.
func TestErrorOfTheEstimateGrowsWithTheRoundInECD(t *testing.T) {
	const d = 4096
	c, err := quant.NewMinMax(8, d, quant.Stochastic, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	move := make([]float32, d)
	for i := range move {
		move[i] = float32(r.NormFloat64())
	}
	a := &ECD{X: make([]float32, d), Alpha: func(int) float32 { return 1 }, Row: topology.Row{Self: 1},
		Compression: Compression{Own: c}}
	g := make([]float32, d)
	errorAt := map[int]float64{}
	for k := range 4096 {
		estimate := a.X // before the first round
		if a.own != nil {
			estimate = a.own
		}
		for i := range g { // the gradient that leads to the next point of the line
			g[i] = estimate[i] - (a.X[i] + move[i])
		}
		if err := a.Descend(k, g); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Send(k, 0, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Mix(k, 0, nil); err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i, x := range a.X {
			sum += float64(a.own[i]-x) * float64(a.own[i]-x)
		}
		errorAt[k+1] = math.Sqrt(sum / d)
	}
	if ratio := errorAt[4096] / errorAt[256]; ratio < 3.5 || ratio > 4.5 {
		t.Errorf("the error grew %.2f times from round 256 to 4096, want 4 times: %g, %g", ratio, errorAt[256], errorAt[4096])
	}
}
