package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// stacked writes the rounds of workers whose models are rows of one array, see Tier.MixRows and Tier.MixIndices.
func stacked(c *build.Context) {
	for _, w := range widths(c, "stacked") {
		mixRows(w)
		mixIndices(w)
		farIndices(w)
	}
}

func mixRows(w width) {
	function(w.c, "MixRows"+w.tier,
		"func(next, x, g []float32, rows []float32, at []int, weights []float32, step float32) "+
			"(far, largest uint32, moved int)",
		"mixes and descends; len(x) is a multiple of a vector, and weights are not empty.")
	s := newStack(w)
	s.each(func(theirs operand.Mem, _ operand.Mem, own, d reg.VecVirtual) {
		w.load(theirs, d)
		w.c.VSUBPS(own, d, d)
	}, nil)
	s.join()
}

func mixIndices(w width) {
	function(w.c, "MixIndices"+w.tier,
		"func(next, x, g []float32, rows []int32, own []int32, at []int, weights []float32, step float32) "+
			"(far, largest uint32, moved int)",
		"is MixRows of grid points: len(x) is a multiple of a vector, and weights are not empty.")
	s := newStack(w)
	own := w.base("own")
	s.each(func(theirs operand.Mem, mine operand.Mem, _, d reg.VecVirtual) {
		w.load(theirs, d)
		w.c.VPSUBD(mine, d, d)
	}, &own)
	s.join()
}

func farIndices(w width) {
	function(w.c, "FarIndices"+w.tier, "func(rows, own []int32, at []int) (far uint32)",
		"finds the largest differences; len(own) is a multiple of a vector, and at is not empty.")
	w.c.Comment("Begin at the first coordinate.")
	rows, own, at, n, begin := w.base("rows"), w.base("own"), w.base("at"), w.length("own"), w.c.GP64()
	count, far := w.length("at"), w.vector()
	w.c.XORQ(begin, begin)
	w.clear(far)
	w.loop(n, func() {
		w.c.Comment("Compare a vector of coordinates with that of each neighbour.")
		mine, j := w.vector(), w.c.GP64()
		w.load(operand.Mem{Base: own.Base, Index: begin, Scale: 1}, mine)
		w.c.XORQ(j, j)
		w.c.Label("neighbour")
		from, d := w.c.GP64(), w.vector()
		w.c.MOVQ(operand.Mem{Base: at.Base, Index: j, Scale: 8}, from)
		w.c.ADDQ(rows.Base, from)
		w.load(operand.Mem{Base: from, Index: begin, Scale: 1}, d)
		w.c.VPSUBD(mine, d, d)
		w.c.VPABSD(d, d)
		w.c.VPMAXUD(d, far, far)
		w.c.INCQ(j)
		w.c.CMPQ(j, count)
		w.c.JNE(operand.LabelRef("neighbour"))
		w.c.ADDQ(operand.U32(w.bytes), begin)
		w.c.SUBQ(operand.U32(w.bytes/4), n)
	})
	w.c.Comment("Join the lanes of the largest difference, half with half.")
	w.c.Store(most(w, far), w.c.ReturnIndex(0))
	w.finish()
}

// A stack is the state of a mixing.
type stack struct {
	w                  width
	next, x, g         operand.Mem
	rows, at, weights  operand.Mem
	n, begin           reg.GPVirtual
	moved              reg.GPVirtual
	step               reg.VecVirtual
	magnitude          reg.VecVirtual
	differing, largest reg.VecVirtual // results
}

func newStack(w width) *stack {
	w.c.Comment("Begin at the first coordinate.")
	s := &stack{w: w, next: w.base("next"), x: w.base("x"), g: w.base("g"), at: w.base("at"), weights: w.base("weights"),
		n: w.length("x"), begin: w.c.GP64(), moved: w.c.GP64()}
	s.rows = w.base("rows")
	w.c.XORQ(s.begin, s.begin)
	w.c.XORQ(s.moved, s.moved)
	s.step = w.vector()
	w.number("step", s.step)
	s.magnitude = w.everywhere(0x7FFFFFFF)
	s.differing, s.largest = w.vector(), w.vector()
	w.clear(s.differing)
	w.clear(s.largest)
	return s
}

// each goes through the coordinates, a vector at a time. difference computes that of a neighbour: of floats where mine
// is nil, else of integers.
func (s *stack) each(difference func(theirs, own operand.Mem, x, d reg.VecVirtual), mine *operand.Mem) {
	w := s.w
	here := func(base reg.Register) operand.Mem { return operand.Mem{Base: base, Index: s.begin, Scale: 1} }
	w.loop(s.n, func() {
		w.c.Comment("Begin a vector of coordinates: no sum yet.")
		sum, far, x := w.vector(), w.vector(), w.vector()
		w.clear(sum)
		w.clear(far)
		w.load(here(s.x.Base), x)
		j := w.c.GP64()
		w.c.XORQ(j, j)
		w.c.Label("neighbour")
		w.c.Comment("Add weight · difference of one neighbour; keep the largest magnitude.")
		from, d, t := w.c.GP64(), w.vector(), w.vector()
		w.c.MOVQ(operand.Mem{Base: s.at.Base, Index: j, Scale: 8}, from)
		w.c.ADDQ(s.rows.Base, from)
		own := operand.Mem{}
		if mine != nil {
			own = here(mine.Base)
		}
		difference(here(from), own, x, d)
		if mine != nil {
			w.c.VPABSD(d, t)
			w.c.VCVTDQ2PS(d, d)
		} else {
			w.and(s.magnitude, d, t)
		}
		w.c.VPMAXUD(t, far, far)
		w.c.VBROADCASTSS(operand.Mem{Base: s.weights.Base, Index: j, Scale: 4}, t)
		w.c.VMULPS(t, d, d)
		w.c.VADDPS(d, sum, sum)
		w.c.INCQ(j)
		count, err := w.c.Param("weights").Len().Resolve()
		if err != nil {
			panic("gen: weights: " + err.Error())
		}
		w.c.CMPQ(j, count.Addr)
		w.c.JNE(operand.LabelRef("neighbour"))
		w.c.Comment("Add the sum to x once, then the product of step and g.")
		w.c.VADDPS(x, sum, sum)
		w.c.VMULPS(here(s.g.Base), s.step, x)
		w.c.VADDPS(x, sum, sum)
		w.store(sum, here(s.next.Base))
		w.and(s.magnitude, sum, sum)
		w.c.VPMAXUD(sum, s.largest, s.largest)
		w.c.VPMAXUD(far, s.differing, s.differing)
		w.countLanes(far, s.moved)
		w.c.ADDQ(operand.U32(w.bytes), s.begin)
		w.c.SUBQ(operand.U32(w.bytes/4), s.n)
	})
}

// join stores the results.
func (s *stack) join() {
	s.w.c.Comment("Join the lanes of the largest difference and of the largest result, half with half.")
	s.w.c.Store(most(s.w, s.differing), s.w.c.ReturnIndex(0))
	s.w.c.Store(most(s.w, s.largest), s.w.c.ReturnIndex(1))
	s.w.c.Store(s.moved, s.w.c.ReturnIndex(2))
	s.w.finish()
}

// most returns the largest lane.
func most(w width, v reg.VecVirtual) reg.GPVirtual {
	return w.fold(v, func(other, v reg.Register) { w.c.VPMAXUD(other, v, v) })
}
