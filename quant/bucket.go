package quant

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"gossiptrainer/internal/kernel"
	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/vec"
)

// bucketed is the common part of the compressors that cut a vector into buckets. A bucket is a header
// of floats, its scale or its levels, and one of N symbols for each coordinate, packed. The rule of
// the compressor writes and reads both.
type bucketed struct {
	design
	packing Packing
	block   int // symbols at a time: after them the layout starts again at a byte

	scaled bool
	clip   float64 // standard deviations, 0: no clipping

	header   []float32 // of one bucket
	cut      []float32 // one bucket after clipping
	key      rng.Key
	listed   []float32 // takes the place of random numbers
	symbols  [blockLen]uint16
	uniforms [blockLen]float32
	vectors  lanework
}

// A design describes a bucketed compressor to newBucketed.
type design struct {
	name       string
	rule       rule
	properties Properties // of the rule
	floats     int        // of a header
	levels     int        // N, 2 to MaxLevels
	size       int        // coordinates of a bucket, 0: all
	seed       uint64

	// robust: it is a contraction even with clipping.
	robust bool
	// telling: the header of a vector with NaN or Inf is NaN or Inf.
	telling bool
	// bound returns q of Scale for m coordinates if a paper bounds it; if nil, q is that of the
	// bucket.
	bound func(m int) float64
}

// A rule is the part in which bucketed compressors differ.
type rule interface {
	rounding
	reading
}

// rounding is the sender's half of a rule. It handles one bucket at a time.
type rounding interface {
	// fit reads the coordinates of a bucket and writes its header. All floats of the header are
	// proportional to z, and C(z) is proportional to them.
	fit(header, z []float32)
	// round writes the symbols of z, a part of the last fitted bucket. u holds uniform numbers in [0,
	// 1): 1/2 if the rule is deterministic.
	round(symbols []uint16, z, u []float32)
	// spread returns the expected squared rounding error of z, the last fitted bucket.
	spread(z []float32) float64
}

// reading is the receiver's half of a rule. It shares no state with the sender's half.
type reading interface {
	// check returns an error for an impossible header of finite floats.
	check(header []float32) error
	// open prepares add for a bucket with that header.
	open(header []float32, w float32)
	// add adds w times the values of symbols to acc.
	add(acc []float32, symbols []uint16)
}

// newBucketed returns the compressor of a design.
func newBucketed(d design) (bucketed, error) {
	if d.size < 0 {
		return bucketed{}, fmt.Errorf("quant: %s: bucket of %d: must be at least 1, or 0 for the whole vector",
			d.name, d.size)
	}
	packing, err := NewPacking(d.levels)
	if err != nil {
		return bucketed{}, fmt.Errorf("quant: %s: %w", d.name, err)
	}
	b := bucketed{
		design: d, packing: packing, block: blockLen / packing.Group() * packing.Group(),
		header: make([]float32, d.floats),
	}
	for i := range b.uniforms {
		b.uniforms[i] = 0.5
	}
	b.useLanes(kernel.Best())
	return b, nil
}

// blockLen is the largest number of symbols handled at a time.
const blockLen = 1024

// Scale makes an unbiased compressor a contraction with ω = 1/(1+q), a smaller
// ω > 0 if it clips. It sends C(z)/(1+q), with E |C(z) − z|² = q·|z|². The
// sender knows q of every bucket and divides the header by 1+q.
func (b *bucketed) Scale() error {
	if !b.properties.Unbiased {
		return fmt.Errorf("quant: %s: cannot be scaled: only an unbiased compressor becomes a contraction by it", b.name)
	}
	b.scaled = true
	return nil
}

// Clip makes the compressor see min(max(z, −c·σ), c·σ) instead of z. Here σ is the standard deviation
// of the bucket about its mean (Wen et al., "TernGrad", NeurIPS 2017, section 3.3). A bucket with σ = 0 is not clipped:
// one coordinate, or equal ones. c = 0 stands for no clipping.
func (b *bucketed) Clip(c float64) error {
	if !(c >= 0) || math.IsInf(c, 0) {
		return fmt.Errorf("quant: %s: clipping at %v standard deviations: must be a number above 0, or 0 for none", b.name, c)
	}
	b.clip = c
	return nil
}

