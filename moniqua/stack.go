package moniqua

import (
	"math"
	"math/bits"

	"gossiptrainer/algos"
	"gossiptrainer/internal/kernel"
)

// Workers in one memory know each other's indices. Where all indices of two workers are less than N/2 apart, symbols
// give exactly these differences, see bytePath, and the hash agrees. So in a round in which that is sure, no worker
// packs, hashes or recovers anything. A round in which it is not sure is left to the codecs.

// points are the indices of all workers, as rows of one array beside their models.
type points struct {
	*algos.Models
	codecs []*Codec
	k      int
	began  int
	of     round
	lanes  kernel.Quantizer
	laner  laner
	theta  float64

	indices []int32 // of round k, which all have mixed before one makes those of the next
	notes   [2][]uint32
	sizes   [2][]int32 // of the quotients, which codecs would keep; −1: too large for the kernels
	most    []int32    // by worker: the largest sum of two sizes in turn
}

// tooLarge bounds the indices: differences of two are below 2³¹.
const tooLarge = 1 << 30

// Stack returns the stack of codecs that verify, whose symbols are bytes. Their workers share all noise and keep the
// quotients of two rounds.
func (c *Codec) Stack(all []algos.Codec, models *algos.Models) algos.Stack {
	s := &points{Models: models}
	for _, other := range all {
		o, ok := other.(*Codec)
		if !ok || !alike(o, c) || !stacks(o) {
			return nil
		}
		s.codecs = append(s.codecs, o)
		s.most = append(s.most, int32(o.verification.most))
	}
	return s
}

// stacks reports whether a stack has the arithmetic of the codec.
func stacks(c *Codec) bool {
	width := byteWidth(c.Levels)
	return width > 1 && c.Rounding != Stochastic && c.Verify && c.Audit == nil && c.Bits == nil && c.Exact == 0 &&
		c.verification.rounds() == 2 && (c.Control == nil || c.Control.warm == 0)
}

// alike reports whether two codecs make the same indices of one model.
func alike(c, o *Codec) bool {
	return c.Levels == o.Levels && c.Rounding == o.Rounding && c.Seed == o.Seed && (c.Control == nil) == (o.Control == nil)
}

// Begin implements algos.Stack.
func (s *points) Begin(k int) bool {
	if s.indices == nil {
		s.make(k)
	}
	first := s.codecs[0]
	var err error
	if s.of, err = first.round(k, 0); err != nil {
		return false
	}
	s.k, s.theta = k, s.of.grid.Theta
	dim := s.Rows[k%2].Dim
	s.laner = laner{&s.of.encode, s.of.width, s.of.tier, s.of.encode.lanes(&s.lanes, kernel.OfIndices, s.of.width, dim)}
	return true
}

// make makes the memory of the stack before round k, whose messages the codecs may have made already.
func (s *points) make(k int) {
	s.began = k
	s.indices = make([]int32, len(s.codecs)*s.Rows[0].Stride)
	for parity := range s.notes {
		s.notes[parity] = make([]uint32, len(s.codecs))
		s.sizes[parity] = make([]int32, len(s.codecs))
	}
	for i, c := range s.codecs {
		for before := range c.verification.rounds() {
			if r := c.verification.before(before); r.k == k-1 {
				s.sizes[(k+1)%2][i] = int32(len(r.data))
			}
		}
	}
}

// Encode implements algos.Stack.
func (s *points) Encode(i int) error {
	parity := s.k % 2
	rows := s.Rows[parity]
	x, indices := rows.At(i), s.indices[i*rows.Stride:][:rows.Dim]
	s.most[i] = max(s.most[i], max(0, s.sizes[0][i])+max(0, s.sizes[1][i]))
	size := 0
	for first := 0; first < len(x); first += blockLen {
		part := indices[first:min(first+blockLen, len(x))]
		if at := s.laner.integers(part, x[first:first+len(part)], first); at >= 0 {
			return s.of.strange(x[first+at], first+at)
		}
		low, high := s.of.tier.Extent(part)
		if low <= -tooLarge || high >= tooLarge {
			size = -1
			break
		}
		width := bits.Len32(uint32(high>>s.of.width) - uint32(low>>s.of.width))
		size += quotientHead + (len(part)*width+7)/8
	}
	s.sizes[parity][i], s.notes[parity][i] = int32(size), s.codecs[i].Note(s.k)
	return nil
}

// Sure implements algos.Stack. All workers have one θ in a round; the comparison costs little.
func (s *points) Sure(i int, p algos.Passage) bool {
	parity := s.k % 2
	if c := s.codecs[i].Control; c != nil && !c.agrees(s.codecs[0].Control, s.k) || s.sizes[parity][i] < 0 {
		return false
	}
	for _, from := range p.From {
		if s.sizes[parity][from] < 0 {
			return false
		}
	}
	far := kernel.FarIndices(s.of.tier, s.indices, s.own(i), p.At)
	return 2*uint64(far) < uint64(s.of.grid.Levels)
}

// own returns the indices of a worker, with what fills up the row.
func (s *points) own(i int) []int32 {
	stride := s.Rows[0].Stride
	return s.indices[i*stride:][:stride]
}

// Mix implements algos.Stack.
func (s *points) Mix(i int, p algos.Passage) algos.Passed {
	var (
		few    [usual]float32
		fewer  [usual]uint32
		scales = room(few[:], len(p.From))
		notes  = room(fewer[:], len(p.From))
		parity = s.k % 2
	)
	for j, from := range p.From {
		scales[j], notes[j] = s.of.plain.scale(p.Weights[j]), s.notes[parity][from]
	}
	pass := kernel.Pass{Next: p.Next, X: p.X, G: p.G, At: p.At, Weights: scales, Step: p.Step}
	passed := kernel.MixIndices(s.of.tier, s.indices, s.own(i), pass)
	saw := s.of.mixed(int(passed.Far), passed.Moved)
	saw.Largest = saw.Gap
	if c := s.codecs[i].Control; c != nil {
		if c.bounds(s.k) {
			c.reach(s.Largest[parity][i], finestStep(s.codecs[i], s.k))
		}
		c.enter(s.k, float64(saw.Gap)/s.theta, notes, false)
	}
	return algos.Passed{Mixed: saw, Next: math.Float32frombits(passed.Largest)}
}

// Leave implements algos.Stack. The codec encodes the last two messages again, but for those from before the stack. So
// its quotients become those of rounds in turn.
func (s *points) Leave(i, k int) [2]uint32 {
	c := s.codecs[i]
	v := &c.verification
	v.most = max(v.most, int(s.most[i]), int(max(0, s.sizes[0][i])+max(0, s.sizes[1][i])))
	if v.newest().k >= s.began {
		v.forget()
	}
	if k-1 > s.began {
		v.newest().data = v.newest().data[:0]
		v.before(-1).data = v.before(-1).data[:0]
	}
	return [2]uint32{c.Note(k), s.notes[(k+1)%2][i]}
}
