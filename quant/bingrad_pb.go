package quant

import (
	"math"

	"gossiptrainer/internal/kernel"
)

// BinGradPB sends one bit: −b1 or b1, at random for values between and the nearer one for those
// outside. It is BinGrad-pb, partially biased, of Xu, Huo and Huang, "Optimal Gradient Quantization
// Condition for Communication-Efficient Distributed Training", 2019. With a = |z_c|, b1 minimises the
// expected squared error
//
//	Σ_{a<b1} (b1² − a²) + Σ_{a≥b1} (a − b1)²,  which is where  m·b1 = Σ_{a≥b1} a.
//
// It is a contraction with ω ≥ 2|z|_1²/(3m·|z|_2²), the bound at b1 = 2|z|_1/(3m).
//
// A bucket is b1 as a float and one bit per coordinate, 1 for +: 4 + ⌈m/8⌉ bytes.
type BinGradPB struct {
	bucketed
	level    float64 // b1 of the last fitted bucket
	crossing crossing
	sizes    []float32 // used with sorter if crossing is not sure
	sorter   sorter
	points
	drawer kernel.Cells
	laned  bool // drawer is set
}

// NewBinGradPB returns the compressor; a bucket of 0 is the whole vector. seed
// is the worker's own stream, rng.Stream(seed, rank).
func NewBinGradPB(bucket int, seed uint64) (*BinGradPB, error) {
	b := &BinGradPB{}
	var err error
	b.bucketed, err = newBucketed(design{
		name: "bingrad_pb", rule: b, properties: Properties{Contraction: true},
		floats: 1, levels: 2, size: bucket, seed: seed,
		robust: true, // the gain of a saturated value, 2|z_c|·b1 − b1², only grows with |z_c|
	})
	return b, err
}

func (b *BinGradPB) fit(header, z []float32) {
	level, sure := b.crossing.level(z)
	if !sure {
		b.sizes = b.sizes[:0]
		for _, v := range z {
			b.sizes = append(b.sizes, math.Float32frombits(magnitude(v)))
		}
		level = float32(saturation(b.sorter.sort(b.sizes)))
	}
	header[0], b.level = level, float64(level)
	b.laned = b.drawer.Set([]float64{-b.level, b.level}, 0)
}

func (b *BinGradPB) lanes(packed []byte, z []float32, first int) bool {
	return b.laned && b.drawn(packed, z, first, &b.drawer)
}

// saturation returns b1 for the ascending magnitudes a.
func saturation(a []float32) float64 {
	above := 0.0
	for _, v := range a {
		above += float64(v)
	}
	m, low := float64(len(a)), 0.0
	for _, v := range a {
		switch mean := above / m; {
		case mean <= low:
			return low
		case mean <= float64(v):
			return mean
		}
		low = float64(v)
		above -= low
	}
	return low
}

func (b *BinGradPB) round(symbols []uint16, z, u []float32) {
	z, u = z[:len(symbols)], u[:len(symbols)]
	for i, v := range z {
		up := uint16(0)
		if float64(float64(u[i])*2*b.level) < float64(v)+b.level {
			up = 1
		}
		symbols[i] = up
	}
}

func (b *BinGradPB) spread(z []float32) float64 {
	total := 0.0
	for _, v := range z {
		a := math.Abs(float64(v))
		off := float64((b.level - a) * (b.level + a))
		if a > b.level {
			off = float64((a - b.level) * (a - b.level))
		}
		total += off
	}
	return total
}

func (b *BinGradPB) check(header []float32) error { return checkScale(header) }

func (b *BinGradPB) open(header []float32, w float32) {
	up := float32(w * header[0])
	b.points[0], b.points[1] = -up, up
}
