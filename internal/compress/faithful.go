package compress

import (
	"gossiptrainer/configs"
	"gossiptrainer/internal/registry"
)

// Lossless is the fidelity of a compressor that sends everything.
var Lossless = registry.Fidelity{Share: 1, Gain: 1}

// Faithful measures a compressor for models of d parameters. The error of a grid with a given step does not depend on
// the vector, so no feedback lets it grow.
func Faithful(c configs.Compressor, d int) (registry.Fidelity, error) {
	if row, _ := registry.FindCompressor(c.Name); row.Fixed {
		return Lossless, nil
	}
	if c.K > 0 {
		c.K, c.Ratio = 0, float64(c.K)/float64(d)
	}
	if c.Bucket == 0 && d < sample {
		c.Bucket = d
	}
	z := Normal(sample)
	_, _, out, err := compressOnce(c, z)
	if err != nil {
		return registry.Fidelity{}, err
	}
	var inner, sent, whole float64
	for i := range z {
		inner += float64(out[i]) * float64(z[i])
		sent += float64(out[i]) * float64(out[i])
		whole += float64(z[i]) * float64(z[i])
	}
	return registry.Fidelity{Share: inner / whole, Gain: sent / inner}, nil
}
