package model

import "gossiptrainer/internal/kernel"

// A conv is a k×k convolution with step s and zero padding p,
//
//	y[i, j, o] = Σ_{ky, kx, c} x[s·i+ky−p, s·j+kx−p, c]·w[ky, kx, c, o],
//
// whose gradients are
//
//	dw[ky, kx, c, o] = Σ_{i, j} x[s·i+ky−p, s·j+kx−p, c]·dy[i, j, o],
//	dx[y, x, c] = Σ_{ky, kx, o} dy[(y+p−ky)/s, (x+p−kx)/s, o]·w[ky, kx, c, o],
//
// the last over the ky and kx for which the divisions leave nothing over.
//
// In NHWC order the k·c inputs of one kernel row ky are contiguous and so are their weights.
// So all sums are small dense products that need no copy of the image. The last sum is one
// convolution with step 1 and rotated weights for each pair of remainders of y+p and x+p.
type conv struct {
	tier     kernel.Tier
	in, out  node
	shape    convShape
	weight   Param
	bias     *bias         // or none
	chunk    int           // images at a time, so that they stay in the cache
	before   normalization // or none; its passes behind it are done here
	after    normalization // or none; its passes before it are done here
	shortcut shortcut      // whose gradient is added to dx, or none
	ahead    ahead
	forwards product
	back     []backProduct // empty if dx is not wanted
	weights  outer
}

// A convShape has the sizes of a convolution.
type convShape struct{ channels, size, step, pad int }

// A backProduct computes dx where y+p and x+p leave certain remainders.
type backProduct struct {
	product
	taps [][2]int // the (ky, kx) of the window, in order
}

// chunkPixels is about how many pixels are done at a time.
const chunkPixels = 512

// conv appends a convolution. Its output has a border as wide as its padding.
// The input's must be no narrower.
func (b *builder) conv(name string, in node, s convShape) node {
	v := in.value
	h, w := s.outputs(v.h), s.outputs(v.w)
	l := &conv{tier: b.tier, in: in, shape: s, chunk: min(b.batch, max(1, chunkPixels/(h*w)))}
	border := max(s.gradientBorder(v.h), s.gradientBorder(v.w))
	l.out = node{
		value: b.tensor(b.batch, dims{h, w, s.channels, s.pad}),
		grad:  b.tensor(b.batch, dims{h, w, s.channels, border}),
		made:  l,
	}
	if norm, ok := in.made.(normalization); ok {
		l.before = norm
		z, rest := norm.passOn()
		l.ahead.forward = append(rest, z, v)
		l.ahead.weights = []*tensor{in.grad, z}
	}
	l.weight = b.param(name+".weight", he(s.size*s.size*v.c), s.size, s.size, v.c, s.channels)
	b.files(convTensor(l.weight))
	from, to := v.grid(-s.pad, -s.pad, s.step), l.out.value.grid(0, 0, 1)
	l.forwards = newProduct(s.size, s.size*v.c, v.stride(), s.channels)
	l.forwards.place(l.chunk, h, w, from, to)
	l.weights = newOuter(s.size, s.size*v.c, v.stride(), s.channels)
	l.weights.over(l.chunk, h, w, from, l.out.grad.grid(0, 0, 1))
	if in.grad != nil {
		for i := range s.step * s.step {
			l.back = append(l.back, l.newBack(i/s.step, i%s.step))
			b.packed += l.back[i].floats()
		}
	}
	b.packed += l.forwards.floats() + len(l.weights.scratch)
	b.longest = max(b.longest, l.weight.Len(), s.channels)
	b.layers = append(b.layers, l)
	return l.out
}

// biased gives the last layer, a convolution, a bias.
func (b *builder) biased(name string, at node) node {
	l := b.layers[len(b.layers)-1].(*conv)
	p := newBias(b, name, l.shape.channels)
	l.bias = &p
	return at
}

// outputs returns how many positions of the kernel fit along n pixels.
func (s convShape) outputs(n int) int { return (n+2*s.pad-s.size)/s.step + 1 }

// gradientBorder returns how far beyond the outputs the sums of dx reach along
// n pixels.
func (s convShape) gradientBorder(n int) int {
	before := (s.size - 1 - s.pad + s.step - 1) / s.step
	after := (n-1+s.pad)/s.step - (s.outputs(n) - 1)
	return max(0, before, after)
}

