package handshake

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/libp2p/go-libp2p/core/peer"
)

// Bounds of the fields of a hello.
const (
	MaxRunID       = 64
	MaxSections    = 32
	MaxSectionName = 24
	MaxHost        = 63 // a label of a host name, RFC 1035
	MaxWorkers     = 4096
)

// Printable makes a stranger's text safe for a log or a terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// MachineName names a peer by its machine, if that is known, and its id.
func MachineName(host, id string) string {
	if host == "" {
		return id
	}
	return fmt.Sprintf("%s (%s)", Printable(host), id)
}

// Short returns the end of an id: beginnings are often equal.
func Short(id peer.ID) string {
	s := id.String()
	return s[max(0, len(s)-8):]
}

// appendPadded appends the length of s, s, and zeros up to size bytes.
func appendPadded(dst []byte, s string, size int) []byte {
	dst = append(dst, byte(len(s)))
	dst = append(dst, s...)
	return append(dst, make([]byte, size-len(s))...)
}

// takePadded undoes appendPadded and returns the rest of b. b holds at least size+1 bytes.
func takePadded(b []byte, size int) (s string, rest []byte, ok bool) {
	n := int(b[0])
	if n > size {
		return "", nil, false
	}
	for _, c := range b[1+n : 1+size] {
		if c != 0 {
			return "", nil, false
		}
	}
	return string(b[1 : 1+n]), b[1+size:], true
}
