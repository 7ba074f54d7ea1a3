package registry

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gossiptrainer/quant"
)

// A Compressor is one row: a value of algorithm.compressor.name. The zero value of a field forbids. Bits, layout and
// properties depend on the settings, so the built compressor has them.
type Compressor struct {
	Name string
	Text CompressorText
	// Takes lists the keys below algorithm.compressor that have an effect. All compressors take name, scaled and layers.
	Takes []string
	Bits  Range // of rows that take bits
	// Fixed: its error does not scale with the input, so error feedback cannot make it grow.
	Fixed bool
	// Check names an invalid setting and the reason, or returns "" if all are valid. Nil
	// accepts every setting.
	Check func(s CompressorSettings) (setting, why string)
	// Build makes the C(·) of vectors of d parameters; stream is the sender's. All compressors share clipping and
	// scaling, see New.
	Build func(s CompressorSettings, d int, stream uint64) (quant.Compressor, error)
}

// CompressorText describes a row for the documents: C(z), and the payload. Neighbouring rows with the same text become
// one row.
type CompressorText struct {
	Paper       string
	Value       string // of a bucket, or of the vector
	Unbiased    string
	Contraction string
	Header      string // of a bucket; "": there are no buckets
	Levels      string // symbols, N
	Payload     string // what a symbol stands for; without buckets the whole payload
}

// A Range is from Least to Most.
type Range struct{ Least, Most int }

// CompressorSettings are the keys of a run file below algorithm.compressor.
type CompressorSettings struct {
	Name       string
	Bits       int
	Levels     int // 0: by Bits; UsualLevels for compressors that take no bits
	Variant    string
	Table      []float64
	Rule       string
	Mode       string
	Step       float64
	K          int
	Ratio      float64
	Norm       string
	Bucket     int
	Clip       float64
	RefitAt    []int
	RefitEvery int
	Scaled     bool
	Layers     []string
}

// Compressors returns all rows.
func Compressors() []Compressor { return slices.Clone(compressors) }

// FindCompressor returns the row of a name.
func FindCompressor(name string) (Compressor, bool) {
	i := slices.IndexFunc(compressors, func(c Compressor) bool { return c.Name == name })
	if i < 0 {
		return Compressor{}, false
	}
	return compressors[i], true
}

// CompressorNames returns the names of the rows that take a setting, in the order of the table; "" stands for all rows.
func CompressorNames(setting string) []string {
	var names []string
	for _, c := range compressors {
		if setting == "" || c.Has(setting) {
			names = append(names, c.Name)
		}
	}
	return names
}

// Has says whether a setting has an effect on the compressor. All take name, scaled and layers.
func (c Compressor) Has(setting string) bool {
	return setting == "name" || setting == "scaled" || setting == "layers" || slices.Contains(c.Takes, setting)
}

// A SettingError names an invalid setting of a compressor.
type SettingError struct {
	Setting string
	Related []string // other settings that may be the cause
	Why     string
}

func (e *SettingError) Error() string { return e.Why }

// New returns the C(·) of vectors of d parameters, clipped and scaled as s says; stream is the sender's random stream.
// An invalid setting is a *SettingError.
func New(s CompressorSettings, d int, stream uint64) (quant.Compressor, error) {
	row, ok := FindCompressor(s.Name)
	if !ok {
		return nil, fmt.Errorf("registry: compressor %q is not one of %v", s.Name, CompressorNames(""))
	}
	made, err := row.Build(s, d, stream)
	if err != nil {
		return nil, err
	}
	if s.Scaled {
		scaler, ok := made.(quant.Scaler)
		if !ok || !made.Properties().Scalable {
			return nil, &SettingError{
				Setting: "scaled", Related: []string{"name", "mode"},
				Why: s.Name + ": only an unbiased compressor whose error is relative can be scaled to a contraction",
			}
		}
		if err := scaler.Scale(); err != nil {
			return nil, err
		}
	}
	if s.Clip > 0 {
		clipper, ok := made.(quant.Clipper)
		if !ok {
			return nil, &SettingError{
				Setting: "clip", Related: []string{"name"},
				Why: s.Name + " has no buckets whose values could be clipped: must be 0",
			}
		}
		return made, clipper.Clip(s.Clip)
	}
	return made, nil
}

// UsualLevels is the default of compressors that take levels but no bits.
const UsualLevels = 9

// levels returns the levels of a compressor that takes no bits.
func (s CompressorSettings) levels() int {
	return cmp.Or(s.Levels, UsualLevels)
}

// kept returns the number of d parameters that a sparse compressor sends.
func (s CompressorSettings) kept(d int) int {
	if s.K > 0 {
		return s.K
	}
	return max(1, int(math.Round(s.Ratio*float64(d))))
}

func (s CompressorSettings) normAndForm() (quant.Norm, quant.Form, error) {
	norm, err := quant.ParseNorm(s.Norm)
	if err != nil {
		return 0, 0, err
	}
	form, err := quant.ParseForm(s.Variant)
	return norm, form, err
}
