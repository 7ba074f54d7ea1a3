package moniqua

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/algos"
	"gossiptrainer/internal/kernel"
	"gossiptrainer/internal/rng"
	"gossiptrainer/topology"
)

// drawByteRound draws a codec whose symbols are bytes, and a round.
func drawByteRound(t *rapid.T) (*Codec, round) {
	rounding := rapid.SampledFrom([]Rounding{Dither, Nearest, Stochastic, Shared}).Draw(t, "rounding")
	width := rapid.IntRange(rounding.spread(), 8).Draw(t, "bits")
	theta := math.Exp2(rapid.Float64Range(-12, 6).Draw(t, "log2 theta"))
	if rapid.Bool().Draw(t, "step is a power of two") {
		theta = math.Exp2(math.Round(math.Log2(theta))) * float64(1<<width-rounding.spread()) / 2
	}
	c := mustCodec(t, 1<<width, rounding, theta, rapid.Uint64().Draw(t, "seed"))
	r, err := c.round(rapid.IntRange(0, 1<<20).Draw(t, "k"), 0)
	if err != nil {
		t.Fatal(err)
	}
	return c, r
}

// drawModels draws models. The others are up to reach·θ from the first, with coordinates on boundaries, at 0, and one
// far from 0.
func drawModels(t *rapid.T, r *round, n int) [][]float32 {
	d := rapid.SampledFrom([]int{1, 32, 100, 127, 128, 300, 1024, 2500, 5000}).Draw(t, "d")
	source := rng.At(rapid.Uint64().Draw(t, "models"), 1)
	scale := math.Exp2(rapid.Float64Range(-2, 20).Draw(t, "log2 steps"))
	reach := rapid.SampledFrom([]float64{0, 0.1, 0.9, 1, 3}).Draw(t, "reach")
	far := rapid.SampledFrom([]float64{0, 1 << 24, 1 << 30}).Draw(t, "far")
	step := r.grid.Step()
	out := make([][]float32, n)
	for j := range out {
		out[j] = make([]float32, d)
	}
	for i := range d {
		draw := func(j int) float64 { return float64(source.Uniform(uint32(64*i+j))) - 0.5 }
		steps := draw(0) * scale
		switch kind := draw(1); {
		case kind < -0.4:
			steps = 0
		case kind < 0:
			u := float64(r.encode.key.Uniform(uint32(i)))
			steps = math.Floor(steps) + []float64{0, 0.5, -u, 0.5 - u}[int(4*(draw(2)+0.5))]
		case i == d/2:
			steps = far
		}
		for j := range out {
			gap := 0.0
			if j > 0 {
				gap = 2 * reach * draw(3+j) * r.grid.Theta
			}
			out[j][i] = float32(steps*step + gap)
		}
	}
	return out
}

// drawAnyRound draws a codec of any number of levels, half of them bytes, and a round.
func drawAnyRound(t *rapid.T) (*Codec, round) {
	if rapid.Bool().Draw(t, "symbols are bytes") {
		return drawByteRound(t)
	}
	c := drawCodec(t)
	r, err := c.round(rapid.IntRange(0, 1<<20).Draw(t, "k"), 0)
	if err != nil {
		t.Fatal(err)
	}
	return c, r
}

// A sent has the indices that plain computes from a model, and the message with them.
type sent struct {
	indices []int64
	payload []byte // without the hash
	repair  []byte
}

// plainly encodes x by plain.go, or returns false if it has no indices.
func plainly(t fataler, r *round, x []float32) (s sent, ok bool) {
	t.Helper()
	symbols := make([]uint16, len(x))
	s.indices = make([]int64, len(x))
	if r.plain.encode(s.indices, symbols, x) >= 0 {
		return s, false
	}
	var err error
	if s.payload, err = r.packing.Pack(nil, symbols); err != nil {
		t.Fatal(err)
	}
	for block := range slices.Chunk(s.indices, r.block) {
		m := make([]int32, len(block))
		for i, k := range block {
			m[i] = r.plain.quotient(k)
		}
		s.repair = appendQuotients(s.repair, m, 0, kernel.Best())
	}
	return s, true
}

