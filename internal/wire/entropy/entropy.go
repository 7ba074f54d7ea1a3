// Package entropy compresses payloads without loss. It first groups similar bytes into
// planes, then codes each plane. The coders are order-0 (Huffman, "A Method for the
// Construction of Minimum-Redundancy Codes", 1952; Duda, "Asymmetric numeral systems", 2013)
// or general.
//
// A coded payload describes itself, so the receiver needs no algorithm. Its prefix has the
// layout of the plain payload (quant.Layout). Then follow the bytes that belong to no symbol,
// unchanged, and the planes. A plane holds the symbols of all buckets, as many to a byte as
// fit, or one byte of each word. Each plane is coded separately in blocks:
//
//	┌─────────────────────────────────┬──────────────┬─────────────┬─────┐
//	│ prefix: the layout              │ heads, tail  │    block    │ ... │
//	│ count, bucket u32, levels u16,  │  plain       │ flag u8,    │     │
//	│ head, tail u16, word u8         │              │ its content │     │
//	└─────────────────────────────────┴──────────────┴─────────────┴─────┘
//
// The package opens no stream and reads no clock. It does not interpret symbols. Callers
// state the time per byte of the link, which decides whether coding pays.
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
	// Plain is the unchanged payload.
	Plain Coder = iota
	// Huff0 is a Huffman code per block of 64 KiB.
	Huff0
	// FSE is a table of asymmetric numeral systems per block of 64 KiB: several
	// times slower than Huff0 both ways, and better where a byte has less than a bit.
	FSE
	// Zstd is Zstandard at the third of its library's four levels. The two fast levels give up on symbols that differ
	// only in frequency.
	Zstd
	// Bzip2 is the coder in the papers of the field. It is by far the slowest.
	Bzip2
	coders

	// Auto chooses between Plain, Huff0 and FSE for each payload. No frame has its number, because it is a choice and
	// not a coder.
	Auto Coder = 255
)

// names are the coders' names in run files.
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

// ErrCoded is the reason why bytes are not a coded payload.
var ErrCoded = errors.New("entropy: not a coded payload")