// Properties returns those of the rule, without those that clipping or scaling destroys.
func (b *bucketed) Properties() Properties {
	p := b.properties
	p.Unbiased = p.Unbiased && b.clip == 0 && !b.scaled
	p.Contraction = p.Contraction && (b.robust || b.clip == 0) || b.scaled
	p.Scalable = b.properties.Unbiased && !b.scaled
	return p
}

// Bits returns the bits of a symbol.
func (b *bucketed) Bits() int { return bits.Len(uint(b.packing.Levels() - 1)) }

// Len returns the bytes of a payload of d coordinates.
func (b *bucketed) Len(d int) int {
	if d == 0 {
		return 0
	}
	if b.size == 0 || b.size >= d {
		return b.bytes(d)
	}
	total := d / b.size * b.bytes(b.size)
	if rest := d % b.size; rest > 0 {
		total += b.bytes(rest)
	}
	return total
}

// bytes returns the bytes of a bucket of m coordinates.
func (b *bucketed) bytes(m int) int { return 4*len(b.header) + b.packing.Len(m) }

// end returns the end of the bucket that begins at coordinate first.
func (b *bucketed) end(first, d int) int {
	if b.size == 0 || b.size > d-first {
		return d
	}
	return first + b.size
}

// Compress appends the buckets of z. A scale beyond the range of float32 is an error.
func (b *bucketed) Compress(dst []byte, k int, z []float32) ([]byte, error) {
	b.key, b.listed = rng.At(b.seed, k), nil
	return b.compress(dst, k, z)
}

// CompressWith is Compress with the uniform numbers u, one for each coordinate,
// in place of random ones.
func (b *bucketed) CompressWith(dst []byte, z, u []float32) ([]byte, error) {
	if len(u) != len(z) {
		return dst, fmt.Errorf("quant: %s: %d uniform numbers: %d coordinates take as many", b.name, len(u), len(z))
	}
	b.listed = u
	return b.compress(dst, 0, z)
}

func (b *bucketed) compress(dst []byte, k int, z []float32) ([]byte, error) {
	start := len(dst)
	dst = slices.Grow(dst, b.Len(len(z)))
	for first := 0; first < len(z); {
		end := b.end(first, len(z))
		if !(b.telling && b.clip == 0) && !vec.Finite(z[first:end]) { // while it is in the cache
			return dst[:start], checkVector(b.name, k, z)
		}
		bucket, err := b.measure(z[first:end])
		if err != nil {
			if why := checkVector(b.name, k, z); why != nil {
				return dst[:start], why
			}
			return dst[:start], fmt.Errorf("quant: %s: round %d: bucket at %d: %w", b.name, k, first, err)
		}
		dst = b.append(dst, bucket, first)
		first = end
	}
	return dst, nil
}

// measure clips the bucket z and fits the rule to it.
func (b *bucketed) measure(z []float32) ([]float32, error) {
	if b.clip > 0 {
		b.cut = clipped(b.cut, z, b.clip)
		z = b.cut
	}
	b.rule.fit(b.header, z)
	for _, v := range b.header {
		if !finite(v) {
			return z, errors.New("its scale is Inf")
		}
	}
	return z, nil
}

// append appends the bucket z, which begins at coordinate first.
func (b *bucketed) append(dst []byte, z []float32, first int) []byte {
	factor := b.factor(z)
	for _, v := range b.header {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(factor*float64(v))))
	}
	for at := 0; at < len(z); at += b.block {
		part := z[at:min(at+b.block, len(z))]
		var done bool
		if dst, done = b.packed(dst, part, first+at); done {
			continue
		}
		b.rule.round(b.symbols[:len(part)], part, b.draw(first+at, len(part)))
		var err error
		if dst, err = b.packing.Pack(dst, b.symbols[:len(part)]); err != nil {
			panic("internal error: " + err.Error()) // a rule rounds to N symbols
		}
	}
	return dst
}

// factor returns the factor on the header of z, the last fitted bucket.
func (b *bucketed) factor(z []float32) float64 {
	if !b.scaled {
		return 1
	}
	if b.bound != nil {
		return 1 / (1 + b.bound(len(z)))
	}
	squares := squaredLength(z)
	if squares == 0 {
		return 1
	}
	return squares / (squares + b.rule.spread(z))
}

