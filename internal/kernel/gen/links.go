package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// links is one hash beside rounding. Vectors do the independent multiplications, and general registers
// do the chain. The chain is one step behind: its instructions stand between those of the next step. A
// processor would not look ahead far enough to run others beside a whole step of the chain.
type links struct {
	width
	symbols             operand.Mem
	mask, second, order reg.VecVirtual
	products            operand.Mem
	prime               reg.GPVirtual
	state               [4]reg.GPVirtual
}

func (w width) newLinks() links {
	h := links{width: w, symbols: w.base("symbols"), second: w.c.ZMM(), order: w.vector()}
	w.c.Comment("Load the state of the hash, its primes, and the constants that make symbols of indices.")
	r := w.c.GP64()
	w.c.MOVQ(operand.U64(prime2), r)
	w.c.VPBROADCASTQ(r, h.second)
	h.mask = w.argument("mask")
	w.load(w.ordered(), h.order)
	for i := range h.state {
		h.state[i] = w.c.GP64()
	}
	h.load()
	h.products = w.pointer("products")
	h.prime = w.c.GP64()
	w.c.MOVQ(operand.U64(prime1), h.prime)
	return h
}

// prepare writes the symbols of four vectors of indices from vector v of a step on, and the first
// products of their stripes.
func (h *links) prepare(v int, k [4]reg.VecVirtual) {
	h.c.Comment("Multiply for the stripes of the next step; narrow the indices to symbols.")
	for i := range k {
		product := h.vector()
		h.c.VPMULLQ(h.second, k[i], product)
		h.width.store(product, h.products.Offset((v+i)*h.bytes))
	}
	for i := range k {
		h.and(h.mask, k[i], k[i])
	}
	h.c.VPACKUSDW(k[1], k[0], k[0])
	h.c.VPACKUSDW(k[3], k[2], k[2])
	h.c.VPACKUSWB(k[2], k[0], k[0])
	h.c.VPERMD(k[0], h.order, k[0])
	h.width.store(k[0], h.symbols.Offset(v*h.bytes/4))
}

// enter hashes the products of vector v, two stripes.
func (h *links) enter(v int) {
	h.c.Comment("Hash two stripes of the step before.")
	for at := v * h.bytes; at < (v+1)*h.bytes; at += 32 {
		for i, lane := range h.state {
			h.c.ADDQ(h.products.Offset(at+8*i), lane)
			h.c.ROLQ(operand.U8(31), lane)
			h.c.IMULQ(h.prime, lane)
		}
	}
}

// begin sets the state after the first step, which has no products.
func (h *links) begin(left reg.GPVirtual) {
	h.c.Comment("Forget the hash of the first step: nothing had been prepared.")
	whole, err := h.c.Param("x").Len().Resolve()
	if err != nil {
		panic(err)
	}
	h.c.CMPQ(left, whole.Addr)
	h.c.JNE(operand.LabelRef("begun"))
	h.load()
	h.c.Label("begun")
}

// load loads the state.
func (h *links) load() {
	lanes := h.pointer("lanes")
	for i, lane := range h.state {
		h.c.MOVQ(lanes.Offset(8*i), lane)
	}
}

// store stores the state.
func (h *links) store() {
	h.c.Comment("Store the state of the hash.")
	lanes := h.pointer("lanes")
	for i, lane := range h.state {
		h.c.MOVQ(lane, lanes.Offset(8*i))
	}
}
