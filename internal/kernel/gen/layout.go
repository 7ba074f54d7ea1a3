package main

import (
	"fmt"
	"go/format"
	"go/token"
	"go/types"
	"math"
	"strings"

	"github.com/mmcloughlin/avo/gotypes"
)

// A layout is a struct that Go fills and assembly reads. The generator writes its
// declaration to package asm, and writers of functions ask it where a field is, so
// that no place is written twice.
type layout struct {
	name   string
	doc    string // goes on behind the name
	fields []field
}

// A field is one line of the declaration.
type field struct{ name, kind, doc string }

// A constant is a number that Go and assembly count by.
type constant struct {
	name  string
	value uint64
	doc   string
}

// constants are those that package asm declares.
func constants() []constant {
	return []constant{
		{"Step", step, "is the number of coordinates that a quantizer does at a time."},
		{"Batch", batch, "is the number of coordinates that rounding to parts or levels does at a time."},
		{"RoundFraction", roundFraction, "is the number of fractional bits of what is rounded to parts."},
		{"MaxCells", maxCells, "is the largest number of cells between levels."},
		{"FindAlone", findAlone, "is from how many halvings on a function of its own finds the cells."},
		{"Lanes", lanes, "is the number of columns in a panel."},
		{"ConvolveTile2", convolveTile2, "is the quads of a tile of two panels."},
		{"ConvolveTile1", convolveTile1, "is the quads of a tile of one panel, with AVX-512."},
		{"OuterTile2", outerTile2, "is the quads of a tile of two panels."},
		{"OuterTile1", outerTile1, "is the quads of a tile of one panel, with AVX-512."},
		{"Prime1", prime1, "is the first prime of XXH64."},
		{"Prime2", prime2, "is the second prime of XXH64."},
	}
}

// layouts are the structs that package asm declares.
func layouts() []layout {
	return []layout{quantizerWords, rounderWords, cellWords, channelsCall, convolveCall, outerCall, quadPlaces}
}

// at returns the place of a field in bytes.
func (l layout) at(name string) int {
	places := sizes.Offsetsof(l.variables())
	for i, f := range l.fields {
		if f.name == name {
			return int(places[i])
		}
	}
	panic("gen: " + l.name + " has no field " + name)
}

// size returns the bytes of the struct.
func (l layout) size() int {
	return int(sizes.Sizeof(types.NewStruct(l.variables(), nil)))
}

// variables returns the fields for the compiler's rules of layout.
func (l layout) variables() []*types.Var {
	v := make([]*types.Var, len(l.fields))
	for i, f := range l.fields {
		t, err := types.Eval(token.NewFileSet(), nil, token.NoPos, f.kind)
		if err != nil {
			panic("gen: " + l.name + "." + f.name + ": " + err.Error())
		}
		v[i] = types.NewField(token.NoPos, nil, f.name, t.Type, false)
	}
	return v
}

// sizes are the compiler's rules of layout.
var sizes = types.SizesFor("gc", "amd64")

// scope returns package asm as far as signatures name its types.
func scope() *types.Package {
	pkg := types.NewPackage(packageName, packageName)
	for _, l := range layouts() {
		name := types.NewTypeName(token.NoPos, pkg, l.name, nil)
		types.NewNamed(name, types.NewStruct(l.variables(), nil), nil)
		pkg.Scope().Insert(name)
	}
	return pkg
}

// signature parses that of a function of package asm.
func signature(expression string) (*gotypes.Signature, error) {
	return gotypes.ParseSignatureInPackage(scope(), expression)
}

// declarations returns the file of package asm that Go shares with assembly.
func declarations() ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "// %s\n\n", warning)
	b.WriteString(packageDoc + "package " + packageName + "\n")
	for _, c := range constants() {
		format := "\n// %s %s\nconst %s = %d\n"
		if c.value > math.MaxUint16 {
			format = "\n// %s %s\nconst %s = %#X\n"
		}
		fmt.Fprintf(&b, format, c.name, c.doc, c.name, c.value)
	}
	for _, l := range layouts() {
		fmt.Fprintf(&b, "\n// %s %s\ntype %s struct {\n", l.name, l.doc, l.name)
		for _, f := range l.fields {
			fmt.Fprintf(&b, "%s %s // %s\n", f.name, f.kind, f.doc)
		}
		b.WriteString("}\n")
	}
	return format.Source([]byte(b.String()))
}

const packageDoc = `// Package asm is the assembly of package kernel, which alone calls it: functions that
// end with the name of their tier, the structs they are given, and the numbers that
// both sides count by. A function trusts its caller: lengths are the multiples that
// its comment names, and the machine has the tier. Builds without assembly have
// functions that panic.
//
// All files are written by ../gen; run go generate ./internal/kernel.
`
