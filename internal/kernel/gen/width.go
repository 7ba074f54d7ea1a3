package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A width is one size of vector registers, with the operations that the two instruction sets write
// differently. All topics use it.
type width struct {
	c     *build.Context // not embedded: compiling wrappers of its thousands of methods takes a minute
	tier  string         // ends the names of functions
	bytes int
	wide  bool // AVX-512

	topic  string // begins the names of tables
	tables map[string]operand.Mem
}

func widths(c *build.Context, topic string) []width {
	tables := map[string]operand.Mem{}
	return []width{{c, "AVX2", 32, false, topic, tables}, {c, "AVX512", 64, true, topic, tables}}
}

func (w width) vector() reg.VecVirtual {
	if w.wide {
		return w.c.ZMM()
	}
	return w.c.YMM()
}

func (w width) xor(a, b, dst operand.Op) {
	if w.wide {
		w.c.VPXORD(a, b, dst)
	} else {
		w.c.VPXOR(a, b, dst)
	}
}

func (w width) and(a, b, dst operand.Op) {
	if w.wide {
		w.c.VPANDD(a, b, dst)
	} else {
		w.c.VPAND(a, b, dst)
	}
}

func (w width) or(a, b, dst operand.Op) {
	if w.wide {
		w.c.VPORD(a, b, dst)
	} else {
		w.c.VPOR(a, b, dst)
	}
}

func (w width) load(m operand.Op, dst reg.Register) {
	if w.wide {
		w.c.VMOVDQU32(m, dst)
	} else {
		w.c.VMOVDQU(m, dst)
	}
}

func (w width) store(v reg.Register, m operand.Op) {
	if w.wide {
		w.c.VMOVDQU32(v, m)
	} else {
		w.c.VMOVDQU(v, m)
	}
}

// registers returns n new vectors.
func (w width) registers(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = w.vector()
	}
	return v
}

// clear sets v to zero.
func (w width) clear(v reg.Register) { w.xor(v, v, v) }

// everywhere fills a vector with a 32-bit constant.
func (w width) everywhere(value uint32) reg.VecVirtual {
	r, v := w.c.GP32(), w.vector()
	w.c.MOVL(operand.U32(value), r)
	w.spread(r, v)
	return v
}

// spread fills v with r.
func (w width) spread(r reg.Register, v reg.VecVirtual) {
	w.c.VMOVD(r, v.AsX())
	w.c.VPBROADCASTD(v.AsX(), v)
}

// argument fills a vector with a 32-bit argument.
func (w width) argument(name string) reg.VecVirtual {
	r, v := w.c.GP32(), w.vector()
	w.c.Load(w.c.Param(name), r)
	w.spread(r, v)
	return v
}

// number fills a vector with a float argument.
func (w width) number(name string, v reg.VecVirtual) {
	from, err := w.c.Param(name).Resolve()
	if err != nil {
		panic("gen: " + name + ": " + err.Error())
	}
	w.c.VBROADCASTSS(from.Addr, v)
}

// pointer loads a pointer argument.
func (w width) pointer(name string) operand.Mem {
	r := w.c.GP64()
	w.c.Load(w.c.Param(name), r)
	return operand.Mem{Base: r}
}

// same returns a vector in memory that holds value in every lane. All functions
// of a file share it.
func (w width) same(name string, value uint32) operand.Mem {
	return w.table(name, value, value, value, value, value, value, value, value)
}

// ordered returns the order of dwords that reverses the effect of two packings within 128 bits.
func (w width) ordered() operand.Mem {
	if w.wide {
		return w.table("ordered16", 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)
	}
	return w.table("ordered8", 0, 4, 1, 5, 2, 6, 3, 7)
}

// table puts words into the file, once, and returns their address.
func (w width) table(name string, words ...uint32) operand.Mem {
	if base, ok := w.tables[name]; ok {
		return base
	}
	base := w.c.StaticGlobal(w.topic + name)
	w.c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i, v := range words {
		w.c.AddDatum(4*i, operand.U32(v))
	}
	w.tables[name] = base
	return base
}

// base loads the address of a slice.
func (w width) base(name string) operand.Mem {
	r := w.c.GP64()
	w.c.Load(w.c.Param(name).Base(), r)
	return operand.Mem{Base: r}
}

// length loads the length of a slice.
func (w width) length(name string) reg.GPVirtual {
	r := w.c.GP64()
	w.c.Load(w.c.Param(name).Len(), r)
	return r
}

// loop repeats body until n, which body decreases, is 0. It skips body if n is 0 already.
func (w width) loop(n reg.Register, body func()) {
	w.c.TESTQ(n, n)
	w.c.JZ(operand.LabelRef("done"))
	w.c.Label("loop")
	body()
	w.c.JNZ(operand.LabelRef("loop"))
	w.c.Label("done")
}

// Predicates of VCMPPS and VCMPPD, of VPCMPD and of VPCMPB. Predicates that are true for a NaN begin
// with not.
const (
	equal          = operand.U8(0)
	notLess        = operand.U8(5)
	greaterEqual   = operand.U8(13)
	notLessOrEqual = operand.U8(22)

	integerLess = operand.U8(1)
	differs     = operand.U8(4)
)

// finish writes the return to Go.
func (w width) finish() {
	w.c.VZEROUPPER()
	w.c.RET()
}

// function begins a leaf function whose slices stay the caller's.
func function(c *build.Context, name, arguments, doc string) {
	c.Function(name)
	c.Attributes(attr.NOSPLIT)
	s, err := signature(arguments)
	if err != nil {
		panic("gen: " + name + ": " + err.Error())
	}
	c.Signature(s)
	c.Pragma("noescape")
	c.Doc(name + " " + doc)
}
