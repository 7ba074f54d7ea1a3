// Package entropy makes payloads shorter without loss and restores them bit for
// bit: an order-0 coder (Huffman, "A Method for the Construction of
// Minimum-Redundancy Codes", 1952; Duda, "Asymmetric numeral systems", 2013) or
// a general one after a stage that brings together what is alike.
//
// A coded payload describes itself: a prefix says how the plain one is cut
// (quant.Layout), so that a receiver knows no algorithm; then come the bytes
// that belong to no symbol, as they are, and the planes. A plane is the symbols
// of all buckets, as many to a byte as fit, or one byte of all words. Each plane
// is coded by itself in blocks:
//
//	┌─────────────────────────────────┬──────────────┬─────────────┬─────┐
//	│ prefix: the layout              │ heads, tail  │    block    │ ... │
//	│ count, bucket u32, levels u16,  │  plain       │ flag u8,    │     │
//	│ head, tail u16, word u8         │              │ its content │     │
//	└─────────────────────────────────┴──────────────┴─────────────┴─────┘
//
// The package opens no stream and reads no clock. It does not know what symbols
// mean, nor when coding pays: who does says so with a Toll.
// docs/format/payloads.md#coded-payloads has a worked example.
package entropy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// A Coder is the number of a coder in the header of a frame.
type Coder uint8

const (
	// Plain is the payload as it is.
	Plain Coder = iota
	// Huff0 is a Huffman code per block of 64 KiB.
	Huff0
	// FSE is a table of asymmetric numeral systems per block of 64 KiB: several
	// times slower than Huff0 both ways, and better where a byte has less than a bit.
	FSE
	// Zstd is Zstandard at its third of four levels: the two fast ones give up
	// on symbols that differ in frequency alone.
	Zstd
	// Bzip2 is what the papers of the field use. It is by far the slowest.
	Bzip2
	coders

	// Auto chooses between Plain, Huff0 and FSE for each payload. It is a choice,
	// no coder: no frame has its number.
	Auto Coder = 255
)

// names are those of a run file.
func names() []string { return []string{"none", "huff0", "fse", "zstd", "bzip2"} }

const autoName = "auto"

// Parse returns the coder of that name: none, auto, huff0, fse, zstd or bzip2.
func Parse(name string) (Coder, error) {
	if name == autoName {
		return Auto, nil
	}
	if i := slices.Index(names(), name); i >= 0 {
		return Coder(i), nil
	}
	return Plain, fmt.Errorf("entropy: coder %q: must be one of %v or %s", name, names(), autoName)
}

// String returns the name of c.
func (c Coder) String() string {
	switch {
	case c.Valid():
		return names()[c]
	case c == Auto:
		return autoName
	}
	return "coder " + strconv.Itoa(int(c))
}

// Valid reports whether a frame may have the number c.
func (c Coder) Valid() bool { return c < coders }

// ErrCoded is the reason why what claims to be a coded payload is none.
var ErrCoded = errors.New("entropy: no coded payload")
