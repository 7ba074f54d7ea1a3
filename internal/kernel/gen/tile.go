package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A tile holds the sums that one pass of the inner loop keeps in registers: quads × 4 rows of sums,
// panels × 16 sums wide. A register of AVX-512, or two of AVX2, hold 16 floats. With masked set, some
// of its last lanes may be missing.
type tile struct {
	width
	quads  int
	panels int
	masked bool
}

// panelBytes is the size of one row of a panel.
const panelBytes = 4 * lanes

// vectors returns how many registers one row of sums takes.
func (t tile) vectors() int { return t.panels * panelBytes / t.bytes }

// row returns the registers of one row.
func (t tile) row() []reg.VecVirtual { return t.registers(t.vectors()) }

// sums returns the registers of all sums, four rows per quad.
func (t tile) sums() [][]reg.VecVirtual {
	s := make([][]reg.VecVirtual, 4*t.quads)
	for i := range s {
		s[i] = t.row()
	}
	return s
}

// place returns the place of vector v of a row whose panels begin at m and are next bytes apart.
func (t tile) place(m operand.Mem, v int, next reg.Register) operand.Mem {
	perPanel := t.vectors() / t.panels
	m = m.Offset(v % perPanel * t.bytes)
	if v >= perPanel {
		m.Index, m.Scale = next, 1
	}
	return m
}

// inputs returns pointers to the inputs of a tile's quads. The table of quads is an argument, done
// counts its finished bytes, and base holds the address of the inputs.
func (t tile) inputs(done, base operand.Mem) []reg.Register {
	t.c.Comment("Point to the inputs of the tile's quads.")
	quads, in := t.quadTable(done), t.c.GP64()
	t.c.MOVQ(base, in)
	first := make([]reg.Register, t.quads)
	for q := range first {
		p := t.c.GP64()
		t.c.MOVQ(quads.Offset(q*quadPlaces().size()+quadPlaces().at("In")), p)
		t.c.LEAQ(operand.Mem{Base: in, Index: p, Scale: 4}, p)
		first[q] = p
	}
	return first
}

// quadTable returns a pointer to the tile's quads.
func (t tile) quadTable(done operand.Mem) operand.Mem {
	quads := t.pointer("quads")
	t.c.ADDQ(done, quads.Base)
	return quads
}

// ahead returns the address of the memory to fetch next, with AVX-512: between the eight multiply-adds of an AVX2 tile
// fetching costs more than it gains. The memory comes into the first-level cache: into the second alone, tiles of 16
// columns take a tenth longer.
func (t tile) ahead(call call) reg.GPVirtual {
	p := t.c.GP64()
	if t.wide {
		t.c.MOVQ(call.field("Ahead", 0), p)
		t.c.ADDQ(call.field("Fetched", 0), p)
	}
	return p
}

// fetch asks for the memory at ahead and moves on. No address is wrong: processors ignore what they cannot read.
func (t tile) fetch(call call, ahead reg.GPVirtual) {
	if t.wide {
		t.c.PREFETCHT0(operand.Mem{Base: ahead})
		t.c.ADDQ(call.field("Pace", 0), ahead)
	}
}

// fetched keeps in the call how far fetching is.
func (t tile) fetched(call call, ahead reg.GPVirtual) {
	if t.wide {
		t.c.SUBQ(call.field("Ahead", 0), ahead)
		t.c.MOVQ(ahead, call.field("Fetched", 0))
	}
}

// nextTile leaves the loop over tiles when the call has none left.
func (t tile) nextTile(done, tiles operand.Mem) {
	t.c.Comment("Count the tile, in the call: registers are rare here.")
	t.c.ADDQ(operand.U8(t.quads*quadPlaces().size()), done)
	t.c.DECQ(tiles)
	t.c.JNZ(operand.LabelRef("tile"))
	t.finish()
}

// A mask holds the valid lanes of a panel.
type mask struct {
	k       reg.Register     // AVX-512
	vectors []reg.VecVirtual // AVX2
}

// loadMask reads the mask, 16 words with all bits set or none, from m.
func (t tile) loadMask(m operand.Mem) mask {
	if !t.masked {
		return mask{}
	}
	t.c.Comment("Load the mask of the valid lanes.")
	if t.wide {
		k, v := t.c.K(), t.vector()
		t.c.VMOVUPS(m, v)
		t.c.VPMOVD2M(v, k)
		return mask{k: k}
	}
	v := t.row()
	for i := range v {
		t.c.VMOVUPS(m.Offset(i*t.bytes), v[i])
	}
	return mask{vectors: v}
}

// loadLanes reads vector i of a row from m. Missing lanes are not read and become zero.
func (t tile) loadLanes(k mask, i int, m operand.Mem, v reg.VecVirtual) {
	switch {
	case !t.masked:
		t.c.VMOVUPS(m, v)
	case t.wide:
		t.c.VMOVUPS_Z(m, k.k, v)
	default:
		t.c.VMASKMOVPS(m, k.vectors[i], v)
	}
}

// storeLanes writes vector i of a row to m, without the missing lanes.
func (t tile) storeLanes(k mask, i int, v reg.VecVirtual, m operand.Mem) {
	switch {
	case !t.masked:
		t.c.VMOVUPS(v, m)
	case t.wide:
		t.c.VMOVUPS(v, k.k, m)
	default:
		t.c.VMASKMOVPS(v, k.vectors[i], m)
	}
}

// multiplyAdd adds the float at m times the row v to the row s.
func (t tile) multiplyAdd(s, v []reg.VecVirtual, m operand.Mem) {
	if t.wide && len(v) == 1 {
		t.c.VFMADD231PS_BCST(m, v[0], s[0])
		return
	}
	x := t.vector()
	t.c.VBROADCASTSS(m, x)
	for i := range v {
		t.c.VFMADD231PS(v[i], x, s[i])
	}
}

// called begins a function whose argument is a call, and returns the place of that. A call is a struct
// with more fields than registers. The parameter arguments names further ones. The assembly counts in
// the struct but changes no pointer in it: the garbage collector must find only valid pointers.
func (w width) called(name string, of layout, arguments, doc string) call {
	function(w.c, name+w.tier, "func(call *"+of.name+arguments+")", doc)
	w.c.Comment("Load the address of the call.")
	return call{of, w.pointer("call")}
}

// A call is a struct in memory.
type call struct {
	layout
	base operand.Mem
}

// field returns the place of word i, of 8 bytes, of a field.
func (c call) field(name string, i int) operand.Mem {
	return c.base.Offset(c.at(name) + 8*i)
}