// heard returns the indices that a worker with model x recovers from a message by plain.go.
func heard(t fataler, r *round, x []float32, payload, repair []byte) []int64 {
	t.Helper()
	indices, symbols := make([]int64, len(x)), make([]uint16, len(x))
	if err := r.packing.Unpack(symbols, payload[:r.packing.Len(len(x))]); err != nil {
		t.Fatal(err)
	}
	r.plain.decode(indices, symbols, x)
	for first := 0; first < len(x) && repair != nil; first += r.block {
		end := min(first+r.block, len(x))
		m := make([]int32, end-first)
		var err error
		if repair, err = readQuotients(m, repair, kernel.Best()); err != nil {
			t.Fatal(err)
		}
		for i, q := range m {
			indices[first+i] = int64(r.plain.levels)*int64(q) + int64(symbols[first+i])
		}
	}
	return indices
}

// encoders returns the paths that encode with the levels of r.
func encoders(r *round) []path {
	if r.width > 0 {
		return []path{anyPath{}, bytePath{}}
	}
	return []path{anyPath{}}
}

// mixers returns the paths that mix the messages in with the levels of r.
func mixers(r *round, in []algos.Message) []path {
	paths := []path{anyPath{}}
	switch mending := repaired(in); {
	case r.width == 0 || mending && len(in) > usual:
	case mending && r.width < 8:
		paths = append(paths, mendPath{})
	case !mending && r.width == 1:
		paths = append(paths, bitPath{}, manyPath{})
	case !mending:
		paths = append(paths, manyPath{})
		if len(in) <= usual {
			paths = append(paths, bytePath{})
		}
	}
	return paths
}

func TestEveryPathGivesTheBitsOfPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, r := drawAnyRound(t)
		var (
			few     = rapid.IntRange(2, 6)
			all     = drawModels(t, &r, rapid.OneOf(few, few, few, rapid.SampledFrom([]int{33, 133})).Draw(t, "models"))
			x       = all[0]
			mending = rapid.Bool().Draw(t, "mending")
			senders []sent
			in      []algos.Message
			weights []float32
			theirs  [][]int64
		)
		for j, y := range all {
			s, err := c.as(topology.Rank(j)).round(r.k, 0)
			if err != nil {
				t.Fatal(err)
			}
			sent, ok := plainly(t, &s, y)
			if !ok {
				t.Skip("no indices")
			}
			if senders = append(senders, sent); j == 0 {
				continue
			}
			m := algos.Message{From: topology.Rank(j), Weight: 0.3 / float32(j),
				Payload: append(slices.Clone(sent.payload), make([]byte, HashLen)...)}
			if mending && (j == 1 || rapid.Bool().Draw(t, "repaired")) {
				m.Repair = sent.repair
			}
			in, weights = append(in, m), append(weights, m.Weight)
			theirs = append(theirs, heard(t, &r, x, m.Payload, m.Repair))
		}
		want := slices.Clone(x)
		largest, moved := r.plain.mix(want, heard(t, &r, x, senders[0].payload, nil), theirs, weights)
		wantSaw := r.mixed(int(largest), moved)
		for _, r.tier = range kernel.Available() {
			checkEncode(t, &r, x, senders[0])
			checkRecovery(t, &r, x, in, theirs)
			for _, path := range mixers(&r, in) {
				g := gathered{acc: slices.Clone(x), x: x, mine: senders[0].payload, in: in, repairs: make([][]byte, len(in))}
				for j := range in {
					g.repairs[j] = in[j].Repair
				}
				saw, err := path.mix(r, g)
				if err != nil || saw != wantSaw || !sameBits(g.acc, want) {
					t.Fatalf("%v, %T: %+v, want %+v, or another model (%v)", r.tier, path, saw, wantSaw, err)
				}
			}
		}
	})
}