// newBack prepares dx where y+p leaves the remainder ry by s, and x+p rx.
func (l *conv) newBack(ry, rx int) backProduct {
	s, dx, dy := l.shape, l.in.grad, l.out.grad
	y, i, rows := s.back(ry)
	x, j, columns := s.back(rx)
	if columns == 0 {
		rows = 0
	}
	p := backProduct{product: newProduct(rows, columns*dy.c, dy.stride(), dx.c)}
	p.place(l.chunk, (dx.h-y+s.step-1)/s.step, (dx.w-x+s.step-1)/s.step, dy.grid(i, j, 1), dx.grid(y, x, s.step))
	for r := range rows * columns {
		p.taps = append(p.taps, [2]int{ry + s.step*(rows-1-r/columns), rx + s.step*(columns-1-r%columns)})
	}
	return p
}

// back returns the first y for which y+p leaves the remainder r by s, the first
// output that it is an input of, and of how many it can be.
func (s convShape) back(r int) (y, first, count int) {
	y = (r + s.step*s.pad - s.pad) % s.step
	count = max(0, (s.size-r+s.step-1)/s.step)
	return y, (y+s.pad-r)/s.step - max(0, count-1), count
}

func (l *conv) forward(x []float32, n int, m mode) {
	f := &l.forwards.filter
	if m != repeating {
		l.tier.PackPanels(f.Weights, l.weight.of(x), l.shape.channels)
	}
	if m != repeating && l.bias != nil {
		l.tier.PackPanels(f.Start, l.bias.param.of(x), l.shape.channels)
	}
	for b := 0; b < n; b += l.chunk {
		l.forwardImages(b, min(n, b+l.chunk), m)
	}
}

// forwardImages computes y of images first to end−1.
func (l *conv) forwardImages(first, end int, m mode) {
	in, out, f := l.in.value, l.out.value, &l.forwards
	for b := first; b < end && l.before != nil; b++ {
		l.before.apply(b)
	}
	f.run(l.tier, out.v[first*out.size():], in.v[first*in.size():], f.quads[:(end-first)*f.perImage],
		l.next(l.ahead.forward, end, end+l.chunk))
	for b := first; b < end && l.after != nil; b++ {
		l.after.measure(b, m)
	}
}

func (l *conv) backward(g *gradients, x []float32, n int) {
	if l.bias != nil {
		l.bias.backward(l.tier, g, l.out.grad, n)
	}
	dw := g.of(l.weight)
	for i := range l.back {
		l.back[i].pack(l.weight.of(x), l.shape)
	}
	for b := 0; b < n; b += l.chunk {
		l.backwardImages(dw, b, min(n, b+l.chunk))
	}
	l.weights.finish(dw)
	g.done(l.weight.Off, dw)
}

// backwardImages adds what images first to end−1 give to dw and computes their
// dx.
func (l *conv) backwardImages(dw []float32, first, end int) {
	dx, dy := l.in.grad, l.out.grad
	place := first
	if l.after != nil { // dy has room for these images alone
		place = 0
	}
	for b := first; b < end && l.after != nil; b++ {
		l.after.applyGradient(b, b-first)
	}
	l.addWeightGradient(dw, first, place, end-first)
	if dx == nil {
		return
	}
	for i := range l.back {
		p := &l.back[i]
		next := span{}
		if i == 0 { // the product with most taps
			next = l.next(l.ahead.back, end, end+l.chunk)
		}
		p.run(l.tier, dx.v[first*dx.size():], dy.v[place*dy.size():], p.quads[:(end-first)*p.perImage], next)
	}
	for b := first; b < end; b++ {
		if l.shortcut != nil {
			l.shortcut.addGradient(b)
		}
		if l.before != nil {
			l.before.measureGradient(b)
		}
	}
}

// addWeightGradient adds to dw what images first and following give, whose dy
// begins with image place; the very first ones begin dw.
func (l *conv) addWeightGradient(dw []float32, first, place, images int) {
	x, dy := l.in.value, l.out.grad
	l.weights.walk.Count[0] = images
	u, v := x.reach()[x.at(first, -l.shape.pad, -l.shape.pad):], dy.v[dy.at(place, 0, 0):]
	next := l.next(l.ahead.weights, first, first+images)
	if first == 0 {
		l.weights.set(l.tier, dw, u, v, next)
	} else {
		l.weights.add(l.tier, dw, u, v, next)
	}
}

// pack turns the weights w round.
func (p *backProduct) pack(w []float32, s convShape) {
	size := len(p.taps) * s.channels
	block := len(w) / (s.size * s.size)
	for i, tap := range p.taps {
		part := w[(tap[0]*s.size+tap[1])*block:][:block]
		kernel.PackPanelsTransposed(p.filter.Weights[i*s.channels:], size, part, s.channels)
	}
}
