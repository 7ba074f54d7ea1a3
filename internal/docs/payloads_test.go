package docs

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/internal/wire/still"
	"gossiptrainer/moniqua"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// The examples of compressors are messages of worker 2 of a run with seed 1, in this round, for this vector.
var (
	round  = 3
	stream = rng.Stream(1, 2)
	vector = []float32{1, -0.5, 0.25, 0, -0.75}
)

var payloads = map[string]decoder{
	"full":      compressed(func() (quant.Compressor, error) { return quant.Full{}, nil }, 1, -0.5, 3),
	"group":     group,
	"moniqua":   symbols,
	"repair":    repair,
	"piece-0":   piece(0),
	"piece-1":   piece(1),
	"repair-0":  mending,
	"repair-1":  mending,
	"offer":     offer,
	"entropy":   coded,
	"still":     stillParts,
	"qsgd":      compressed(qsgd, 1, -4./7, 1./7, 0, -0.75),
	"minmax":    compressed(minmax(2), 1, -0.75, -0.75+2*1.75/3, -0.75+1.75/3, -0.75),
	"qsgd5":     compressed(qsgdOf5, 1, -0.5, 0, 0, -1),
	"terngrad":  compressed(terngrad, 1, -1, 0, 0, -1),
	"orq":       compressed(orq, 1, 0, 0, 0, -0.75),
	"sign":      compressed(sign, 0.5, -0.5, 0.5, 0.5, -0.5),
	"bingrad_b": compressed(bingrad, 1.25/3, -0.625, 1.25/3, 1.25/3, -0.625),
	"linear":    compressed(linear, 1, -0.5, 0.25, 0, -0.75),
	"topk":      compressed(topk, 1, 0, 0, 0, -0.75),
	"randomk":   compressed(randomk, 2.5, -1.25, 0, 0, 0),
	"switched":  compressed(switched, 1, -0.5, 0.25, 0, -0.75),
	"alq":       compressed(alq, 1, -2./3, 0, 0, -1),
}

func qsgd() (quant.Compressor, error)     { return quant.NewQSGD(4, 3, quant.LInf, stream) }
func qsgdOf5() (quant.Compressor, error)  { return quant.NewQSGDLevels(5, 0, quant.LInf, stream) }
func terngrad() (quant.Compressor, error) { return quant.NewTernGrad(0, stream) }
func orq() (quant.Compressor, error)      { return quant.NewORQ(3, 0, stream) }
func sign() (quant.Compressor, error)     { return quant.NewSign(0) }
func bingrad() (quant.Compressor, error)  { return quant.NewBinGradB(quant.Mean, 0) }
func linear() (quant.Compressor, error)   { return quant.NewLinear(0.25, quant.Nearest, stream) }
func topk() (quant.Compressor, error)     { return quant.NewTopK(2) }
func randomk() (quant.Compressor, error)  { return quant.NewRandomK(2, quant.Amplified, stream) }

func minmax(bits int) func() (quant.Compressor, error) {
	return func() (quant.Compressor, error) { return quant.NewMinMax(bits, 0, quant.Nearest, stream) }
}

func switched() (quant.Compressor, error) {
	return quant.NewSwitched(2, 4, func(int) int { return 3 }, func(bits int) (quant.Compressor, error) {
		return minmax(bits)()
	})
}

func alq() (quant.Compressor, error) {
	return quant.NewAdaptive(quant.AdaptiveOptions{Fit: quant.ALQ, Bits: 3, Norm: quant.LInf, Form: quant.Zero}, stream)
}

// compressed returns the decoder of a payload that decodes to the vector want.
func compressed(build func() (quant.Compressor, error), want ...float64) decoder {
	return func(t *testing.T, d document, name string) {
		c, err := build()
		if err != nil {
			t.Fatal(err)
		}
		payload, got := d.bytes(t, name), make([]float32, len(want))
		if err := c.AddTo(got, 1, round, payload); err != nil {
			t.Fatal(err)
		}
		for i, v := range want {
			equal(t, "coordinate", got[i], float32(v))
		}
		z := vector
		if c == (quant.Full{}) {
			z = got
		}
		made, err := c.Compress(nil, round, z)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "payload", made, payload)
	}
}

func group(t *testing.T, d document, name string) {
	packing, err := quant.NewPacking(3)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]uint16, 5)
	if err := packing.Unpack(got, d.bytes(t, name)); err != nil {
		t.Fatal(err)
	}
	if want := []uint16{2, 0, 1, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("symbols %v, want %v", got, want)
	}
}

// codec returns the codec of a worker in the example of two bits.
func codec(rank topology.Rank) *moniqua.Codec {
	return &moniqua.Codec{Levels: 4, Theta: func(int) float64 { return 0.75 }, Seed: 1, Rank: rank, Verify: true}
}

// The models of the example: the sender's, one near it, and one that is too far away.
var (
	sent    = []float32{0.3, -1.1, 2.25, 0.05, -0.4}
	near    = []float32{0.2, -0.6, 1.75, 0.35, -0.2}
	far     = []float32{0.2, -0.6, 0.5, 0.35, -0.2}
	indices = []int32{0, -2, 4, 0, 0}
)

