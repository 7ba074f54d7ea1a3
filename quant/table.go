package quant

import (
	"fmt"
	"math"
	"slices"

	"gossiptrainer/internal/kernel"
)

// Levels rounds the coordinates of a bucket, divided by its norm, to any table of levels. NUQSGD
// (Ramezani-Kebrya et al., 2019), and ALQ and AMQ (Faghri et al., "Adaptive Gradient Quantization for
// Data-Parallel SGD", NeurIPS 2020) have this form. A value between two levels becomes one of them at
// random, such that its expectation is the value.
//
// A bucket is the norm as a float, by which the sender decodes too, and one of N symbols per coordinate:
// 4 + ⌈m·b/8⌉ bytes for N = 2^b. Both ends need the same table; it is not in the payload.
type Levels struct {
	bucketed
	norm   Norm
	form   Form
	levels []float64
	cells  cells
	empty  bool // the norm of the last fitted bucket is 0
	points
	drawer kernel.Cells
	laned  bool // drawer is set
}

// A Table is ascending levels for values of −1 to 1: 2 to 128 magnitudes or 2 to 256 levels, by form.
type Table struct {
	Form   Form
	Levels []float64
}

// A Form says whether a table has levels for magnitudes or for signed values.
type Form int

const (
	// Zero: for magnitudes. The table has h levels from 0 to 1, and the symbol is the level. A negative
	// value that is not rounded to 0 adds h to it for N = 2h symbols, h − 1 for N = 2h − 1.
	Zero Form = iota
	// Symmetric: for values with their sign. The table has N levels from −1 to 1, none need be 0, and the
	// symbol is the level.
	Symmetric
)

// ParseForm returns the form of a name: zero or sym.
func ParseForm(name string) (Form, error) {
	switch name {
	case "zero":
		return Zero, nil
	case "sym":
		return Symmetric, nil
	}
	return 0, fmt.Errorf("quant: variant %q: must be zero or sym", name)
}

// Check returns an error unless t is a table of its form.
func (t Table) Check() error {
	n, low, most := len(t.Levels), -1.0, maxLevels
	if t.Form == Zero {
		low, most = 0, maxLevels/2
	}
	switch {
	case n < 2 || n > most:
		return fmt.Errorf("quant: a table of %d levels: must be 2 to %d", n, most)
	case t.Levels[0] != low || t.Levels[n-1] != 1:
		return fmt.Errorf("quant: a table from %v to %v: must be from %v to 1", t.Levels[0], t.Levels[n-1], low)
	}
	for j := 1; j < n; j++ {
		if !(t.Levels[j-1] <= t.Levels[j]) {
			return fmt.Errorf("quant: a table with level %v before %v: must be ascending", t.Levels[j-1], t.Levels[j])
		}
	}
	return nil
}

// values returns the number of values that a coordinate can have.
func (t Table) values() int {
	if t.Form == Zero {
		return 2*len(t.Levels) - 1
	}
	return len(t.Levels)
}

// symbols returns N for a table of which nothing else is given: without one for −0 unless it fills whole bits.
func (t Table) symbols() int {
	if n := len(t.Levels); t.Form == Zero && n&(n-1) == 0 {
		return 2 * n
	}
	return t.values()
}

// checkLevels returns an error unless a table of h = ⌈levels/2⌉ magnitudes, h ≥ 2, has as many values as
// levels says.
func checkLevels(name string, levels int, form Form) error {
	parity, least, most := "odd", 3, maxLevels-1
	if form == Symmetric {
		parity, least, most = "even", 4, maxLevels
	}
	if levels < least || levels > most || (levels-least)%2 != 0 {
		return fmt.Errorf("quant: %s: %d levels: must be an %s number from %d to %d", name, levels, parity, least, most)
	}
	return nil
}

// tableOf returns the table with the given magnitudes, ascending up to 1.
func tableOf(form Form, magnitudes []float64) Table {
	t := Table{form, slices.Clone(magnitudes)}
	if form == Symmetric {
		t.Levels = make([]float64, 2*len(magnitudes))
	}
	copy(t.magnitudes(), magnitudes)
	t.mirror()
	return t
}

// magnitudes returns the part of the table that determines the rest.
func (t Table) magnitudes() []float64 {
	if t.Form == Zero {
		return t.Levels
	}
	return t.Levels[len(t.Levels)/2:]
}

