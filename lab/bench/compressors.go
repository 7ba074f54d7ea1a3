package bench

import (
	"fmt"
	"io"

	"gossiptrainer/app/advice"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/kernel"
	"gossiptrainer/quant"
)

// A CompressorReport is what "bench compressors" prints.
type CompressorReport struct {
	Tier   string          `json:"tier"` // of vector instructions
	Rounds int             `json:"rounds"`
	Rows   []CompressorRow `json:"rows"`
}

// A CompressorRow is one compressor and size. Moniqua's symbols have as many bits.
type CompressorRow struct {
	Name        string  `json:"name"`
	Coordinates int     `json:"coordinates"`
	Bits        int     `json:"bits"`
	Compress    Figure  `json:"compress"`             // over a copy
	Encode      Figure  `json:"compress_over_encode"` // over Moniqua's encoding
	Add         Figure  `json:"add"`                  // over a copy
	Mix         Figure  `json:"add_over_mix"`         // over Moniqua's recovery and mixing of one neighbour
	Compressing float64 `json:"compress_ns"`          // per coordinate, shortest
	Adding      float64 `json:"add_ns"`
}

// benched is one way to make a compressor.
type benched struct {
	name string
	bits int
	make func(bits, bucket int) (quant.Compressor, error)
}

func benchedCompressors() []benched {
	qsgd := func(norm quant.Norm) func(bits, bucket int) (quant.Compressor, error) {
		return func(bits, bucket int) (quant.Compressor, error) { return quant.NewQSGD(bits, bucket, norm, 1) }
	}
	minmax := func(mode quant.Mode) func(bits, bucket int) (quant.Compressor, error) {
		return func(bits, bucket int) (quant.Compressor, error) { return quant.NewMinMax(bits, bucket, mode, 1) }
	}
	alq := func(bits, bucket int) (quant.Compressor, error) {
		return quant.NewAdaptive(quant.AdaptiveOptions{
			Fit: quant.ALQ, Bits: bits, Bucket: bucket, Norm: quant.LInf, Form: quant.Zero,
		}, 1)
	}
	nuqsgd := func(form quant.Form) func(bits, bucket int) (quant.Compressor, error) {
		return func(bits, bucket int) (quant.Compressor, error) {
			return quant.NewNUQSGD(bits, bucket, quant.L2, form, 1)
		}
	}
	sign := func(_, bucket int) (quant.Compressor, error) { return quant.NewSign(bucket) }
	return []benched{
		{"qsgd linf", 8, qsgd(quant.LInf)}, {"qsgd linf", 4, qsgd(quant.LInf)}, {"qsgd l2", 4, qsgd(quant.L2)},
		{"minmax nearest", 8, minmax(quant.Nearest)}, {"minmax stochastic", 4, minmax(quant.Stochastic)},
		{"sign", 1, sign},
		{"alq", 3, alq}, {"alq", 4, alq}, {"alq", 8, alq},
		{"nuqsgd", 4, nuqsgd(quant.Zero)}, {"nuqsgd sym", 4, nuqsgd(quant.Symmetric)},
	}
}

// Compressors measures all compressors with a vector of size coordinates. Each
// bucket of coordinates has its own scale. All arguments are at least 1. watch hears how many measurements are done.
func Compressors(size, bucket, rounds int, watch func(done, all int64)) (*CompressorReport, error) {
	switch {
	case rounds < 1:
		return nil, advice.Usagef("bench compressors: --rounds %d: must be at least 1", rounds)
	case size < 1:
		return nil, advice.Usagef("bench compressors: --size %d: must be at least 1", size)
	}
	report := &CompressorReport{Tier: kernel.Best().String(), Rounds: rounds}
	benched := benchedCompressors()
	all := tally{all: int64(len(benched) * rounds), watch: watch}
	for _, b := range benched {
		row, err := b.measure(size, bucket, rounds, func() { all.add(1) })
		if err != nil {
			return nil, err
		}
		report.Rows = append(report.Rows, row)
	}
	return report, nil
}

func (b benched) measure(d, bucket, rounds int, after func()) (CompressorRow, error) {
	codec, err := newCodecBench(d, b.bits)
	if err != nil {
		return CompressorRow{}, err
	}
	c, err := b.make(b.bits, bucket)
	if err != nil {
		return CompressorRow{}, err
	}
	z, acc := codec.models[1], make([]float32, d)
	payload, err := c.Compress(nil, 0, z)
	if err != nil {
		return CompressorRow{}, err
	}
	work := []func() error{
		func() error { copy(acc, z); return nil },
		func() error { _, err := codec.plain.Encode(codec.sent[1][:0], 0, z); return err },
		codec.mix(codec.plain, codec.sent, 1, 1.0/1024),
		func() error { _, err := c.Compress(payload[:0], 0, z); return err },
		func() error { return c.AddTo(acc, 0.5, 0, payload) },
	}
	samples, err := inTurns(rounds, work, after)
	if err != nil {
		return CompressorRow{}, err
	}
	each := func(i int) float64 { return float64(samples[i].shortest().Nanoseconds()) / float64(d) }
	return CompressorRow{
		Name: b.name, Coordinates: d, Bits: b.bits,
		Compress: samples[3].over(samples[0]), Encode: samples[3].over(samples[1]),
		Add: samples[4].over(samples[0]), Mix: samples[4].over(samples[2]),
		Compressing: each(3), Adding: each(4),
	}, nil
}

// Write prints the report as a table.
func (r *CompressorReport) Write(w io.Writer) error {
	fmt.Fprintf(w, "vector instructions: %s; medians of %d (shortest)\n\n", r.Tier, r.Rounds)
	t := human.AlignRight(w)
	fmt.Fprintln(t, "compressor\tbits\tcompress/copy\t/Moniqua encode\tns\tadd/copy\t/Moniqua mix 1\tns\t")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%d\t", row.Name, row.Bits)
		for _, f := range []Figure{row.Compress, row.Encode} {
			fmt.Fprintf(t, "%.2f (%.2f)\t", f.Median, f.Best)
		}
		fmt.Fprintf(t, "%.2f\t", row.Compressing)
		for _, f := range []Figure{row.Add, row.Mix} {
			fmt.Fprintf(t, "%.2f (%.2f)\t", f.Median, f.Best)
		}
		fmt.Fprintf(t, "%.2f\t\n", row.Adding)
	}
	return t.Flush()
}
