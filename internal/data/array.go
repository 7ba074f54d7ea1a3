package data

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gossiptrainer/internal/safetensors"
)

// An elementType is the type of the elements of an array.
type elementType struct {
	kind byte // 'b'ool, 'u'nsigned, 'i'nteger, 'f'loat, 'S' bytes of text, 'U' characters of 4 bytes
	size int  // bytes
	big  bool // big-endian
}

// An array is a NumPy or IDX array in a file, whose first index counts samples.
type array struct {
	name    string // of the file, with the name of the array in an archive
	format  string // for people
	element elementType
	dims    []int // at least one
	fortran bool  // the first index runs fastest

	// open passes the bytes after the header.
	open func(read func(*cursor) error) error
}

// arraySample bounds the values of a sample, before any of them is read.
const arraySample = 1 << 24

// arrayWhole bounds the bytes of an array that must be in memory, because its first index runs fastest.
const arrayWhole = 1 << 31

// samples returns the length of the first index.
func (a *array) samples() int { return a.dims[0] }

// perSample returns the number of elements of a sample.
func (a *array) perSample() int {
	n := 1
	for _, d := range a.dims[1:] {
		n *= d
	}
	return n
}

// check refuses sizes that cannot be used.
func (a *array) check() error {
	if len(a.dims) == 0 {
		return atOffset(a.name, 0, "the array is a single number: want samples along its first axis")
	}
	total := 1
	for _, d := range a.dims {
		if d < 0 || d > 0 && total > libsvmDenseSize/d {
			return atOffset(a.name, 0, "an array of shape %v: want at most %d values", a.dims, libsvmDenseSize)
		}
		total *= d
	}
	if total > 0 && a.perSample() > arraySample || len(a.dims) == 2 && a.dims[1] > csvColumns {
		return atOffset(a.name, 0, "an array of shape %v: want at most %d values in a picture and %d in a row of a table",
			a.dims, arraySample, csvColumns)
	}
	if total == 0 {
		return atOffset(a.name, 0, "an array of shape %v has no samples or no values", a.dims)
	}
	return nil
}

// visit passes the bytes of every sample, in row-major order.
func (a *array) visit(see func(i int, raw []byte) error) error {
	return a.open(func(c *cursor) error {
		if a.fortran && len(a.dims) > 1 {
			return a.visitColumns(c, see)
		}
		raw := make([]byte, a.perSample()*a.element.size)
		for i := range a.samples() {
			if err := c.full(raw); err != nil {
				return err
			}
			if err := see(i, raw); err != nil {
				return err
			}
		}
		return c.end()
	})
}

// visitColumns is visit for an array whose first index runs fastest. It reads all of it.
func (a *array) visitColumns(c *cursor, see func(i int, raw []byte) error) error {
	n, each, size := a.samples(), a.perSample(), a.element.size
	if n*each*size > arrayWhole {
		return atOffset(a.name, 0, "an array of %d bytes in Fortran order: save it with numpy.ascontiguousarray",
			n*each*size)
	}
	all, err := io.ReadAll(io.LimitReader(c, int64(n*each*size)))
	if err != nil {
		return atOffset(a.name, c.offset, "%w", err)
	}
	if len(all) < n*each*size {
		return atOffset(a.name, c.offset, "the file ends here, %d bytes too early", n*each*size-len(all))
	}
	from := make([]int, each) // element k of a sample is at from[k] + its number
	for k := range from {
		rest, stride := k, n*each
		for d := len(a.dims) - 1; d >= 1; d-- {
			stride /= a.dims[d]
			from[k] += rest % a.dims[d] * stride
			rest /= a.dims[d]
		}
	}
	raw := make([]byte, each*size)
	for i := range n {
		for k, at := range from {
			copy(raw[k*size:(k+1)*size], all[(at+i)*size:])
		}
		if err := see(i, raw); err != nil {
			return err
		}
	}
	return c.end()
}

// bits returns an element as a number of bytes.
func (e elementType) bits(p []byte) (u uint64) {
	for k := range e.size {
		at := e.size - 1 - k
		if e.big {
			at = k
		}
		u = u<<8 | uint64(p[at])
	}
	return u
}

// whole returns an element of the kind i.
func (e elementType) whole(p []byte) int64 {
	shift := 64 - 8*e.size
	return int64(e.bits(p)<<shift) >> shift
}

// value returns a number; the type must be one of numbers.
func (e elementType) value(p []byte) float64 {
	u := e.bits(p)
	switch e.kind {
	case 'f':
		switch e.size {
		case 2:
			return safetensors.Half(uint16(u))
		case 4:
			return float64(math.Float32frombits(uint32(u)))
		}
		return math.Float64frombits(u)
	case 'i':
		return float64(e.whole(p))
	}
	return float64(u)
}

// isText reports whether elements are texts.
func (e elementType) isText() bool { return e.kind == 'S' || e.kind == 'U' }

// label returns the label that an element names, "" if it is missing.
func (e elementType) label(p []byte, missing Absence) string {
	switch e.kind {
	case 'i':
		return strconv.FormatInt(e.whole(p), 10)
	case 'u', 'b':
		return strconv.FormatUint(e.bits(p), 10)
	case 'S':
		return missing.labelOf(strings.TrimRight(string(p), "\x00"))
	case 'U':
		var b strings.Builder
		for ; len(p) >= 4; p = p[4:] {
			r := binary.LittleEndian.Uint32(p)
			if e.big {
				r = binary.BigEndian.Uint32(p)
			}
			if r == 0 {
				break
			}
			if r > utf8.MaxRune {
				r = utf8.RuneError
			}
			b.WriteRune(rune(r))
		}
		return missing.labelOf(b.String())
	}
	return numberLabel(e.value(p))
}

// describe names an array for people: NumPy float32 of 150x4.
func (a *array) describe() string {
	size := fmt.Sprint(a.element.size * 8)
	name := map[byte]string{'b': "bool", 'u': "uint" + size, 'i': "int" + size, 'f': "float" + size, 'S': "text",
		'U': "text"}[a.element.kind]
	dims := make([]string, len(a.dims))
	for i, d := range a.dims {
		dims[i] = fmt.Sprint(d)
	}
	return fmt.Sprintf("%s %s of %s", a.format, name, strings.Join(dims, "x"))
}

// isLabels reports whether an array has one element per sample.
func (a *array) isLabels() bool {
	return !slices.ContainsFunc(a.dims[1:], func(d int) bool { return d != 1 })
}