// draw returns the uniform numbers of n ≤ blockLen coordinates.
func (b *bucketed) draw(first, n int) []float32 {
	u := b.uniforms[:n]
	switch {
	case b.properties.Deterministic:
	case b.listed != nil:
		return b.listed[first : first+n]
	default:
		for i := range u {
			u[i] = b.key.Uniform(uint32(first + i))
		}
	}
	return u
}

// Variance returns E |C(z) − z|² in closed form, before scaling and for the clipped z; NaN if z cannot
// be compressed.
func (b *bucketed) Variance(z []float32) float64 {
	if checkVector(b.name, 0, z) != nil {
		return math.NaN()
	}
	total := 0.0
	for first := 0; first < len(z); {
		end := b.end(first, len(z))
		bucket, err := b.measure(z[first:end])
		if err != nil {
			return math.NaN()
		}
		total += b.rule.spread(bucket)
		first = end
	}
	return total
}

// Check returns an error unless payload holds the buckets of d coordinates.
func (b *bucketed) Check(d int, payload []byte) error {
	if err := checkLen(b.name, payload, b.Len(d), d); err != nil {
		return err
	}
	for first := 0; first < d; {
		end := b.end(first, d)
		if err := b.checkBucket(payload[:b.bytes(end-first)], end-first); err != nil {
			return fmt.Errorf("quant: %s: bucket at %d: %w", b.name, first, err)
		}
		payload = payload[b.bytes(end-first):]
		first = end
	}
	return nil
}

func (b *bucketed) checkBucket(payload []byte, m int) error {
	packed := b.read(payload)
	for _, v := range b.header {
		if !finite(v) {
			return fmt.Errorf("bucket header contains %v", v)
		}
	}
	if err := b.rule.check(b.header); err != nil {
		return err
	}
	return b.packing.Check(packed, m)
}

// read reads the header of a bucket and returns the bytes after it.
func (b *bucketed) read(payload []byte) []byte {
	for i := range b.header {
		b.header[i] = float32At(payload, i)
	}
	return payload[4*len(b.header):]
}

// Bound returns the largest magnitude in the headers: no value of a rule exceeds
// that of its bucket.
func (b *bucketed) Bound(d int, payload []byte) float32 {
	largest := uint32(0)
	for first := 0; first < d; {
		end := b.end(first, d)
		b.read(payload)
		for _, v := range b.header {
			largest = max(largest, magnitude(v))
		}
		payload, first = payload[b.bytes(end-first):], end
	}
	return math.Float32frombits(largest)
}

// AddTo adds w times the values of the symbols to acc.
func (b *bucketed) AddTo(acc []float32, w float32, _ int, payload []byte) error {
	if err := b.Check(len(acc), payload); err != nil {
		return err
	}
	for len(acc) > 0 {
		m := b.end(0, len(acc))
		packed := b.read(payload[:b.bytes(m)])
		b.rule.open(b.header, w)
		for at := 0; at < m; at += b.block {
			n := min(b.block, m-at)
			bytes := b.packing.Len(n)
			if err := b.addBlock(acc[at:at+n], packed[:bytes]); err != nil {
				return err // Check has tested the padding, so this cannot happen
			}
			packed = packed[bytes:]
		}
		acc, payload = acc[m:], payload[b.bytes(m):]
	}
	return nil
}

// addBlock adds the values of a block of the last opened bucket to acc.
func (b *bucketed) addBlock(acc []float32, packed []byte) error {
	if b.addLanes(acc, packed) {
		return nil
	}
	symbols := b.symbols[:len(acc)]
	if err := b.packing.Unpack(symbols, packed); err != nil {
		return err
	}
	b.rule.add(acc, symbols)
	return nil
}

// points holds the value of each symbol times w, for rules with at most 256 levels.
type points [256]float32

func (p *points) add(acc []float32, symbols []uint16) {
	acc = acc[:len(symbols)]
	for i, s := range symbols {
		acc[i] += p[uint8(s)]
	}
}

// checkScale returns an error for an impossible header of one scale.
func checkScale(header []float32) error {
	if header[0] < 0 {
		return fmt.Errorf("%v is no scale", header[0])
	}
	return nil
}
