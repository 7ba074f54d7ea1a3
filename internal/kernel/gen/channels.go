package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// channels writes the passes of normalization over an image, a vector of
// channels at a time.
func channels(c *build.Context) {
	for _, w := range widths(c, "channels") {
		p := sweep{width: w}
		p.channelSums()
		sweep{w, true}.channelSums()
		p.moments()
		p.maskedMoments()
		p.normalize("Normalize", 2)
		p.normalize("NormalizeAdd", 3)
		p.combine()
		p.rectify()
		p.mask()
	}
}

// A sweep goes over the pixels of up to six planes together. With part set, some of the last lanes have no channel.
type sweep struct {
	width
	part bool
}

// A walk is the state of the loops over an image.
type walk struct {
	sweep
	call   call
	planes []reg.GPVirtual // first bytes of the row
	at     reg.GPVirtual   // bytes from there to the pixel
	pixel  reg.GPVirtual   // bytes of a pixel
	mask   reg.Register    // of the lanes with a channel, for a part
}

// A visit is the work of one function. Code of begin and end comes before and after the rows of a
// group of channels. Code of body handles one pixel of all planes with the sums of chain i. With four
// chains, the four pixels of a quad have different sums.
type visit struct {
	planes, chains int
	begin, end     func(w *walk)
	body           func(w *walk, i int)
}

// pixelOf returns the place of the pixel in a plane.
func (w *walk) pixelOf(plane int) operand.Mem {
	return operand.Mem{Base: w.planes[plane], Index: w.at, Scale: 1}
}

// read returns what a plane has at m, to be read once. Lanes without a channel are not read and are 0.
func (w *walk) read(m operand.Mem) operand.Op {
	if !w.part {
		return m
	}
	v := w.vector()
	if w.wide {
		w.c.VMOVUPS_Z(m, w.mask, v)
	} else {
		w.c.VMASKMOVPS(m, w.mask, v)
	}
	return v
}

// load reads what a plane has at m to a vector.
func (w *walk) load(m operand.Mem) reg.VecVirtual {
	if v, ok := w.read(m).(reg.VecVirtual); ok {
		return v
	}
	v := w.vector()
	w.c.VMOVUPS(m, v)
	return v
}

// write writes v to m, without the lanes that have no channel.
func (w *walk) write(v reg.VecVirtual, m operand.Mem) {
	switch {
	case !w.part:
		w.c.VMOVUPS(v, m)
	case w.wide:
		w.c.VMOVUPS(v, w.mask, m)
	default:
		w.c.VMASKMOVPS(v, w.mask, m)
	}
}

// loadMask reads the mask of a part.
func (w *walk) loadMask() {
	if !w.part {
		return
	}
	w.c.Comment("Load the mask of the lanes that have a channel.")
	v := w.vector()
	w.c.VMOVUPS(w.call.field("Mask", 0), v)
	w.mask = v
	if w.wide {
		k := w.c.K()
		w.c.VPMOVD2M(v, k)
		w.mask = k
	}
}

// run writes the loops over groups of channels, rows and pixels.
func (p sweep) run(name, doc string, do visit) {
	if p.part {
		name += "Part"
	}
	w := &walk{sweep: p, call: p.called(name, channelsCall(), "", doc)}
	w.loadMask()
	w.c.Label("group")
	w.c.Comment("Begin a group of channels.")
	if do.begin != nil {
		do.begin(w)
	}
	w.at, w.pixel = w.c.GP64(), w.c.GP64()
	w.c.MOVQ(w.call.field("Pixel", 0), w.pixel)
	for i := range do.planes {
		w.planes = append(w.planes, w.c.GP64())
		w.c.MOVQ(w.call.field("Planes", i), w.planes[i])
		w.c.ADDQ(w.call.field("Done", 0), w.planes[i])
	}
	rows, n := w.c.GP64(), w.c.GP64()
	w.c.MOVQ(w.call.field("Rows", 0), rows)
	w.c.Label("row")
	w.pixels(do, n)
	w.c.Comment("Go on to the next row of each plane.")
	for i := range do.planes {
		w.c.ADDQ(w.call.field("Steps", i), w.planes[i])
	}
	w.c.DECQ(rows)
	w.c.JNZ(operand.LabelRef("row"))
	if do.end != nil {
		do.end(w)
	}
	w.c.Comment("Count the group, in the call: registers are rare here.")
	w.c.ADDQ(operand.U8(p.bytes), w.call.field("Done", 0))
	w.c.DECQ(w.call.field("Groups", 0))
	w.c.JNZ(operand.LabelRef("group"))
	w.finish()
}