// free returns the magnitudes that are neither 0 nor 1 by definition.
func (t Table) free() []float64 {
	m := t.magnitudes()
	if t.Form == Zero {
		m = m[1:]
	}
	return m[:len(m)-1]
}

// mirror sets the lower half of a symmetric table by its magnitudes.
func (t Table) mirror() {
	if t.Form == Symmetric {
		for j, m := range t.magnitudes() {
			t.Levels[len(t.Levels)/2-1-j] = -m
		}
	}
}

// NewLevels returns the compressor; a bucket of 0 is the whole vector. seed is
// the worker's own stream, rng.Stream(seed, rank). The table is copied.
func NewLevels(t Table, bucket int, norm Norm, seed uint64) (*Levels, error) {
	return newLevels("levels", t, t.symbols(), design{size: bucket, seed: seed}, norm)
}

// newLevels completes the design of a compressor with a number of symbols: t.values(), or one more for −0.
func newLevels(name string, t Table, symbols int, d design, norm Norm) (*Levels, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	l := &Levels{norm: norm, form: t.Form, levels: slices.Clone(t.Levels)}
	d.name, d.rule, d.properties = name, l, Properties{Unbiased: true}
	d.floats, d.levels, d.telling = 1, symbols, true
	var err error
	l.bucketed, err = newBucketed(d)
	return l, err
}

// SetTable replaces the table by one of the same form and length, for all later payloads. It copies
// the table.
func (l *Levels) SetTable(t Table) error {
	if t.Form != l.form || len(t.Levels) != len(l.levels) {
		return fmt.Errorf("quant: %s: a table of %d levels cannot replace one of %d, or one of another form",
			l.name, len(t.Levels), len(l.levels))
	}
	if err := t.Check(); err != nil {
		return err
	}
	copy(l.levels, t.Levels)
	return nil
}

func (l *Levels) fit(header, z []float32) {
	header[0] = l.norm.of(z)
	l.empty = header[0] == 0
	factor := float64(header[0])
	if l.empty {
		factor = 1 // zeros between the levels around 0
	}
	l.cells.reset(l.levels, factor)
	sign := byte(0)
	if l.form == Zero {
		sign = l.packing.mark()
	}
	l.laned = l.drawer.Set(l.cells.levels[:len(l.levels)], sign)
}

func (l *Levels) lanes(packed []byte, z []float32, first int) bool {
	if l.form == Symmetric {
		return l.laned && l.drawn(packed, z, first, &l.drawer)
	}
	if !l.laned {
		return false
	}
	v := &l.vectors
	done, doubtful := v.tier.Draw(v.bytes[:len(z)], z, &l.drawer, kernel.Uniform{Key: l.key, First: first}, v.doubt[:])
	l.packing.unmark(v.bytes[:done])
	return l.settle(packed, z, first, done, doubtful)
}

func (l *Levels) round(symbols []uint16, z, u []float32) {
	if l.form == Symmetric {
		l.cells.round(symbols, z, u)
		return
	}
	z, u = z[:len(symbols)], u[:len(symbols)]
	if len(z) == 1 {
		symbols[0] = l.signed(l.cells.drawOne(math.Abs(float64(z[0])), u[0]), z[0])
		return
	}
	l.cells.prepare()
	for i, v := range z {
		m := magnitude(v)
		symbols[i] = l.signed(l.cells.draw(float64(math.Float32frombits(m)), int64(m), u[i]), v)
	}
}

// signed returns the symbol of v, whose magnitude is rounded to level. A negative value of level 0 has
// no sign: −level has its top bit set unless level is 0.
func (l *Levels) signed(level uint16, v float32) uint16 {
	sign := uint16(math.Float32bits(v)>>31) & (-level >> 15)
	return level + sign*l.packing.minus()
}

func (l *Levels) spread(z []float32) float64 {
	if l.empty {
		return 0
	}
	if l.form == Symmetric {
		return l.cells.spread(z)
	}
	l.cells.prepare()
	total := 0.0
	for _, v := range z {
		m := magnitude(v)
		total += l.cells.error(float64(math.Float32frombits(m)), int64(m))
	}
	return total
}

func (l *Levels) check(header []float32) error { return checkScale(header) }

func (l *Levels) open(header []float32, w float32) {
	for j, level := range l.levels {
		point := float32(w * float32(float64(header[0])*level))
		l.points[j] = point
		if l.form == Zero {
			l.points[j+int(l.packing.minus())] = -point // the top level may replace −0
		}
	}
}
