package quant

import (
	"fmt"
	"math"

	"gossiptrainer/internal/kernel"
)

// BinGradB sends one bit, which says whether a value is at least b0, and the mean of either side. It
// is BinGrad-b, fully biased, of Xu, Huo and Huang, "Optimal Gradient Quantization Condition for
// Communication-Efficient Distributed Training", 2019.
//
//	C(z)_c = mean{z ≥ b0} if z_c ≥ b0, else mean{z < b0};  b0 on a side without values.
//
// b0 is the mean of the bucket or, by Lloyd's iteration from there, the middle
// of the two means, where the squared error has a minimum. It is a contraction:
// either mean is the projection of its side.
//
// A bucket is the lower and the upper mean as floats and one bit per
// coordinate, 1 for upper: 8 + ⌈m/8⌉ bytes.
type BinGradB struct {
	bucketed
	threshold Threshold
	least     int64 // key of b0 of the last fitted bucket
	means     [2]float32
	points
}

// A Threshold is the rule for b0.
type Threshold int

const (
	// Mean of the bucket.
	Mean Threshold = iota
	// Lloyd takes the middle of the two means, again and again.
	Lloyd
)

// ParseThreshold returns the rule of that name: mean or lloyd.
func ParseThreshold(name string) (Threshold, error) {
	switch name {
	case "mean":
		return Mean, nil
	case "lloyd":
		return Lloyd, nil
	}
	return 0, fmt.Errorf("quant: rule %q: must be mean or lloyd", name)
}

// NewBinGradB returns the compressor; a bucket of 0 is the whole vector.
func NewBinGradB(threshold Threshold, bucket int) (*BinGradB, error) {
	b := &BinGradB{threshold: threshold}
	var err error
	b.bucketed, err = newBucketed(design{
		name: "bingrad_b", rule: b, properties: Properties{Contraction: true, Deterministic: true},
		floats: 2, levels: 2, size: bucket,
	})
	return b, err
}

// maxLloyd bounds the iterations: rounding can prevent a fixed point.
const maxLloyd = 1000

func (b *BinGradB) fit(header, z []float32) {
	b0, low, high, sure := b.split(z)
	if !sure {
		b0, low, high = b.define(z)
	}
	header[0], header[1] = float32(low), float32(high)
	b.least = least(b0)
	b.means = [2]float32{header[0], header[1]}
}

// define returns b0 and the two means, summed in order.
func (b *BinGradB) define(z []float32) (b0, low, high float64) {
	sum := 0.0
	for _, v := range z {
		sum += float64(v)
	}
	b0 = sum / float64(len(z))
	low, high = means(z, b0)
	for range maxLloyd {
		middle := (low + high) / 2
		if b.threshold == Mean || middle == b0 {
			break
		}
		b0 = middle
		low, high = means(z, b0)
	}
	return b0, low, high
}

// split is define with sums in any order. It reports whether the sides and the floats are certainly
// those of define. off bounds the error of a sum.
func (b *BinGradB) split(z []float32) (b0, low, high float64, sure bool) {
	tier, n := kernel.Best(), len(z)
	all, _ := tier.AtLeast(z, float32(math.Inf(-1)))
	off := tier.Magnitudes(z) * (float64(n) + 8) * 0x1p-51
	b0 = all / float64(n)
	wrong := off / float64(n) // bounds the error of b0
	for before, steps := -1, 0; steps <= maxLloyd; steps++ {
		if least(b0-wrong) != least(b0+wrong) {
			return 0, 0, 0, false
		}
		above, k := tier.AtLeast(z, ordered(least(b0)))
		low, high = b0, b0
		lowest, highest := wrong, wrong // bound the errors of the means
		if k < n {
			low, lowest = (all-above)/float64(n-k), 2*off/float64(n-k)
		}
		if k > 0 {
			high, highest = above/float64(k), off/float64(k)
		}
		if b.threshold == Mean || k == before { // the same sides have the same means
			sure = float32(low-lowest) == float32(low+lowest) && float32(high-highest) == float32(high+highest)
			return b0, low, high, sure
		}
		b0, wrong, before = (low+high)/2, (lowest+highest)/2, k
	}
	return 0, 0, 0, false
}

// means returns the means of the values of z below b0 and of the others.
func means(z []float32, b0 float64) (low, high float64) {
	least, below, above, n := least(b0), 0.0, 0.0, 0
	for _, v := range z {
		keep := (least - order(v) - 1) >> 63 // all bits set if v ≥ b0
		above += float64(math.Float32frombits(math.Float32bits(v) & uint32(keep)))
		below += float64(math.Float32frombits(math.Float32bits(v) &^ uint32(keep)))
		n -= int(keep)
	}
	low, high = b0, b0
	if n < len(z) {
		low = below / float64(len(z)-n)
	}
	if n > 0 {
		high = above / float64(n)
	}
	return low, high
}

func (b *BinGradB) round(symbols []uint16, z, _ []float32) {
	z = z[:len(symbols)]
	for i, v := range z {
		symbols[i] = uint16(uint64(b.least-order(v)-1) >> 63)
	}
}

func (b *BinGradB) lanes(packed []byte, z []float32, _ int) bool {
	b.vectors.tier.Signs(packed, z, ordered(b.least))
	return true
}

func (b *BinGradB) spread(z []float32) float64 {
	total := 0.0
	for _, v := range z {
		off := float64(v) - float64(b.means[uint64(b.least-order(v)-1)>>63])
		total += float64(off * off)
	}
	return total
}

func (b *BinGradB) check(header []float32) error {
	if header[0] > header[1] {
		return fmt.Errorf("a lower mean of %v and an upper one of %v", header[0], header[1])
	}
	return nil
}

func (b *BinGradB) open(header []float32, w float32) {
	b.points[0], b.points[1] = float32(w*header[0]), float32(w*header[1])
}
