package entropy

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gossiptrainer/quant"
)

// weights returns normal numbers whose spread differs from layer to layer; a tenth of them lie five times as far out.
// They resemble a network's weights without a training run.
func weights(n int) []float64 {
	r := rand.New(rand.NewPCG(9, 9))
	x := make([]float64, n)
	for i := range x {
		spread := 0.04 + 0.01*float64(i*8/n)
		if r.IntN(10) == 0 {
			spread *= 5
		}
		x[i] = spread * r.NormFloat64()
	}
	return x
}

// residues returns the symbols of the modulo codec with N levels: x in steps of
// 2θ/(N−1), modulo N.
func residues(b *testing.B, levels int, theta float64) ([]byte, quant.Layout) {
	b.Helper()
	symbols := make([]uint16, benchmarked)
	step := 2 * theta / float64(levels-1)
	for i, x := range weights(len(symbols)) {
		v := int(x/step+1000*float64(levels)+0.5) % levels
		symbols[i] = uint16(v)
	}
	packing, err := quant.NewPacking(levels)
	if err != nil {
		b.Fatal(err)
	}
	payload, err := packing.Pack(nil, symbols)
	if err != nil {
		b.Fatal(err)
	}
	return payload, quant.Layout{Levels: levels, Count: len(symbols)}
}

const benchmarked = 1 << 20

// gradient returns the message of QSGD at 4 bits for the weights.
func gradient(b *testing.B) ([]byte, quant.Layout) {
	b.Helper()
	q, err := quant.NewQSGD(4, 8192, quant.LInf, 1)
	if err != nil {
		b.Fatal(err)
	}
	z := make([]float32, benchmarked)
	for i, x := range weights(len(z)) {
		z[i] = float32(x)
	}
	payload, err := q.Compress(nil, 0, z)
	if err != nil {
		b.Fatal(err)
	}
	return payload, q.Layout(len(z))
}

// BenchmarkCoders reports for each coder how much shorter a payload becomes, and
// the time to code it and to restore it over that of copying it once.
func BenchmarkCoders(b *testing.B) {
	type data struct {
		name    string
		payload []byte
		layout  quant.Layout
	}
	var all []data
	for _, theta := range []float64{2, 0.25, 0.02} {
		for _, levels := range []int{256, 16, 8, 2} {
			payload, layout := residues(b, levels, theta)
			all = append(all, data{fmt.Sprintf("moniqua %d levels theta %v", levels, theta), payload, layout})
		}
	}
	payload, layout := gradient(b)
	all = append(all, data{"qsgd 4 bit", payload, layout})
	for _, d := range all {
		for _, c := range allCoders {
			b.Run(d.name+"/"+c.String(), func(b *testing.B) { benchmark(b, c, d.payload, d.layout) })
		}
	}
}

func benchmark(b *testing.B, c Coder, payload []byte, l quant.Layout) {
	e, d, back := mustEncoder(b, c), new(Decoder), make([]byte, len(payload))
	b.SetBytes(int64(len(payload)))
	var coded []byte
	var coding, decoding, copying time.Duration
	by := Plain
	for b.Loop() {
		start := time.Now()
		var err error
		if coded, by, err = e.Encode(coded[:0], payload, l, 0); err != nil {
			b.Fatal(err)
		}
		made := time.Now()
		if by != Plain {
			if err := d.Decode(back, by, coded); err != nil {
				b.Fatal(err)
			}
		}
		restored := time.Now()
		copy(back, payload)
		coding, decoding, copying = coding+made.Sub(start), decoding+restored.Sub(made), copying+time.Since(restored)
	}
	ratio := 1.0
	if by != Plain {
		ratio = float64(len(payload)) / float64(len(coded))
	}
	b.ReportMetric(ratio, "ratio")
	b.ReportMetric(float64(coding)/float64(copying), "×copy/coding")
	b.ReportMetric(float64(decoding)/float64(copying), "×copy/decoding")
	b.ReportMetric(float64(b.N)*float64(len(payload))/1e6/coding.Seconds(), "MB/s/coding")
	b.ReportMetric(float64(b.N)*float64(len(payload))/1e6/max(decoding, 1).Seconds(), "MB/s/decoding")
}
