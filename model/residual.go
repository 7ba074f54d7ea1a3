package model

// A residual block is y = relu(body(x) + shortcut(x)) (He, Zhang, Ren and Sun,
// "Deep Residual Learning", 2016). The shortcut is their option A, which has
// no parameters: every step-th pixel, and zeros for the channels that x lacks,
// half of them before x's and half after.
type residual struct {
	body    []layer
	in, out node // out is the last value of the body, to which the rest is added in place
	step    int
}

// residual appends a block of two 3×3 convolutions.
func (b *builder) residual(name string, in node, channels, step int, norm normalizer) node {
	before := b.layers
	b.layers = nil
	at := b.conv(name+".conv1", in, convShape{channels: channels, size: 3, step: step, pad: 1})
	at = b.relu(norm(b, name+".norm1", at))
	at = b.conv(name+".conv2", at, convShape{channels: channels, size: 3, step: 1, pad: 1})
	at = norm(b, name+".norm2", at)
	b.layers = append(before, &residual{b.layers, in, at, step})
	return at
}

func (l *residual) forward(x []float32, n int, m mode) {
	for _, part := range l.body {
		part.forward(x, n, m)
	}
	l.eachPixel(n, func(out, in int) {
		accumulate(l.out.value.v[out:out+l.in.value.c], l.in.value.v[in:])
	})
	rectify(l.out.value.images(n))
}

func (l *residual) backward(g, x []float32, n int) {
	mask(l.out.grad.images(n), l.out.value.images(n))
	for i := len(l.body) - 1; i >= 0; i-- {
		l.body[i].backward(g, x, n)
	}
	l.eachPixel(n, func(out, in int) {
		accumulate(l.in.grad.v[in:in+l.in.value.c], l.out.grad.v[out:])
	})
}

// eachPixel calls visit for every output pixel with the indices at which the
// channels of the shortcut begin in the output and in the input.
func (l *residual) eachPixel(n int, visit func(out, in int)) {
	in, out := l.in.value, l.out.value
	first := (out.c - in.c) / 2
	for b := range n {
		for i := range out.h {
			for j := range out.w {
				visit(out.at(b, i, j)+first, in.at(b, i*l.step, j*l.step))
			}
		}
	}
}
