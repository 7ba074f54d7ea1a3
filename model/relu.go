package model

// A relu is y = max(x, 0), in place: the gradient passes where y > 0.
type relu struct{ at node }

func (b *builder) relu(at node) node {
	b.layers = append(b.layers, relu{at})
	return at
}

func (l relu) forward(_ []float32, n int, _ mode) { rectify(l.at.value.images(n)) }

func (l relu) backward(_, _ []float32, n int) {
	mask(l.at.grad.images(n), l.at.value.images(n))
}

// rectify computes y ← max(y, 0). NaN stays.
func rectify(y []float32) {
	for i, v := range y {
		if v < 0 {
			y[i] = 0
		}
	}
}

// mask sets dy to zero where y is not positive.
func mask(dy, y []float32) {
	y = y[:len(dy)]
	for i := range dy {
		if y[i] <= 0 {
			dy[i] = 0
		}
	}
}