// pixels writes the loops over the pixels of a row, with n as the counter: by fours, then one by one.
func (w *walk) pixels(do visit, n reg.GPVirtual) {
	w.c.XORQ(w.at, w.at)
	for part, label := range []string{"quad", "single"} {
		w.c.Comment([]string{"Do the pixels of the row by fours.", "Do the rest one by one."}[part])
		w.c.MOVQ(w.call.field([]string{"Quads", "Singles"}[part], 0), n)
		w.c.TESTQ(n, n)
		w.c.JZ(operand.LabelRef(label + "s"))
		w.c.Label(label)
		for i := range []int{4, 1}[part] {
			do.body(w, i%do.chains)
			w.c.ADDQ(w.pixel, w.at)
		}
		w.c.DECQ(n)
		w.c.JNZ(operand.LabelRef(label))
		w.c.Label(label + "s")
	}
}

// zeros returns n registers and the code that clears them.
func (p sweep) zeros(n int) ([]reg.VecVirtual, func(w *walk)) {
	s := p.registers(n)
	return s, func(*walk) {
		for _, v := range s {
			p.c.VXORPS(v, v, v)
		}
	}
}

// writeSums adds up four chains of two sums and writes them to the coefficients.
func (p sweep) writeSums(s []reg.VecVirtual) func(w *walk) {
	return func(w *walk) {
		p.c.Comment("Add up the four chains of both sums.")
		to := p.c.GP64()
		for k := range 2 {
			p.c.VADDPS(s[2+k], s[k], s[k])
			p.c.VADDPS(s[6+k], s[4+k], s[4+k])
			p.c.VADDPS(s[4+k], s[k], s[k])
			p.c.MOVQ(w.call.field("Coefficients", k), to)
			p.c.ADDQ(w.call.field("Done", 0), to)
			p.c.VMOVUPS(s[k], operand.Mem{Base: to})
		}
	}
}

// channelSums writes Σ u.
func (p sweep) channelSums() {
	s, clear := p.zeros(4)
	p.run("ChannelSums", "computes the sums of a plane.", visit{
		planes: 1, chains: 4, begin: clear,
		body: func(w *walk, i int) { p.c.VADDPS(w.read(w.pixelOf(0)), s[i], s[i]) },
		end: func(w *walk) {
			p.c.Comment("Add up the four chains.")
			p.c.VADDPS(s[1], s[0], s[0])
			p.c.VADDPS(s[3], s[2], s[2])
			p.c.VADDPS(s[2], s[0], s[0])
			to := p.c.GP64()
			p.c.MOVQ(w.call.field("Coefficients", 0), to)
			p.c.ADDQ(w.call.field("Done", 0), to)
			w.write(s[0], operand.Mem{Base: to})
		},
	})
}

// moments writes Σ u and Σ u·v.
func (p sweep) moments() {
	s, clear := p.zeros(8)
	p.run("Moments", "computes the sums of a plane and of its products with another.", visit{
		planes: 2, chains: 4, begin: clear, end: p.writeSums(s),
		body: func(w *walk, i int) {
			u := p.vector()
			p.c.VMOVUPS(w.pixelOf(0), u)
			p.c.VADDPS(u, s[2*i], s[2*i])
			p.c.VFMADD231PS(w.pixelOf(1), u, s[2*i+1])
		},
	})
}

