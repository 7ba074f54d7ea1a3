package model

// A maxPool takes the largest of each 2×2 pixels, per channel; of equal ones
// the first in row order, to which alone the gradient goes back.
type maxPool struct{ in, out node }

// maxPool appends a pool that halves an image of even height and width and gives
// it a border.
func (b *builder) maxPool(in node, border int) node {
	v := in.value
	l := maxPool{in, b.node(v.h/2, v.w/2, v.c, border)}
	b.layers = append(b.layers, l)
	return l.out
}

func (l maxPool) forward(_ []float32, n int, _ mode) {
	in, out := l.in.value, l.out.value
	for r := range n * out.h {
		b, i := r/out.h, r%out.h
		y, top, bottom := out.row(b, i), in.row(b, 2*i), in.row(b, 2*i+1)
		for j := range out.w {
			for c := range out.c {
				p := 2*j*in.c + c
				y[j*out.c+c] = max(top[p], top[p+in.c], bottom[p], bottom[p+in.c])
			}
		}
	}
}

func (l maxPool) backward(_, _ []float32, n int) {
	in, out := l.in.value, l.out.value
	for r := range n * out.h {
		b, i := r/out.h, r%out.h
		y, dy := out.row(b, i), l.out.grad.row(b, i)
		x := [2][]float32{in.row(b, 2*i), in.row(b, 2*i+1)}
		dx := [2][]float32{l.in.grad.row(b, 2*i), l.in.grad.row(b, 2*i+1)}
		for o := range y {
			p := o/in.c*2*in.c + o%in.c
			d := dy[o]
			for k := range 4 {
				row, q := k/2, p+k%2*in.c
				if x[row][q] == y[o] {
					dx[row][q] = d
					d = 0 // the others of this value get nothing
				} else {
					dx[row][q] = 0
				}
			}
		}
	}
}

// A meanPool takes the mean over all pixels of an image, per channel.
type meanPool struct{ in, out node }

func (b *builder) meanPool(in node) node {
	l := meanPool{in, b.node(1, 1, in.value.c, 0)}
	b.layers = append(b.layers, l)
	return l.out
}

func (l meanPool) forward(_ []float32, n int, _ mode) {
	in := l.in.value
	scale := 1 / float32(in.h*in.w)
	for b := range n {
		y := l.out.value.row(b, 0)
		clear(y)
		for i := range in.h {
			for row := in.row(b, i); len(row) > 0; row = row[in.c:] {
				for c := range y {
					y[c] += row[c]
				}
			}
		}
		for c := range y {
			y[c] *= scale
		}
	}
}

func (l meanPool) backward(_, _ []float32, n int) {
	in := l.in.grad
	scale := 1 / float32(in.h*in.w)
	for b := range n {
		dy := l.out.grad.row(b, 0)
		for i := range in.h {
			for row := in.row(b, i); len(row) > 0; row = row[in.c:] {
				for c, d := range dy {
					row[c] = d * scale
				}
			}
		}
	}
}
