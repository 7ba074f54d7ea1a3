package quant

import (
	"encoding/binary"
	"math"

	"gossiptrainer/internal/kernel"
)

// TernGrad keeps −1, 0 or 1 times the largest magnitude of a bucket (Wen et al.,
// "TernGrad", NeurIPS 2017, equation 2):
//
//	C(z)_c = |z|_∞·sign(z_c)·[u < |z_c|/|z|_∞],  u uniform in [0, 1).
//
// It is unbiased. With Clip, 2.5 in the paper, one outlier does not turn the rest into zeros.
//
// A bucket is the scale as a float and the symbols 0, 1, 2 for −1, 0, 1 in
// groups of 40: 4 bytes and 1.6 bits per coordinate.
type TernGrad struct {
	bucketed
	scale float64 // of the last fitted bucket
	points
	drawer kernel.Cells
	laned  bool // drawer is set
}

// NewTernGrad returns the compressor; a bucket of 0 is the whole vector. seed
// is the worker's own stream, rng.Stream(seed, rank).
func NewTernGrad(bucket int, seed uint64) (*TernGrad, error) {
	t := &TernGrad{}
	var err error
	t.bucketed, err = newBucketed(design{
		name: "terngrad", rule: t, properties: Properties{Unbiased: true},
		floats: 1, levels: 3, size: bucket, seed: seed, telling: true,
	})
	return t, err
}

func (t *TernGrad) fit(header, z []float32) {
	header[0] = LInf.of(z)
	t.scale = float64(header[0])
	t.laned = t.drawer.Set([]float64{0, t.scale}, 2)
}

// lanes draws 0 for 0, 1 for 1 and 3 for −1, and adds one modulo 4: 1, 2 and 0.
func (t *TernGrad) lanes(packed []byte, z []float32, first int) bool {
	if !t.laned {
		return false
	}
	v := &t.vectors
	done, doubtful := v.tier.Draw(v.bytes[:len(z)], z, &t.drawer, kernel.Uniform{Key: t.key, First: first}, v.doubt[:])
	for part := v.bytes[:done]; len(part) >= 8; part = part[8:] {
		const ones, threes = 0x0101010101010101, 0x0303030303030303
		binary.LittleEndian.PutUint64(part, (binary.LittleEndian.Uint64(part)+ones)&threes)
	}
	return t.settle(packed, z, first, done, doubtful)
}

func (t *TernGrad) round(symbols []uint16, z, u []float32) {
	z, u = z[:len(symbols)], u[:len(symbols)]
	for i, v := range z {
		keep := uint16(0)
		if float64(u[i])*t.scale < math.Abs(float64(v)) {
			keep = 1
		}
		sign := uint16(math.Float32bits(v) >> 31)
		symbols[i] = 1 + keep - 2*(keep&sign)
	}
}

func (t *TernGrad) spread(z []float32) float64 {
	total := 0.0
	for _, v := range z {
		m := math.Abs(float64(v))
		total += float64(m * (t.scale - m))
	}
	return total
}

func (t *TernGrad) check(header []float32) error { return checkScale(header) }

func (t *TernGrad) open(header []float32, w float32) {
	up := float32(w * header[0])
	t.points[0], t.points[1], t.points[2] = -up, 0, up
}
