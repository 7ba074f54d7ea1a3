package quant

import (
	"errors"
	"fmt"
	"math"
)

// A Layout describes the parts of a payload. It has buckets, each of Head bytes and then symbols or
// words, and Tail bytes after the last bucket. An entropy coder learns from it which bytes are alike.
// It is a small value; the zero Layout is that of an empty payload.
type Layout struct {
	Levels int // N of the packed symbols of each bucket, 2 to MaxLevels; 0: words
	Word   int // bytes of a word, such as 4 of a float; 0: symbols
	Count  int // symbols or words in all buckets
	Bucket int // of them in each bucket, the last may have fewer; 0 = all
	Head   int // bytes that each bucket begins with, such as its scale
	Tail   int // bytes after the last bucket
}

// maxWord bounds the bytes of a word.
const maxWord = 8

// Bytes returns the layout of n bytes without known parts.
func Bytes(n int) Layout { return Layout{Word: 1, Count: n} }

// Floats returns the layout of n numbers of 4 bytes each.
func Floats(n int) Layout { return Layout{Word: 4, Count: n} }

var errLayout = errors.New("quant: no such layout")

// Check returns an error unless l is the layout of some payload, whose length is Len. No number may be
// negative or beyond 2³¹−1, for Head and Tail 2¹⁶−1.
func (l Layout) Check() error {
	symbols := l.Levels >= 2 && l.Levels <= MaxLevels && l.Word == 0
	words := l.Levels == 0 && l.Word >= 1 && l.Word <= maxWord
	switch {
	case l == Layout{}:
		return nil
	case !symbols && !words:
		return fmt.Errorf("%w: %d levels and words of %d bytes: must be 2 to %d levels or 1 to %d bytes",
			errLayout, l.Levels, l.Word, MaxLevels, maxWord)
	case l.Count < 0 || l.Count > math.MaxInt32 || l.Bucket < 0 || l.Bucket > math.MaxInt32:
		return fmt.Errorf("%w: %d symbols in buckets of %d", errLayout, l.Count, l.Bucket)
	case l.Head < 0 || l.Head > math.MaxUint16 || l.Tail < 0 || l.Tail > math.MaxUint16:
		return fmt.Errorf("%w: %d bytes before and %d after symbols", errLayout, l.Head, l.Tail)
	}
	return nil
}

// Len returns the bytes of a payload of layout l, which Check accepts.
func (l Layout) Len() int {
	if l.Word > 0 {
		return l.Tail + l.Head*l.Buckets() + l.Word*l.Count
	}
	packing, err := NewPacking(l.Levels)
	if err != nil {
		return 0 // the zero layout
	}
	n := l.Tail + l.Head*l.Buckets()
	if l.Bucket == 0 || l.Bucket >= l.Count {
		return n + packing.Len(l.Count)
	}
	return n + l.Count/l.Bucket*packing.Len(l.Bucket) + packing.Len(l.Count%l.Bucket)
}

// Longer returns l with n more bytes at the end. Where a layout cannot describe that many, it describes no parts.
func (l Layout) Longer(n int) Layout {
	if l.Tail+n > math.MaxUint16 {
		return Bytes(l.Len() + n)
	}
	l.Tail += n
	return l
}

// Buckets returns the number of buckets.
func (l Layout) Buckets() int {
	switch {
	case l.Count == 0:
		return 0
	case l.Bucket == 0 || l.Bucket >= l.Count:
		return 1
	}
	return (l.Count + l.Bucket - 1) / l.Bucket
}

// The layouts of the compressors' payloads of d coordinates.

// Layout returns the layout of the floats.
func (Full) Layout(d int) Layout { return Floats(d) }

// Layout returns the layout of the indices, 4 bytes each.
func (l *Linear) Layout(d int) Layout { return Layout{Word: 4, Count: d} }

// Layout returns the layout of the buckets.
func (b *bucketed) Layout(d int) Layout {
	return Layout{Levels: b.packing.Levels(), Count: d, Bucket: b.size, Head: 4 * len(b.header)}
}

// Layout returns the layout of the buckets, with the table behind them.
func (a *Adaptive) Layout(d int) Layout {
	l := a.levels.Layout(d)
	l.Tail = a.Len(d) - l.Len()
	return l
}

// Layout returns the layout of the pairs, which does not depend on the number of coordinates.
func (t *TopK) Layout(int) Layout { return Layout{Word: pairLen, Count: t.k} }

// Layout returns the layout of the values, which does not depend on the number of coordinates.
func (r *RandomK) Layout(int) Layout { return Floats(r.k) }