// maskedMoments writes u ← u where y is positive, else 0, then Σ u and Σ u·v.
func (p sweep) maskedMoments() {
	s, clear := p.zeros(8)
	zero := p.vector()
	p.run("MaskedMoments", "clears a plane where a third is not positive and computes its moments.", visit{
		planes: 3, chains: 4, end: p.writeSums(s),
		begin: func(w *walk) {
			p.c.VXORPS(zero, zero, zero)
			clear(w)
		},
		body: func(w *walk, i int) {
			u := p.masked(zero, w.pixelOf(0), w.pixelOf(2))
			p.c.VADDPS(u, s[2*i], s[2*i])
			p.c.VFMADD231PS(w.pixelOf(1), u, s[2*i+1])
		},
	})
}

// masked sets u to zero where y is not positive and returns it.
func (p sweep) masked(zero reg.VecVirtual, u, y operand.Mem) reg.VecVirtual {
	v := p.vector()
	p.c.VMOVUPS(y, v)
	if p.wide {
		k := p.c.K()
		p.c.VCMPPS(notLessOrEqual, zero, v, k)
		p.c.VMOVUPS_Z(u, k, v)
	} else {
		p.c.VCMPPS(notLessOrEqual, zero, v, v)
		p.c.VANDPS(u, v, v)
	}
	p.c.VMOVUPS(v, u)
	return v
}

// mask writes u ← u where y is positive, else 0.
func (p sweep) mask() {
	zero, clear := p.zeros(1)
	p.run("Mask", "clears a plane where another is not positive.", visit{
		planes: 2, chains: 1, begin: clear,
		body: func(w *walk, _ int) { p.masked(zero[0], w.pixelOf(0), w.pixelOf(1)) },
	})
}

// rectify writes y ← max(y, 0).
func (p sweep) rectify() {
	zero, clear := p.zeros(1)
	p.run("Rectify", "clears negative numbers in a plane.", visit{
		planes: 1, chains: 1, begin: clear,
		body: func(w *walk, _ int) {
			v := p.vector()
			p.c.VMOVUPS(w.pixelOf(0), v)
			p.c.VMAXPS(v, zero[0], v)
			p.c.VMOVUPS(v, w.pixelOf(0))
		},
	})
}

// normalize writes y = max(a·z + b + r, floor), without r if there are two
// planes.
func (p sweep) normalize(name string, planes int) {
	a, b, floor := p.vector(), p.vector(), p.vector()
	p.run(name, "scales and shifts the channels of a plane and takes the maximum with a number.", visit{
		planes: planes, chains: 1,
		begin: func(w *walk) {
			p.coefficients(w, a, b)
			p.c.VBROADCASTSS(w.call.field("Floor", 0), floor)
		},
		body: func(w *walk, _ int) {
			y := p.vector()
			p.c.VMOVUPS(w.pixelOf(1), y)
			p.c.VFMADD213PS(b, a, y)
			if planes == 3 {
				p.c.VADDPS(w.pixelOf(2), y, y)
			}
			p.c.VMAXPS(y, floor, y)
			p.c.VMOVUPS(y, w.pixelOf(0))
		},
	})
}

// combine writes dz = k·dy + (p·z + q).
func (p sweep) combine() {
	k, l, q := p.vector(), p.vector(), p.vector()
	p.run("Combine", "combines the channels of two planes linearly.", visit{
		planes: 3, chains: 1,
		begin: func(w *walk) { p.coefficients(w, k, l, q) },
		body: func(w *walk, _ int) {
			z := p.vector()
			p.c.VMOVUPS(w.pixelOf(2), z)
			p.c.VFMADD213PS(q, l, z)
			p.c.VFMADD231PS(w.pixelOf(1), k, z)
			p.c.VMOVUPS(z, w.pixelOf(0))
		},
	})
}

// coefficients reads the coefficients of a group of channels.
func (p sweep) coefficients(w *walk, to ...reg.VecVirtual) {
	from := p.c.GP64()
	for i, v := range to {
		p.c.MOVQ(w.call.field("Coefficients", i), from)
		p.c.ADDQ(w.call.field("Done", 0), from)
		p.c.VMOVUPS(operand.Mem{Base: from}, v)
	}
}
