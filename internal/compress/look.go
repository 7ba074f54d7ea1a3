package compress

import (
	"fmt"
	"math"
	"slices"

	"gossiptrainer/configs"
	"gossiptrainer/internal/rng"
	"gossiptrainer/quant"
)

// A Look describes what a compressor does to one vector z.
type Look struct {
	Parameters int     `json:"parameters"` // d
	Bytes      int     `json:"payload_bytes"`
	Bits       float64 `json:"bits_per_parameter"`
	// Ideal is Bits after an ideal code for each symbol by its frequency (order 0). It is nil for payloads without
	// symbols.
	Ideal *float64 `json:"ideal_bits_per_parameter"`
	// Error is |C(z) − z|²/|z|², Expected its expectation. Expected is nil for compressors without one, and where the
	// compressor scales or clips.
	Error    float64  `json:"squared_error"`
	Expected *float64 `json:"expected_squared_error"`

	Unbiased      bool `json:"unbiased"`
	Contraction   bool `json:"contraction"`
	Deterministic bool `json:"deterministic"`

	// Bucket is the number of coordinates in the first bucket. Levels are their values after compression, in ascending
	// order; none if there are more than MostLevels.
	Bucket int     `json:"bucket"`
	Levels []Level `json:"levels"`
}

// A Level is a value and the share of coordinates that take it.
type Level struct {
	Value float64 `json:"value"`
	Share float64 `json:"share"`
}

// MostLevels is the largest number of levels in a Look.
const MostLevels = 256

// LookAt compresses z, which has at least one coordinate, as worker 0 does in round 0 of a run with seed 0. Adaptive
// levels are fitted to z.
func LookAt(c configs.Compressor, z []float32) (*Look, error) {
	made, payload, out, err := compressOnce(c, z)
	if err != nil {
		return nil, err
	}
	p := made.Properties()
	look := &Look{
		Parameters: len(z), Bytes: len(payload), Bits: 8 * float64(len(payload)) / float64(len(z)),
		Error:    relativeTo(z, squaredDistance(out, z)),
		Unbiased: p.Unbiased, Contraction: p.Contraction, Deterministic: p.Deterministic,
		Bucket: len(z),
	}
	if packed, ok := made.(quant.Entropic); ok {
		bits, err := packed.IdealBits(len(z), payload)
		if err != nil {
			return nil, fmt.Errorf("internal error: own payload: %w", err)
		}
		bits /= float64(len(z))
		look.Ideal = &bits
	}
	bucketed, ok := made.(quant.Varied)
	if ok && !c.Scaled && c.Clip == 0 {
		expected := relativeTo(z, bucketed.Variance(z))
		look.Expected = &expected
	}
	if ok && c.Bucket > 0 {
		look.Bucket = min(c.Bucket, len(z))
	}
	look.Levels = levelsOf(out[:look.Bucket])
	return look, nil
}

// compressOnce returns the compressor that c describes, its payload for z in round 0 and C(z). Adaptive levels are
// fitted to z.
func compressOnce(c configs.Compressor, z []float32) (made quant.Compressor, payload []byte, out []float32, err error) {
	c.RefitAt = []int{0}
	if made, err = New(c, len(z), rng.Stream(0, 0)); err != nil {
		return nil, nil, nil, err
	}
	if payload, err = made.Compress(nil, 0, z); err != nil {
		return nil, nil, nil, err
	}
	out = make([]float32, len(z))
	return made, payload, out, made.AddTo(out, 1, 0, payload)
}

// relativeTo returns a squared error over |z|², and 0 if both are 0.
func relativeTo(z []float32, squares float64) float64 {
	if squares == 0 {
		return 0
	}
	return squares / squaredDistance(make([]float32, len(z)), z)
}

func squaredDistance(x, y []float32) float64 {
	sum := 0.0
	for i := range x {
		off := float64(x[i]) - float64(y[i])
		sum += off * off
	}
	return sum
}

// levelsOf counts the values in x.
func levelsOf(x []float32) []Level {
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	levels := []Level{}
	for from := 0; from < len(sorted); {
		to := from
		for to < len(sorted) && sorted[to] == sorted[from] {
			to++
		}
		if len(levels) == MostLevels {
			return []Level{}
		}
		value := float64(sorted[from])
		levels = append(levels, Level{Value: value, Share: float64(to-from) / float64(len(x))})
		from = to
	}
	return levels
}

// Normal returns d numbers of the standard normal distribution (Box and Muller), the same in every call.
func Normal(d int) []float32 {
	key, z := rng.At(0, 0), make([]float32, d)
	for i := range z {
		radius := math.Sqrt(-2 * math.Log(1-float64(key.Uniform(uint32(2*i)))))
		z[i] = float32(radius * math.Cos(2*math.Pi*float64(key.Uniform(uint32(2*i+1)))))
	}
	return z
}
