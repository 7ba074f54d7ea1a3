package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/kernel"
	"gossiptrainer/quant"
)

// A compressorReport is what "bench compressors" prints.
type compressorReport struct {
	Tier   string          `json:"tier"` // of vector instructions
	Rounds int             `json:"rounds"`
	Rows   []compressorRow `json:"rows"`
}

// A compressorRow is one compressor and size. Moniqua's symbols have as many bits.
type compressorRow struct {
	Name        string  `json:"name"`
	Coordinates int     `json:"coordinates"`
	Bits        int     `json:"bits"`
	Compress    figure  `json:"compress"`             // over a copy
	Encode      figure  `json:"compress_over_encode"` // over Moniqua's encoding
	Add         figure  `json:"add"`                  // over a copy
	Mix         figure  `json:"add_over_mix"`         // over Moniqua's recovery and mixing of one neighbour
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
		return quant.NewAdaptive(quant.ALQ, bits, bucket, quant.LInf, quant.Zero, 1)
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

func newBenchCompressors(c *console) *cobra.Command {
	var size, bucket, rounds int
	cmd := &cobra.Command{
		Use:   "compressors",
		Short: "time compressors against copying the same numbers and against Moniqua's codec",
		Long: `time compressors against copying the same numbers and against Moniqua's codec

The vector is of normal numbers. Moniqua's symbols have as many bits: compressing
is set against its encoding, adding to a sum against its recovering and mixing of
one neighbour.`,
		Example: "  peer bench compressors\n  PEER_SIMD=avx2 peer bench compressors --size 270000 --json",
		Args:    arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			switch {
			case rounds < 1:
				return advice.Usagef("bench compressors: --rounds %d: must be at least 1", rounds)
			case size < 1:
				return advice.Usagef("bench compressors: --size %d: must be at least 1", size)
			}
			report := &compressorReport{Tier: kernel.Best().String(), Rounds: rounds}
			for _, b := range benchedCompressors() {
				row, err := b.measure(size, bucket, rounds)
				if err != nil {
					return err
				}
				report.Rows = append(report.Rows, row)
			}
			return c.print(report, report.write)
		},
	}
	cmd.Flags().IntVar(&size, "size", 1_000_000, "coordinates of the `vector`")
	cmd.Flags().IntVar(&bucket, "bucket", 8192, "`coordinates` with a scale of their own")
	cmd.Flags().IntVar(&rounds, "rounds", 31, "`times` that everything is measured")
	c.addJSON(cmd)
	return cmd
}

func (b benched) measure(d, bucket, rounds int) (compressorRow, error) {
	codec, err := newCodecBench(d, b.bits)
	if err != nil {
		return compressorRow{}, err
	}
	c, err := b.make(b.bits, bucket)
	if err != nil {
		return compressorRow{}, err
	}
	z, acc := codec.models[1], make([]float32, d)
	payload, err := c.Compress(nil, 0, z)
	if err != nil {
		return compressorRow{}, err
	}
	work := []func() error{
		func() error { copy(acc, z); return nil },
		func() error { _, err := codec.plain.Encode(codec.sent[1][:0], 0, z); return err },
		codec.mix(codec.plain, codec.sent, 1, 1.0/1024),
		func() error { _, err := c.Compress(payload[:0], 0, z); return err },
		func() error { return c.AddTo(acc, 0.5, 0, payload) },
	}
	samples, err := inTurns(rounds, work)
	if err != nil {
		return compressorRow{}, err
	}
	each := func(i int) float64 { return float64(samples[i].shortest().Nanoseconds()) / float64(d) }
	return compressorRow{
		Name: b.name, Coordinates: d, Bits: b.bits,
		Compress: samples[3].over(samples[0]), Encode: samples[3].over(samples[1]),
		Add: samples[4].over(samples[0]), Mix: samples[4].over(samples[2]),
		Compressing: each(3), Adding: each(4),
	}, nil
}

func (r *compressorReport) write(w io.Writer) error {
	fmt.Fprintf(w, "vector instructions: %s; medians of %d (shortest)\n\n", r.Tier, r.Rounds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "compressor\tbits\tcompress/copy\t/Moniqua encode\tns\tadd/copy\t/Moniqua mix 1\tns\t")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%d\t", row.Name, row.Bits)
		for _, f := range []figure{row.Compress, row.Encode} {
			fmt.Fprintf(t, "%.2f (%.2f)\t", f.Median, f.Best)
		}
		fmt.Fprintf(t, "%.2f\t", row.Compressing)
		for _, f := range []figure{row.Add, row.Mix} {
			fmt.Fprintf(t, "%.2f (%.2f)\t", f.Median, f.Best)
		}
		fmt.Fprintf(t, "%.2f\t\n", row.Adding)
	}
	return t.Flush()
}