// checkEncode compares the payloads of the paths, without and with verification, with want.
func checkEncode(t *rapid.T, r *round, x []float32, want sent) {
	t.Helper()
	for _, path := range encoders(r) {
		payload := bytes.Repeat([]byte{0xA5}, len(want.payload))
		if err := path.encode(*r, payload, x, nil); err != nil || !bytes.Equal(payload, want.payload) {
			t.Fatalf("%v, %T: other symbols (%v)", r.tier, path, err)
		}
		var v verification
		v.begin(r.k, 0)
		payload = bytes.Repeat([]byte{0xA5}, len(want.payload))
		if err := path.encode(*r, payload, x, &v); err != nil || !bytes.Equal(payload, want.payload) {
			t.Fatalf("%v, %T, verified: other symbols (%v)", r.tier, path, err)
		}
		if v.hash.Sum() != r.plain.hash(want.indices) || !bytes.Equal(v.newest().data, want.repair) {
			t.Fatalf("%v, %T: other quotients or another hash", r.tier, path)
		}
	}
}

// checkRecovery compares the indices that verification recovers with theirs, by their hashes. It does so by the path
// for the levels of r, and by the path for any levels.
func checkRecovery(t *rapid.T, r *round, x []float32, in []algos.Message, theirs [][]int64) {
	t.Helper()
	for _, width := range []int{r.width, 0} {
		any, v := *r, verification{}
		any.width = width
		v.start(in)
		if err := v.recover(&any, x, in); err != nil {
			t.Fatal(err)
		}
		for j, k := range theirs {
			if v.theirs[j].Sum() != r.plain.hash(k) || len(v.rest[j]) > 0 {
				t.Fatalf("%v, %d bits: other indices of neighbour %d, or %d bytes of its repair left", r.tier, width,
					j, len(v.rest[j]))
			}
		}
	}
}

// sameBits reports whether a and b have the same bits; −0 and 0 differ.
func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

func TestTheFastestPathIsTaken(t *testing.T) {
	whole, broken := algos.Message{}, algos.Message{Repair: []byte{1}}
	for _, test := range []struct {
		levels int
		in     []algos.Message
		want   path
	}{
		{256, nil, bytePath{}},
		{8, nil, bytePath{}},
		{2, nil, bitPath{}}, // encodes as bytePath
		{5, nil, anyPath{}},
		{1 << 9, nil, anyPath{}},
		{256, []algos.Message{whole}, bytePath{}},
		{2, []algos.Message{whole, whole}, bitPath{}},
		{128, []algos.Message{whole, broken}, mendPath{}},
		{2, []algos.Message{broken}, mendPath{}},
		{256, []algos.Message{broken}, anyPath{}},
		{3, []algos.Message{broken}, anyPath{}},
		{16, slices.Repeat([]algos.Message{whole}, usual), bytePath{}},
		{16, slices.Repeat([]algos.Message{whole}, 5*usual), manyPath{}},
		{2, slices.Repeat([]algos.Message{whole}, 5*usual), bitPath{}},
		{16, slices.Repeat([]algos.Message{broken}, usual), mendPath{}},
		{16, slices.Repeat([]algos.Message{broken}, usual+1), anyPath{}},
	} {
		r, err := mustCodec(t, test.levels, Nearest, 1, 1).round(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.path(test.in); got != test.want {
			t.Errorf("%d levels, %d messages: %T, want %T", test.levels, len(test.in), got, test.want)
		}
	}
}

func TestEveryPathRefusesTheSameAsPlain(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), 1 << 31, -1 << 33} {
		for _, at := range []int{0, 1500, 4095} {
			r, err := mustCodec(t, 256, Nearest, 127.5, 1).round(3, 0) // D = 1
			if err != nil {
				t.Fatal(err)
			}
			x := make([]float32, 4096)
			x[at] = bad
			if got := r.plain.encode(make([]int64, len(x)), make([]uint16, len(x)), x); got != at {
				t.Fatalf("%v at %d: coordinate %d is refused", bad, at, got)
			}
			want := r.strange(bad, at).Error()
			for _, r.tier = range kernel.Available() {
				for _, path := range encoders(&r) {
					for name, v := range map[string]*verification{"plain": nil, "verified": {}} {
						if err := path.encode(r, make([]byte, len(x)), x, v); err == nil || err.Error() != want {
							t.Errorf("%v, %T, %s: %v, want %v", r.tier, path, name, err, want)
						}
					}
				}
			}
		}
	}
}
