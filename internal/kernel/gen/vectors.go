package main

import (
	"go/token"
	"go/types"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A tile is what one pass of the inner loop keeps in registers: quads × 4 rows
// of sums, panels × 16 sums wide; 16 floats are one AVX-512 register or two of
// AVX2. With masked set its last lanes may be missing.
type tile struct {
	avx512 bool
	quads  int
	panels int
	masked bool
}

// width returns the bytes of a vector.
func (t tile) width() int {
	if t.avx512 {
		return 64
	}
	return 32
}

// vectors returns how many registers one row of sums takes.
func (t tile) vectors() int { return t.panels * 64 / t.width() }

// register returns a new vector.
func (t tile) register(c *build.Context) reg.VecVirtual {
	if t.avx512 {
		return c.ZMM()
	}
	return c.YMM()
}

// row returns the registers of one row.
func (t tile) row(c *build.Context) []reg.VecVirtual {
	v := make([]reg.VecVirtual, t.vectors())
	for i := range v {
		v[i] = t.register(c)
	}
	return v
}

// sums returns the registers of all sums, four rows per quad.
func (t tile) sums(c *build.Context) [][]reg.VecVirtual {
	s := make([][]reg.VecVirtual, 4*t.quads)
	for i := range s {
		s[i] = t.row(c)
	}
	return s
}

// part returns where vector v of a row lies, if the row's panels begin at m and
// follow each other in the register next.
func (t tile) part(m Mem, v int, next reg.Register) Mem {
	perPanel := t.vectors() / t.panels
	m = m.Offset(v % perPanel * t.width())
	if v >= perPanel {
		m.Index, m.Scale = next, 1
	}
	return m
}

// inputs returns pointers to where the inputs of a tile's quads begin. The table
// of quads is an argument, done how many bytes of it have been dealt with; base
// holds the address of the inputs.
func (t tile) inputs(c *build.Context, done, base Mem) []reg.Register {
	quads, in := t.quadTable(c, done), c.GP64()
	c.MOVQ(base, in)
	first := make([]reg.Register, t.quads)
	for q := range first {
		p := c.GP64()
		c.MOVQ(Mem{Base: quads, Disp: 16 * q}, p)
		c.LEAQ(Mem{Base: in, Index: p, Scale: 4}, p)
		first[q] = p
	}
	return first
}

// quadTable returns a pointer to the tile's quads.
func (t tile) quadTable(c *build.Context, done Mem) reg.GPVirtual {
	quads := c.GP64()
	c.Load(c.Param("quads"), quads)
	c.ADDQ(done, quads)
	return quads
}

// A mask holds which lanes of a panel are there.
type mask struct {
	k       reg.Register     // AVX-512
	vectors []reg.VecVirtual // AVX2
}

// loadMask reads the mask, 16 words with all bits set or none, from m.
func (t tile) loadMask(c *build.Context, m Mem) mask {
	switch {
	case !t.masked:
		return mask{}
	case t.avx512:
		k, v := c.K(), c.ZMM()
		c.VMOVUPS(m, v)
		c.VPMOVD2M(v, k)
		return mask{k: k}
	}
	v := t.row(c)
	for i := range v {
		c.VMOVUPS(m.Offset(i*t.width()), v[i])
	}
	return mask{vectors: v}
}

// load reads vector i of a row from m; missing lanes are zero and not touched.
func (t tile) load(c *build.Context, k mask, i int, m Mem, v reg.VecVirtual) {
	switch {
	case !t.masked:
		c.VMOVUPS(m, v)
	case t.avx512:
		c.VMOVUPS_Z(m, k.k, v)
	default:
		c.VMASKMOVPS(m, k.vectors[i], v)
	}
}

// store writes vector i of a row to m, the missing lanes excepted.
func (t tile) store(c *build.Context, k mask, i int, v reg.VecVirtual, m Mem) {
	switch {
	case !t.masked:
		c.VMOVUPS(v, m)
	case t.avx512:
		c.VMOVUPS(v, k.k, m)
	default:
		c.VMASKMOVPS(v, k.vectors[i], m)
	}
}

// multiplyAdd adds the float at m times the row v to the row s.
func (t tile) multiplyAdd(c *build.Context, s, v []reg.VecVirtual, m Mem) {
	if t.avx512 && len(v) == 1 {
		c.VFMADD231PS_BCST(m, v[0], s[0])
		return
	}
	x := t.register(c)
	c.VBROADCASTSS(m, x)
	for i := range v {
		c.VFMADD231PS(v[i], x, s[i])
	}
}

// callFunction begins a function whose first argument points to a struct of the
// package, of the type named call, and returns that pointer. tables are further
// arguments, pointers to Quad. The assembly counts in the struct but moves no
// pointer in it: the garbage collector must find none that points nowhere.
func callFunction(c *build.Context, name, call, doc string, tables ...string) Mem {
	pkg := types.NewPackage("kernel", "kernel")
	pointer := func(name, to string) *types.Var {
		named := types.NewNamed(types.NewTypeName(token.NoPos, pkg, to, nil), types.NewStruct(nil, nil), nil)
		return types.NewVar(token.NoPos, pkg, name, types.NewPointer(named))
	}
	arguments := []*types.Var{pointer("call", call)}
	for _, table := range tables {
		arguments = append(arguments, pointer(table, "Quad"))
	}
	s := types.NewSignatureType(nil, nil, nil, types.NewTuple(arguments...), nil, false)
	c.Function(name)
	c.Attributes(attr.NOSPLIT)
	c.Signature(gotypes.NewSignature(pkg, s))
	c.Pragma("noescape")
	c.Doc(name + " " + doc)
	return Mem{Base: c.Load(c.Param("call"), c.GP64())}
}
