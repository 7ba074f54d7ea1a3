package model

// A dense layer is y = xW over n samples, W [in][out]; its gradients are
//
//	dW = xᵀ·dy,  dx = dy·Wᵀ.
//
// It takes images as rows of h·w·c features; they must have no border.
type dense struct {
	in, out    node
	weight     Param
	packed     panel // W, in panels of outputs
	transposed panel // Wᵀ, in panels of inputs; nil if dx is not wanted
}

// dense appends a dense layer and its bias.
func (b *builder) dense(name string, in node, outputs int, s start) node {
	inputs := in.value.size()
	l := &dense{
		in:     in,
		out:    b.node(1, 1, outputs, 0),
		weight: b.param(name+".weight", s, inputs, outputs),
		packed: make(panel, panels(outputs)*inputs),
	}
	if in.grad != nil {
		l.transposed = make(panel, panels(inputs)*outputs)
	}
	b.layers = append(b.layers, l)
	return b.bias(name, l.out)
}

func (l *dense) forward(x []float32, n int, _ mode) {
	outputs := l.out.value.c
	pack(l.packed, l.weight.of(x), outputs)
	multiply(l.out.value.images(n), l.in.value.images(n), l.packed, outputs)
}

func (l *dense) backward(g, x []float32, n int) {
	inputs, outputs := l.in.value.size(), l.out.value.c
	dw := l.weight.of(g)
	clear(dw)
	samples := positions{h: 1, w: n, a: stride{x: inputs}, b: stride{x: outputs}}
	addOuter(dw, l.in.value.images(n), l.out.grad.images(n), outputs, samples)
	if l.transposed != nil {
		packTransposed(l.transposed, l.weight.of(x), outputs)
		multiply(l.in.grad.images(n), l.out.grad.images(n), l.transposed, inputs)
	}
}

// multiply computes c = a·w; w and c have cols columns, w in panels.
func multiply(c, a []float32, w panel, cols int) {
	rows, inner := len(c)/cols, len(w)/panels(cols)
	for j := 0; j < cols; j += tileCols {
		p := w[j/tileCols*inner:][:inner]
		wide := min(tileCols, cols-j)
		for i := 0; i < rows; i += tileRows {
			k := min(i+1, rows-1) // an odd last row is its own partner
			var s sums
			tile(&s, a[i*inner:(i+1)*inner], a[k*inner:(k+1)*inner], p)
			copy(c[i*cols+j:][:wide], s[:tileCols])
			copy(c[k*cols+j:][:wide], s[tileCols*(k-i):])
		}
	}
}
