package model

// A dense layer is y = xW + b over n samples, W [in][out]; its gradients are
//
//	dW = xᵀ·dy,  db = Σ dy,  dx = dy·Wᵀ.
//
// It takes images as rows of h·w·c features; they must have no border.
type dense struct {
	in, out      node
	weight, bias Param
	packed       panel // W, in panels of outputs
	transposed   panel // Wᵀ, in panels of inputs; nil if dx is not wanted
}

func (b *builder) dense(name string, in node, outputs int, start start) node {
	inputs := in.value.size()
	l := &dense{
		in:     in,
		out:    b.node(1, 1, outputs, 0),
		weight: b.param(name+".weight", start, inputs, outputs),
		bias:   b.param(name+".bias", zeros, outputs),
		packed: make(panel, panels(outputs)*inputs),
	}
	if in.grad != nil {
		l.transposed = make(panel, panels(inputs)*outputs)
	}
	b.layers = append(b.layers, l)
	return l.out
}

func (l *dense) forward(x []float32, n int, _ mode) {
	pack(l.packed, l.weight.of(x), l.out.value.c)
	multiply(l.out.value.v, l.in.value.v, l.packed, n, l.out.value.c)
	bias := l.bias.of(x)
	for b := range n {
		y := l.out.value.row(b, 0)
		for c, v := range bias {
			y[c] += v
		}
	}
}

func (l *dense) backward(g, x []float32, n int) {
	inputs, outputs := l.in.value.size(), l.out.value.c
	dw, db := l.weight.of(g), l.bias.of(g)
	clear(dw)
	addOuter(dw, l.in.value.v, l.out.grad.v, inputs, outputs, stride{x: inputs}, stride{x: outputs}, 1, n)
	clear(db)
	for b := range n {
		for c, d := range l.out.grad.row(b, 0) {
			db[c] += d
		}
	}
	if l.transposed == nil {
		return
	}
	packTransposed(l.transposed, l.weight.of(x), outputs)
	multiply(l.in.grad.v, l.out.grad.v, l.transposed, n, inputs)
}

// multiply computes c = a·w for rows of c; w has cols columns, in panels.
func multiply(c, a []float32, w panel, rows, cols int) {
	inner := len(w) / panels(cols)
	for j := 0; j < cols; j += tileCols {
		p := w[j/tileCols*inner:][:inner]
		wide := min(tileCols, cols-j)
		for i := 0; i < rows; i += tileRows {
			// An odd last row is its own partner: the same sums twice.
			k := min(i+1, rows-1)
			var s sums
			tile(&s, a[i*inner:(i+1)*inner], a[k*inner:(k+1)*inner], p)
			copy(c[i*cols+j:][:wide], s[:tileCols])
			copy(c[k*cols+j:][:wide], s[tileCols*(k-i):])
		}
	}
}
