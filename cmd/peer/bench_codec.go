package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gossiptrainer/algos"
	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/kernel"
	"gossiptrainer/internal/rng"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// A codecReport is what "bench codec" prints.
type codecReport struct {
	Tier   string     `json:"tier"` // of vector instructions
	Rounds int        `json:"rounds"`
	Rows   []codecRow `json:"rows"`
}

// A codecRow is one size and width of symbols. Figures are multiples of the time
// to copy the same float32 numbers.
type codecRow struct {
	Coordinates int     `json:"coordinates"`
	Bits        int     `json:"bits"`
	Copy        float64 `json:"copy_gb_per_s"`
	Encode      figure  `json:"encode"`
	Verified    figure  `json:"encode_verified"` // with the hash of the indices, and their quotients for repairs
	Mix1        figure  `json:"mix_1"`           // recover and mix one neighbour
	Mix2        figure  `json:"mix_2"`
	Mix3        figure  `json:"mix_3"`
	Checked     figure  `json:"mix_3_verified"` // all three hashes first
}

func newBenchCodec(c *console) *cobra.Command {
	var sizes, widths []int
	var rounds int
	cmd := &cobra.Command{
		Use:   "codec",
		Short: "time encoding and mixing against copying the same numbers",
		Long: `time encoding and mixing against copying the same numbers

Models of normal numbers differ by up to half of theta. Mixing is in place, as
the algorithms do it. PEER_SIMD=avx2 or off holds the program to fewer vector
instructions.`,
		Example: "  peer bench codec --size 1000000 --bits 8\n  PEER_SIMD=avx2 peer bench codec --json",
		Args:    arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			report, err := benchCodec(sizes, widths, rounds)
			if err != nil {
				return err
			}
			return c.print(report, report.write)
		},
	}
	cmd.Flags().IntSliceVar(&sizes, "size", []int{270_000, 1_000_000, 10_000_000}, "coordinates of a `model`")
	cmd.Flags().IntSliceVar(&widths, "bits", []int{8, 4, 2, 1}, "`bits` per coordinate")
	cmd.Flags().IntVar(&rounds, "rounds", 31, "`times` that everything is measured")
	c.addJSON(cmd)
	return cmd
}

func benchCodec(sizes, widths []int, rounds int) (*codecReport, error) {
	if rounds < 1 {
		return nil, advice.Usagef("bench codec: --rounds %d: must be at least 1", rounds)
	}
	report := &codecReport{Tier: kernel.Best().String(), Rounds: rounds}
	for _, d := range sizes {
		if d < 1 {
			return nil, advice.Usagef("bench codec: --size %d: must be at least 1", d)
		}
		for _, bits := range widths {
			if bits < 1 || bits > 16 {
				return nil, advice.Usagef("bench codec: --bits %d: must be 1 to 16", bits)
			}
			row, err := benchRow(d, bits, rounds)
			if err != nil {
				return nil, err
			}
			report.Rows = append(report.Rows, row)
		}
	}
	return report, nil
}

// A codecBench is the data of one row.
type codecBench struct {
	plain, verified *moniqua.Codec
	models          [4][]float32
	sent, hashed    [4][]byte // their messages without and with hashes
}

func newCodecBench(d, bits int) (*codecBench, error) {
	const gap = 0.1
	rule := func(int) float64 { return 2 * gap }
	b := &codecBench{
		plain:    &moniqua.Codec{Levels: 1 << bits, Theta: rule, Seed: 1},
		verified: &moniqua.Codec{Levels: 1 << bits, Theta: rule, Seed: 1, Verify: true},
	}
	centre, noise := rng.At(1, 0), rng.At(2, 0)
	for j := range b.models {
		b.models[j] = make([]float32, d)
		for i := range b.models[j] {
			at := uint32(12 * i)
			sum := float32(-6) // of twelve uniform numbers: nearly normal
			for k := range uint32(12) {
				sum += centre.Uniform(at + k)
			}
			b.models[j][i] = sum + gap*(noise.Uniform(uint32(4*i+j))-0.5)
		}
		var err error
		if b.sent[j], err = b.plain.Encode(nil, 0, b.models[j]); err != nil {
			return nil, err
		}
		if b.hashed[j], err = b.verified.Encode(nil, 0, b.models[j]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// mix mixes n neighbours into the first model, and with the other sign of weight
// out of it again.
func (b *codecBench) mix(codec *moniqua.Codec, payloads [4][]byte, n int, weight float32) func() error {
	in := make([]algos.Message, n)
	for j := range in {
		in[j] = algos.Message{From: topology.Rank(j + 1), Weight: weight, Payload: payloads[j+1]}
	}
	x := b.models[0]
	return func() error {
		_, err := codec.Mix(x, 0, x, payloads[0], in)
		for j := range in {
			in[j].Weight = -in[j].Weight
		}
		return err
	}
}

func benchRow(d, bits, rounds int) (codecRow, error) {
	b, err := newCodecBench(d, bits)
	if err != nil {
		return codecRow{}, err
	}
	const weight = 1.0 / 1024 // so small that the model stays within its symbols
	target := make([]float32, d)
	work := []func() error{
		func() error { copy(target, b.models[1]); return nil },
		func() error { _, err := b.plain.Encode(b.sent[1][:0], 0, b.models[1]); return err },
		func() error { _, err := b.verified.Encode(b.hashed[1][:0], 0, b.models[1]); return err },
		b.mix(b.plain, b.sent, 1, weight),
		b.mix(b.plain, b.sent, 2, weight),
		b.mix(b.plain, b.sent, 3, weight),
		b.mix(b.verified, b.hashed, 3, 0), // hashes allow no change
	}
	samples, err := inTurns(rounds, work)
	if err != nil {
		return codecRow{}, err
	}
	over := func(i int) figure { return samples[i].over(samples[0]) }
	seconds := samples[0].shortest().Seconds()
	return codecRow{
		Coordinates: d, Bits: bits, Copy: 4 * float64(d) / seconds / 1e9,
		Encode: over(1), Verified: over(2), Mix1: over(3), Mix2: over(4), Mix3: over(5), Checked: over(6),
	}, nil
}

func (r *codecReport) write(w io.Writer) error {
	fmt.Fprintf(w, "vector instructions: %s; times over that of a copy, medians of %d (shortest)\n\n", r.Tier, r.Rounds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "coordinates\tbits\tcopy GB/s\tencode\t+ hash\tmix 1\tmix 2\tmix 3\tmix 3 verified\t")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%d\t%d\t%.0f\t", row.Coordinates, row.Bits, row.Copy)
		hash := figure{row.Verified.Median - row.Encode.Median, row.Verified.Best - row.Encode.Best}
		for _, f := range []figure{row.Encode, hash, row.Mix1, row.Mix2, row.Mix3, row.Checked} {
			fmt.Fprintf(t, "%.2f (%.2f)\t", f.Median, f.Best)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
