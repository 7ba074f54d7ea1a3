package model

import "gossiptrainer/internal/kernel"

// A grid is where pixels begin in a slice.
type grid struct{ first, image, row, pixel int }

// at returns where pixel (y, x) of image b begins.
func (g grid) at(b, y, x int) int { return g.first + b*g.image + y*g.row + x*g.pixel }

// A product is a convolution as the kernels take it: how the windows of four
// neighbouring outputs lie, where the fours are, and the packed weights.
type product struct {
	window   kernel.Window
	filter   kernel.Filter
	quads    []kernel.Quad
	perImage int // quads
}

// newProduct makes room for weights of windows of rows × length inputs, step
// apart, to a number of channels.
func newProduct(rows, length, step, channels int) product {
	return product{
		window: kernel.Window{Rows: rows, Len: length, Step: step},
		filter: kernel.Filter{
			Weights:  make(kernel.Panel, kernel.Panels(channels)*rows*length),
			Start:    make(kernel.Panel, kernel.Panels(channels)),
			Channels: channels,
		},
	}
}

// floats returns how many floats the packed weights are.
func (p *product) floats() int { return len(p.filter.Weights) * kernel.Lanes }

// place lists the quads of images of h×w outputs, whose windows begin at the
// pixels of from and which go to those of to. A quad is a part of a row, a
// square or a part of a column, whatever fits; at the rim quads overlap, which
// computes an output twice.
func (p *product) place(images, h, w int, from, to grid) {
	high, wide := 1, min(4, w)
	if w < 4 && h > 1 {
		high = min(h, 4/wide)
		wide = min(wide, 4/high)
	}
	for i := range 4 {
		y, x := min(i/wide, high-1), min(i%wide, wide-1)
		p.window.In[i] = y*from.row + x*from.pixel
		p.window.Out[i] = y*to.row + x*to.pixel
	}
	p.quads = p.quads[:0]
	for b := range images {
		for i := 0; i < h; i += high {
			for j := 0; j < w; j += wide {
				y, x := min(i, h-high), min(j, w-wide)
				p.quads = append(p.quads, kernel.Quad{In: from.at(b, y, x), Out: to.at(b, y, x)})
			}
		}
	}
	p.perImage = len(p.quads) / max(1, images)
}

// run computes quads, and meanwhile fetches next.
func (p *product) run(t kernel.Tier, out, in []float32, quads []kernel.Quad, next span) {
	next.during(quads, func(part []kernel.Quad, fetch []float32) {
		p.window.Ahead = fetch
		t.Convolve(out, in, &p.window, &p.filter, part)
	})
}

// An outer is the gradient of weights as the kernels take it: rows of runs of
// inputs, times the gradients of the outputs.
type outer struct {
	rows, length int
	quads        []kernel.Quad
	walk         kernel.Walk
	scratch      []float32 // of the sums, if runs are no multiple of four
}

// newOuter places the rows × length inputs of windows, step apart. The last four
// of a run overlap those before.
func newOuter(rows, length, step, columns int) outer {
	o := outer{rows: rows, length: length}
	fours := (length + 3) / 4
	if length%4 != 0 {
		o.scratch = make([]float32, rows*fours*4*columns)
	}
	for r := range rows {
		for j := range fours {
			first := max(0, min(4*j, length-4))
			o.quads = append(o.quads, kernel.Quad{In: r*step + first, Out: (r*fours + j) * 4 * columns})
		}
	}
	return o
}

// newOuterOnce is newOuter for one run of inputs whose sums are set and never added to. Then quads may
// share rows, so that the sums need no memory of their own.
func newOuterOnce(length, columns int) outer {
	if length < 4 {
		return newOuter(1, length, length, columns)
	}
	o := outer{rows: 1, length: length}
	for j := range (length + 3) / 4 {
		first := min(4*j, length-4)
		o.quads = append(o.quads, kernel.Quad{In: first, Out: first * columns})
	}
	return o
}

// over sets the pixels: h×w of each image, in a and in b.
func (o *outer) over(images, h, w int, a, b grid) {
	o.walk = kernel.Walk{
		Count: [3]int{images, h, w},
		StepA: [3]int{a.image, a.row, a.pixel},
		StepB: [3]int{b.image, b.row, b.pixel},
	}
}

// sums returns where the kernels are to write.
func (o *outer) sums(dw []float32) []float32 {
	if o.scratch != nil {
		return o.scratch
	}
	return dw
}

// products returns the sums that the kernels compute for a part of dw, while they fetch memory.
func (o *outer) products(dw []float32, part []kernel.Quad, fetch []float32) kernel.Products {
	o.walk.Ahead = fetch
	return kernel.Products{Columns: o.columns(dw), Quads: part, Walk: &o.walk}
}

// set computes dw over the pixels, but for finish, and meanwhile fetches next.
func (o *outer) set(t kernel.Tier, dw, a, b []float32, next span) {
	next.during(o.quads, func(part []kernel.Quad, fetch []float32) {
		t.Outer(o.sums(dw), a, b, o.products(dw, part, fetch))
	})
}

// add adds the sums over the pixels to dw, but for finish, and meanwhile fetches next.
func (o *outer) add(t kernel.Tier, dw, a, b []float32, next span) {
	next.during(o.quads, func(part []kernel.Quad, fetch []float32) {
		t.AddOuter(o.sums(dw), a, b, o.products(dw, part, fetch))
	})
}

// finish brings the sums to dw.
func (o *outer) finish(dw []float32) {
	if o.scratch == nil {
		return
	}
	columns, fours := o.columns(dw), len(o.quads)/o.rows
	size := min(4, o.length) * columns
	for i, q := range o.quads {
		first := max(0, min(i%fours*4, o.length-4))
		copy(dw[(i/fours*o.length+first)*columns:][:size], o.scratch[q.Out:])
	}
}

func (o *outer) columns(dw []float32) int { return len(dw) / (o.rows * o.length) }