func symbols(t *testing.T, d document, name string) {
	payload, c := d.bytes(t, name), codec(0)
	made, err := c.Encode(nil, round, sent)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "payload", made, payload)
	grid, err := c.Grid(round)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "step", grid.Step(), 0.5)
	equal(t, "modulus", grid.Modulus(), 2)
	var text []byte
	for _, k := range indices {
		text = binary.LittleEndian.AppendUint32(text, uint32(k))
	}
	equal(t, "hash", binary.LittleEndian.Uint64(payload[2:]), xxhash.Sum64(text))
	got := make([]int32, len(sent))
	for _, test := range []struct {
		model []float32
		wrong int32 // the index of coordinate 2
	}{{near, 4}, {far, 0}} {
		if err := codec(1).Decode(got, round, test.model, payload); err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(indices)
		want[2] = test.wrong
		if !slices.Equal(got, want) {
			t.Errorf("%v recovers %v, want %v", test.model, got, want)
		}
	}
}

func repair(t *testing.T, d document, name string) {
	payload, mending := d.bytes(t, "moniqua"), d.bytes(t, name)
	sender, receiver := codec(0), codec(1)
	if _, err := sender.Encode(nil, round, sent); err != nil {
		t.Fatal(err)
	}
	made, _ := sender.AppendRepair(nil, round, 0, nil)
	same(t, "repair", made, mending)

	x := slices.Clone(far)
	mine, err := receiver.Encode(nil, round, x)
	if err != nil {
		t.Fatal(err)
	}
	in := []algos.Message{{From: 0, Weight: 0.5, Payload: payload}}
	_, err = receiver.Mix(x, round, x, mine, in)
	if wrong, ok := errors.AsType[*algos.MismatchError](err); !ok || !slices.Equal(wrong.From, []topology.Rank{0}) {
		t.Fatalf("without the repair: error %v, want a mismatch", err)
	}
	in[0].Repair = mending
	if _, err = receiver.Mix(x, round, x, mine, in); err != nil {
		t.Fatal(err)
	}
	own := make([]int32, len(far))
	if err := receiver.Indices(own, round, far); err != nil {
		t.Fatal(err)
	}
	equal(t, "coordinate 2 after mixing", x[2], far[2]+0.5*0.5*float32(indices[2]-own[2]))
}

func offer(t *testing.T, d document, name string) {
	x := []float32{0, 1}
	alg := &algos.ADPSGD{
		X: x, Alpha: func(int) float32 { return 0 }, Weight: 0.5,
		Codec: func(topology.Rank) algos.Codec { return algos.Full{} },
	}
	row := topology.Row{Out: []topology.Rank{0}}
	w, err := gossip.NewPair(1, row, alg, gossip.PairPlan{Workers: 2, Rounds: 10})
	if err != nil {
		t.Fatal(err)
	}
	own := w.Ready().Send[0]
	const ask, decline, model = 0, 2, 5
	for _, f := range []gossip.Frame{
		{Round: own.Round, Hop: decline}, {Hop: ask}, {Hop: model, Payload: d.bytes(t, name)}, {Round: 2, Hop: ask},
	} {
		f.From, f.To = 0, 1
		if err := w.Receive(f); err != nil {
			t.Fatal(err)
		}
	}
	if want := []float32{0.5, 0.25}; !slices.Equal(w.Params(), want) {
		t.Errorf("model %v after the offer, want %v", w.Params(), want)
	}
	reply := w.Ready().Send[3] // to the second question, after the agreement
	steps := reply.Payload[len(reply.Payload)-gossip.CensusBytes(2):]
	equal(t, "steps of worker 0", binary.LittleEndian.Uint32(steps), 5)
	equal(t, "steps of worker 1, which knows best", binary.LittleEndian.Uint32(steps[4:]), 0)
}

func coded(t *testing.T, d document, name string) {
	numbers := []float32{1, 1.125, 1.25, 1.5, 1.4375, 1.75, 1.0625, 1.875, 1.375, 1.625, 1.1875, 1.3125}
	plain, err := algos.Full{}.Encode(nil, round, numbers)
	if err != nil {
		t.Fatal(err)
	}
	text := d.bytes(t, name)
	n, err := entropy.Len(text, len(plain))
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, n)
	if err := new(entropy.Decoder).Decode(got, entropy.Huff0, text); err != nil {
		t.Fatal(err)
	}
	same(t, "plain payload", got, plain)
	encoder, err := entropy.NewEncoder(entropy.Huff0, entropy.Costs{})
	if err != nil {
		t.Fatal(err)
	}
	made, coder, err := encoder.Encode(nil, plain, quant.Floats(len(numbers)), 0)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "coder", coder, entropy.Huff0)
	same(t, "coded payload", made, text)
}

func stillParts(t *testing.T, d document, name string) {
	start, x := []float32{1}, []float32{0.5, 1.5}
	for i := range 20 {
		start, x = append(start, float32(i)), append(x, float32(i))
	}
	plain, err := algos.Full{}.Encode(nil, round, x)
	if err != nil {
		t.Fatal(err)
	}
	text, got := d.bytes(t, name), make([]byte, len(plain))
	if err := still.New(start).Decode(got, text); err != nil {
		t.Fatal(err)
	}
	same(t, "plain payload", got, plain)
	made, shorter := still.New(start).Encode(nil, plain, still.Span{At: 4, Count: len(start)})
	equal(t, "shorter", shorter, true)
	same(t, "coded payload", made, text)
}
