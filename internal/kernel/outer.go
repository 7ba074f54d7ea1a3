package kernel

import "gossiptrainer/internal/kernel/asm"

// A Walk goes over the pixels of two arrays together: Count[0] images of Count[1] rows of Count[2]
// pixels. For each array it has the distances in floats from one image, row and pixel to the next.
type Walk struct {
	Count, StepA, StepB [3]int
	// Ahead is memory that the caller needs next. AVX-512 fetches it into the cache meanwhile.
	Ahead []float32
}

// Products describes the sums of Outer: those of the quads, Columns floats wide, over the pixels of a
// walk.
type Products struct {
	Columns int
	Quads   []Quad
	Walk    *Walk
}

// Outer computes for each quad q, its rows i and the columns c
//
//	sums[q.Out + i·Columns + c] = Σ_p a[p + q.In + i]·b[p + c],
//
// where p runs over the pixels of the walk, one product after the other in this order. The tiers with
// assembly add every product without rounding it, so they have the same bits. Quads may share rows.
// All places of the walk must lie in the slices.
func (t Tier) Outer(sums, a, b []float32, p Products) {
	if t == Off {
		for _, q := range p.Quads {
			for i := range 4 {
				clear(sums[q.Out+i*p.Columns:][:p.Columns])
			}
			addOuter(sums[q.Out:], a[q.In:], b, p.Columns, p.Walk)
		}
		return
	}
	t.outer(sums, a, b, p, outerCall{asm.OuterCall{}})
}

// AddOuter computes the sums of Outer and adds them to those in place. No two quads may share rows.
func (t Tier) AddOuter(sums, a, b []float32, p Products) {
	if t == Off {
		for _, q := range p.Quads {
			addOuter(sums[q.Out:], a[q.In:], b, p.Columns, p.Walk)
		}
		return
	}
	t.outer(sums, a, b, p, outerCall{asm.OuterCall{Add: 1}})
}

// An outerCall holds the arguments of the assembly.
type outerCall struct{ asm.OuterCall }

func (t Tier) outer(sums, a, b []float32, p Products, call outerCall) {
	w := p.Walk
	call.A, call.Count, call.Columns = &a[0], w.Count, 4*p.Columns
	call.StepA, call.StepB = remainders(w.StepA, w.Count), remainders(w.StepB, w.Count)
	call.Ahead, call.Pace = t.fetch(w.Ahead, a, len(p.Quads), p.Columns, w.Count[0]*w.Count[1]*w.Count[2])
	for c := 0; c < p.Columns; {
		c += call.run(t, sums[c:], b[c:], p.Columns-c, p.Quads)
	}
}

// remainders returns the bytes to skip after the last image, row and pixel.
func remainders(step, count [3]int) [3]int {
	return [3]int{4 * (step[0] - count[1]*step[1]), 4 * (step[1] - count[2]*step[2]), 4 * step[2]}
}

// run computes as many of the next wide columns as a tile has, for all quads,
// and returns how many these are.
func (call *outerCall) run(t Tier, sums, b []float32, wide int, quads []Quad) int {
	call.Sums, call.B, call.Mask = &sums[0], &b[0], laneMask(wide)
	switch {
	case t == AVX2 && wide >= Lanes:
		call.begin(len(quads))
		asm.OuterAVX2(&call.OuterCall, &quads[0])
	case t == AVX2:
		call.begin(len(quads))
		asm.OuterPartAVX2(&call.OuterCall, &quads[0])
	case wide < 2*Lanes:
		if call.begin(len(quads) / asm.OuterTile1) {
			asm.OuterAVX512(&call.OuterCall, &quads[0])
		}
		call.rest(quads[len(quads)/asm.OuterTile1*asm.OuterTile1:])
	default:
		if call.begin(len(quads) / asm.OuterTile2) {
			asm.Outer2AVX512(&call.OuterCall, &quads[0])
		}
		call.rest(quads[len(quads)/asm.OuterTile2*asm.OuterTile2:])
		call.Sums, call.B = &sums[Lanes], &b[Lanes]
		call.rest(quads[len(quads)/asm.OuterTile2*asm.OuterTile2:])
		return 2 * Lanes
	}
	return Lanes
}

// begin sets the counts of the assembly, and reports whether there is work.
func (call *outerCall) begin(tiles int) bool {
	call.Done, call.Tiles = 0, tiles
	return tiles > 0
}

// rest computes the quads that fill no tile.
func (call *outerCall) rest(quads []Quad) {
	if call.begin(len(quads)) {
		asm.OuterRestAVX512(&call.OuterCall, &quads[0])
	}
}

// addOuter adds to the four rows of a quad, two rows and four columns at a time: plain Go has
// registers for that number of sums.
func addOuter(sums, a, b []float32, columns int, w *Walk) {
	for i := 0; i < 4; i += 2 {
		top, bottom := sums[i*columns:(i+1)*columns], sums[(i+1)*columns:(i+2)*columns]
		c := 0
		for ; c+4 <= columns; c += 4 {
			addOuterTile((*[4]float32)(top[c:]), (*[4]float32)(bottom[c:]), a[i:], b[c:], w)
		}
		for ; c < columns; c++ {
			top[c] = addOuterOne(top[c], a[i:], b[c:], w)
			bottom[c] = addOuterOne(bottom[c], a[i+1:], b[c:], w)
		}
	}
}

// addOuterTile adds Σ_p a[p]·b[p+c] to top and Σ_p a[p+1]·b[p+c] to bottom.
func addOuterTile(top, bottom *[4]float32, a, b []float32, w *Walk) {
	s00, s01, s02, s03 := top[0], top[1], top[2], top[3]
	s10, s11, s12, s13 := bottom[0], bottom[1], bottom[2], bottom[3]
	for r := range w.Count[0] * w.Count[1] {
		image, row := r/w.Count[1], r%w.Count[1]
		i, j := image*w.StepA[0]+row*w.StepA[1], image*w.StepB[0]+row*w.StepB[1]
		for range w.Count[2] {
			x, v := (*[2]float32)(a[i:]), (*[4]float32)(b[j:])
			x0, x1 := x[0], x[1]
			w0, w1, w2, w3 := v[0], v[1], v[2], v[3]
			s00 += float32(x0 * w0)
			s01 += float32(x0 * w1)
			s02 += float32(x0 * w2)
			s03 += float32(x0 * w3)
			s10 += float32(x1 * w0)
			s11 += float32(x1 * w1)
			s12 += float32(x1 * w2)
			s13 += float32(x1 * w3)
			i += w.StepA[2]
			j += w.StepB[2]
		}
	}
	*top, *bottom = [4]float32{s00, s01, s02, s03}, [4]float32{s10, s11, s12, s13}
}

// addOuterOne returns s + Σ_p a[p]·b[p].
func addOuterOne(s float32, a, b []float32, w *Walk) float32 {
	for r := range w.Count[0] * w.Count[1] {
		image, row := r/w.Count[1], r%w.Count[1]
		i, j := image*w.StepA[0]+row*w.StepA[1], image*w.StepB[0]+row*w.StepB[1]
		for range w.Count[2] {
			s += float32(a[i] * b[j])
			i += w.StepA[2]
			j += w.StepB[2]
		}
	}
	return s
}
