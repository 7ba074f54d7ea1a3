package controller

import (
	"math"
	"strconv"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/rng"
)

// A Net is a network with one hidden layer of rectified linear units,
//
//	z = W1·s + B1,  out = W2·max(z, 0) + B2.
type Net struct {
	W1 [][]float64 // a row per hidden unit, as long as the input
	B1 []float64
	W2 [][]float64 // a row per output, as long as B1
	B2 []float64
}

// newNet draws weights uniformly from ±1/√(inputs of the unit), by address; the biases are 0.
func newNet(in, hidden, out int, key rng.Key) Net {
	at := uint32(0)
	layer := func(rows, cols int) [][]float64 {
		w := make([][]float64, rows)
		for i := range w {
			w[i] = make([]float64, cols)
			for j := range w[i] {
				w[i][j] = (2*float64(key.Uniform(at)) - 1) / math.Sqrt(float64(cols))
				at++
			}
		}
		return w
	}
	return Net{
		W1: layer(hidden, in), B1: make([]float64, hidden),
		W2: layer(out, hidden), B2: make([]float64, out),
	}
}

// fits reports whether the net has these numbers of inputs and outputs, and rows of matching length.
func (n *Net) fits(in, out int) bool {
	ok := len(n.W1) == len(n.B1) && len(n.W2) == out && len(n.B2) == out
	for _, row := range n.W1 {
		ok = ok && len(row) == in
	}
	for _, row := range n.W2 {
		ok = ok && len(row) == len(n.B1)
	}
	return ok
}

// hidden returns z of unit h.
func (n *Net) hidden(h int, s []float64) float64 {
	z := n.B1[h]
	for i, v := range s {
		z += float64(n.W1[h][i] * v)
	}
	return z
}

// output returns out[o] for the input s.
func (n *Net) output(o int, s []float64) float64 {
	sum := n.B2[o]
	for h := range n.B1 {
		if z := n.hidden(h, s); z > 0 {
			sum += float64(n.W2[o][h] * z)
		}
	}
	return sum
}

// ascend adds step times the gradient of out[o] at s to the weights. The
// derivative of max(z, 0) at 0 is 0.
func (n *Net) ascend(o int, s []float64, step float64) {
	n.B2[o] += step
	for h := range n.B1 {
		z := n.hidden(h, s)
		if !(z > 0) {
			continue
		}
		back := step * n.W2[o][h]
		n.W2[o][h] += float64(step * z)
		n.B1[h] += back
		for i, v := range s {
			n.W1[h][i] += float64(back * v)
		}
	}
}

// visit visits all weights.
func (n *Net) visit(v *state.Visit) {
	for h, row := range n.W1 {
		v.Doubles("w1."+strconv.Itoa(h), row)
	}
	v.Doubles("b1", n.B1)
	for o, row := range n.W2 {
		v.Doubles("w2."+strconv.Itoa(o), row)
	}
	v.Doubles("b2", n.B2)
}
