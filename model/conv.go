package model

// A conv is a k×k convolution with step s and zero padding p,
//
//	y[i, j, o] = Σ_{ky, kx, c} x[s·i+ky−p, s·j+kx−p, c]·w[ky, kx, c, o],
//
// whose gradients are
//
//	dw[ky, kx, c, o] = Σ_{i, j} x[s·i+ky−p, s·j+kx−p, c]·dy[i, j, o],
//	dx[s·i+ky−p, s·j+kx−p, c] += Σ_o dy[i, j, o]·w[ky, kx, c, o].
//
// In NHWC order the k·c inputs of one kernel row ky are contiguous and so are
// their weights: all three sums are small dense products over them, without a
// copy of the image.
type conv struct {
	in, out    node
	shape      convShape
	weight     Param
	packed     panel   // w, in panels of outputs
	transposed []panel // of each ky: wᵀ, in panels of (kx, c); nil if dx is not wanted
}

// A convShape has the sizes of a convolution.
type convShape struct{ channels, size, step, pad int }

// conv appends a convolution without bias. Its output has a border as wide as
// its padding. The input's must be no narrower.
func (b *builder) conv(name string, in node, s convShape) node {
	v := in.value
	l := &conv{in: in, shape: s}
	l.out = b.transient(s.outputs(v.h), s.outputs(v.w), s.channels, s.pad)
	l.weight = b.param(name+".weight", he(s.size*s.size*v.c), s.size, s.size, v.c, s.channels)
	l.packed = make(panel, panels(s.channels)*s.size*s.size*v.c)
	if in.grad != nil {
		l.transposed = make([]panel, s.size)
		for ky := range l.transposed {
			l.transposed[ky] = make(panel, panels(s.size*v.c)*s.channels)
		}
	}
	b.layers = append(b.layers, l)
	return l.out
}

// outputs returns how many positions of the kernel fit along n pixels.
func (s convShape) outputs(n int) int { return (n+2*s.pad-s.size)/s.step + 1 }

// patch returns the index of the inputs of output (i, j) of image b in kernel
// row ky: k·c of them.
func (l *conv) patch(t *tensor, b, i, j, ky int) int {
	return t.at(b, i*l.shape.step+ky-l.shape.pad, j*l.shape.step-l.shape.pad)
}

func (l *conv) forward(x []float32, n int, _ mode) {
	pack(l.packed, l.weight.of(x), l.shape.channels)
	for b := range n {
		for o := 0; o < l.shape.channels; o += tileCols {
			for i := range l.out.value.h {
				l.forwardRow(b, i, o)
			}
		}
	}
}

// forwardRow computes channels o..o+3 of output row i of image b.
func (l *conv) forwardRow(b, i, o int) {
	in, out := l.in.value, l.out.value
	k := l.shape.size * in.c
	w := l.packed[o/tileCols*k*l.shape.size:]
	wide := min(tileCols, out.c-o)
	for j := 0; j < out.w; j += tileRows {
		next := min(j+1, out.w-1) // an odd last pixel is its own partner
		var s sums
		for ky := range l.shape.size {
			p, q := l.patch(in, b, i, j, ky), l.patch(in, b, i, next, ky)
			tile(&s, in.v[p:p+k], in.v[q:q+k], w[ky*k:(ky+1)*k])
		}
		copy(out.v[out.at(b, i, j)+o:][:wide], s[:tileCols])
		copy(out.v[out.at(b, i, next)+o:][:wide], s[tileCols*(next-j):])
	}
}

func (l *conv) backward(g, x []float32, n int) {
	dw := l.weight.of(g)
	clear(dw)
	for b := range n {
		l.addWeightGradient(dw, b)
	}
	if l.transposed == nil {
		return
	}
	rows := len(dw) / l.shape.size
	for ky, t := range l.transposed {
		packTransposed(t, l.weight.of(x)[ky*rows:(ky+1)*rows], l.shape.channels)
	}
	clear(l.in.grad.images(n))
	for b := range n {
		for i := range l.out.grad.h {
			for ky := range l.shape.size {
				l.addInputGradient(b, i, ky)
			}
		}
	}
}

// addWeightGradient adds image b's part of dw.
func (l *conv) addWeightGradient(dw []float32, b int) {
	in, out, step := l.in.value, l.out.grad, l.shape.step
	rows := len(dw) / l.shape.size
	at := positions{
		h: out.h, w: out.w,
		a: stride{x: step * in.c, y: step * in.stride()},
		b: stride{x: out.c, y: out.stride()},
	}
	for ky := range l.shape.size {
		part := dw[ky*rows : (ky+1)*rows]
		addOuter(part, in.v[l.patch(in, b, 0, 0, ky):], out.v[out.at(b, 0, 0):], out.c, at)
	}
}

// addInputGradient adds what output row i of image b gives to dx through kernel
// row ky.
func (l *conv) addInputGradient(b, i, ky int) {
	in, out := l.in.grad, l.out.grad
	k := l.shape.size * in.c
	for c := 0; c < k; c += tileCols {
		w := l.transposed[ky][c/tileCols*out.c:][:out.c]
		wide := min(tileCols, k-c)
		for j := 0; j < out.w; j += tileRows {
			next := min(j+1, out.w-1)
			p, q := out.at(b, i, j), out.at(b, i, next)
			var s sums
			tile(&s, out.v[p:p+out.c], out.v[q:q+out.c], w)
			accumulate(in.v[l.patch(in, b, i, j, ky)+c:][:wide], s[:tileCols])
			if next > j {
				accumulate(in.v[l.patch(in, b, i, next, ky)+c:][:wide], s[tileCols:])
			}
		}
	}
}

// accumulate adds the first len(dst) values of x to dst.
func accumulate(dst, x []float32) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] += x[i]
	}
}
