package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pool writes the passes of max pooling, with the loops of channels: the pixels of the large image lie
// at twice the distance.
func pool(c *build.Context) {
	for _, w := range widths(c, "pool") {
		for _, part := range []bool{false, true} {
			p := sweep{w, part}
			p.maxPool()
			p.maxPoolGradient()
		}
	}
}

// window returns the places of the four pixels of a window: two each in the rows that are the planes
// top and top+1.
func (w *walk) window(top int) [4]operand.Mem {
	left, right := w.c.GP64(), w.c.GP64()
	w.c.LEAQ(operand.Mem{Base: w.at, Index: w.at, Scale: 1}, left)
	w.c.LEAQ(operand.Mem{Base: left, Index: w.pixel, Scale: 1}, right)
	var m [4]operand.Mem
	for i := range m {
		m[i] = operand.Mem{Base: w.planes[top+i/2], Index: []reg.GPVirtual{left, right}[i%2], Scale: 1}
	}
	return m
}

// maxPool writes the largest of each window.
func (p sweep) maxPool() {
	p.run("MaxPool", "takes the largest of each 2×2 pixels.", visit{
		planes: 3, chains: 1,
		body: func(w *walk, _ int) {
			x := w.window(1)
			y := w.load(x[0])
			for _, m := range x[1:] {
				p.c.VMAXPS(w.read(m), y, y)
			}
			w.write(y, w.pixelOf(0))
		},
	})
}

// maxPoolGradient writes dy to the first pixel of the window with the value y, and 0 to the others. An
// exclusive or removes the value that a pixel has taken.
func (p sweep) maxPoolGradient() {
	p.run("MaxPoolGradient", "gives the gradient of each largest pixel to it.", visit{
		planes: 6, chains: 1,
		body: func(w *walk, _ int) {
			dx, x := w.window(0), w.window(2)
			d := p.vector()
			p.c.Comment("Load the largest value of a window and its gradient.")
			y, dy := w.load(w.pixelOf(4)), w.load(w.pixelOf(5))
			p.c.Comment("Give it to the first pixel with that value, and 0 to the others.")
			for i := range x {
				if p.wide {
					k := p.c.K()
					p.c.VCMPPS(equal, w.read(x[i]), y, k)
					p.c.VMOVAPS_Z(dy, k, d)
				} else {
					p.c.VCMPPS(equal, w.read(x[i]), y, d)
					p.c.VANDPS(dy, d, d)
				}
				p.c.VXORPS(d, dy, dy)
				w.write(d, dx[i])
			}
		},
	})
}
