package conformance

import "math"

// A problem is the objective of a run: worker i has the objective f_i, and all together minimize the plain mean of the
// f_i. All numbers are float64.
type problem struct {
	Kind string

	// quadratic: f_i(x) = xᵀA_i x/2 − b_iᵀx
	A [][][]float64
	B [][]float64

	// logistic: f_i(x) = mean over rows a of log(1 + exp(−y·aᵀx)) + l2/2·|x|²
	X  [][][]float64
	Y  [][]float64
	L2 float64
}

func (p problem) known() bool { return p.Kind == "quadratic" || p.Kind == "logistic" }

// gradient returns ∇f_i(x).
func (p problem) gradient(i int, x []float64) []float64 {
	g := make([]float64, len(x))
	if p.Kind == "quadratic" {
		for r, row := range p.A[i] {
			g[r] = dot(row, x) - p.B[i][r]
		}
		return g
	}
	for r, row := range p.X[i] {
		y := p.Y[i][r]
		slope := -y / (1 + math.Exp(y*dot(row, x))) / float64(len(p.X[i]))
		for c, a := range row {
			g[c] += slope * a
		}
	}
	for c, v := range x {
		g[c] += p.L2 * v
	}
	return g
}

// loss returns f(x), the mean over n workers.
func (p problem) loss(n int, x []float64) float64 {
	var sum float64
	for i := range n {
		if p.Kind == "quadratic" {
			for r, row := range p.A[i] {
				sum += x[r]*dot(row, x)/2 - p.B[i][r]*x[r]
			}
			continue
		}
		var local float64
		for r, row := range p.X[i] {
			local += math.Log1p(math.Exp(-p.Y[i][r] * dot(row, x)))
		}
		sum += local/float64(len(p.X[i])) + p.L2/2*dot(x, x)
	}
	return sum / float64(n)
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func widened(x []float32) []float64 {
	wide := make([]float64, len(x))
	for c, v := range x {
		wide[c] = float64(v)
	}
	return wide
}

func narrowed(x []float64) []float32 {
	narrow := make([]float32, len(x))
	for c, v := range x {
		narrow[c] = float32(v)
	}
	return narrow
}
