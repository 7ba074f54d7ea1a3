package bench

import (
	"fmt"
	"io"

	"gossiptrainer/algos"
	"gossiptrainer/app/advice"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/kernel"
	"gossiptrainer/internal/rng"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// A CodecReport is what "bench codec" prints.
type CodecReport struct {
	Tier   string     `json:"tier"` // of vector instructions
	Rounds int        `json:"rounds"`
	Rows   []CodecRow `json:"rows"`
}

// A CodecRow is one size and width of symbols. Figures are multiples of the time
// to copy the same float32 numbers.
type CodecRow struct {
	Coordinates int     `json:"coordinates"`
	Bits        int     `json:"bits"`
	Copy        float64 `json:"copy_gb_per_s"`
	Encode      Figure  `json:"encode"`
	Verified    Figure  `json:"encode_verified"` // with the hash of the indices, and their quotients for repairs
	Mix1        Figure  `json:"mix_1"`           // recover and mix one neighbour
	Mix2        Figure  `json:"mix_2"`
	Mix3        Figure  `json:"mix_3"`
	Checked     Figure  `json:"mix_3_verified"` // all three hashes first
}

// Codec measures Moniqua's codec with models of all sizes, at least 1, and symbols of all widths, 1 to 16 bits,
// each in a number of rounds, at least one. Other arguments are a usage error. watch hears how many coordinates are
// done.
func Codec(sizes, widths []int, rounds int, watch func(done, all int64)) (*CodecReport, error) {
	if err := checkCodecs(sizes, widths, rounds); err != nil {
		return nil, err
	}
	report, all := &CodecReport{Tier: kernel.Best().String(), Rounds: rounds}, tally{watch: watch}
	for _, d := range sizes {
		all.all += int64(d) * int64(len(widths)) * int64(rounds)
	}
	for _, d := range sizes {
		for _, bits := range widths {
			row, err := benchRow(d, bits, rounds, func() { all.add(int64(d)) })
			if err != nil {
				return nil, err
			}
			report.Rows = append(report.Rows, row)
		}
	}
	return report, nil
}

func checkCodecs(sizes, widths []int, rounds int) error {
	if rounds < 1 {
		return advice.Usagef("bench codec: --rounds %d: must be at least 1", rounds)
	}
	for _, d := range sizes {
		if d < 1 {
			return advice.Usagef("bench codec: --size %d: must be at least 1", d)
		}
	}
	for _, bits := range widths {
		if bits < 1 || bits > 16 {
			return advice.Usagef("bench codec: --bits %d: must be 1 to 16", bits)
		}
	}
	return nil
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

func benchRow(d, bits, rounds int, after func()) (CodecRow, error) {
	b, err := newCodecBench(d, bits)
	if err != nil {
		return CodecRow{}, err
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
	samples, err := inTurns(rounds, work, after)
	if err != nil {
		return CodecRow{}, err
	}
	over := func(i int) Figure { return samples[i].over(samples[0]) }
	seconds := samples[0].shortest().Seconds()
	return CodecRow{
		Coordinates: d, Bits: bits, Copy: 4 * float64(d) / seconds / 1e9,
		Encode: over(1), Verified: over(2), Mix1: over(3), Mix2: over(4), Mix3: over(5), Checked: over(6),
	}, nil
}

// Write prints the report as a table.
func (r *CodecReport) Write(w io.Writer) error {
	fmt.Fprintf(w, "vector instructions: %s; times over that of a copy, medians of %d (shortest)\n\n", r.Tier, r.Rounds)
	t := human.AlignRight(w)
	fmt.Fprintln(t, "coordinates\tbits\tcopy GB/s\tencode\t+ hash\tmix 1\tmix 2\tmix 3\tmix 3 verified\t")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%d\t%d\t%.0f\t", row.Coordinates, row.Bits, row.Copy)
		hash := Figure{row.Verified.Median - row.Encode.Median, row.Verified.Best - row.Encode.Best}
		for _, f := range []Figure{row.Encode, hash, row.Mix1, row.Mix2, row.Mix3, row.Checked} {
			fmt.Fprintf(t, "%.2f (%.2f)\t", f.Median, f.Best)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
