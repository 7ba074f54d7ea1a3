package conformance

import (
	"encoding/hex"
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/internal/rng"
	"gossiptrainer/moniqua"
	"gossiptrainer/quant"
)

func TestConformanceCodec(t *testing.T) {
	var file struct {
		Cases    []codecCase
		Rejected []struct {
			Levels int
			Mode   string
			Theta  *float64
		}
	}
	Load(t, "codec.json", &file)
	if len(file.Cases) == 0 || len(file.Rejected) == 0 {
		t.Fatal("codec.json: no cases or no rejected settings")
	}
	for _, c := range file.Cases {
		t.Run(c.Label, func(t *testing.T) {
			c.checkGrid(t)
			c.checkNoise(t)
			c.checkSender(t)
			c.checkReceiver(t)
			c.checkMix(t)
		})
	}
	for _, r := range file.Rejected {
		theta := 1.0
		if r.Theta != nil {
			theta = *r.Theta
		}
		rounding, err := moniqua.ParseRounding(r.Mode)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := moniqua.New(r.Levels, rounding, func(int) float64 { return theta }, 0, 0); err == nil {
			t.Errorf("accepted: %d levels, %s, theta %v", r.Levels, r.Mode, theta)
		}
	}
}

type codecCase struct {
	Label          string
	Levels         int
	Mode           string
	Theta          float64
	Delta, B, Step float64
	Seed           seed
	Round          int
	X, Y           []float32
	U              []float64
	K              []int32
	Symbols        []uint16
	Quotients      []int32
	PackedHex      string `json:"packed_hex"`
	PayloadBytes   int    `json:"payload_bytes"`
	Value          []float64
	DecodedK       []int32   `json:"decoded_k"`
	DecodedValue   []float64 `json:"decoded_value"`
	Wrong          []int
	ThetaViolated  []int  `json:"theta_violated"`
	HashK          string `json:"hash_k"`
	HashDecoded    string `json:"hash_decoded"`
}

// codec returns the sender's codec.
func (c *codecCase) codec(t *testing.T) *moniqua.Codec {
	t.Helper()
	seed := uint64(c.Seed)
	if c.Mode == "stochastic" {
		seed = seedOf(seed)
	}
	codec, err := moniqua.New(c.Levels, mustGrid(t, c.Theta, c.Levels, c.Mode).Rounding,
		func(int) float64 { return c.Theta }, seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	return codec
}

// seedOf returns the seed whose worker 0 has the given stream. It inverts Mix64, because the files name only the
// stream.
func seedOf(stream uint64) uint64 {
	z := stream
	z ^= z>>31 ^ z>>62
	z *= inverse(0x94D049BB133111EB)
	z ^= z>>27 ^ z>>54
	z *= inverse(0xBF58476D1CE4E5B9)
	z ^= z>>30 ^ z>>60
	return z - 0xD1342543DE82EF95
}

// inverse returns 1/odd modulo 2⁶⁴ by Newton's iteration.
func inverse(odd uint64) uint64 {
	z := odd
	for range bits.Len(64) {
		z *= 2 - odd*z
	}
	return z
}

func (c *codecCase) checkGrid(t *testing.T) {
	g := mustGrid(t, c.Theta, c.Levels, c.Mode)
	relative(t, "delta", g.Delta(), c.Delta)
	relative(t, "modulus", g.Modulus(), c.B)
	relative(t, "step", g.Step(), c.Step)
}

// checkNoise checks that the listed uniforms are those that the codec draws from the seed.
func (c *codecCase) checkNoise(t *testing.T) {
	if c.U == nil {
		return
	}
	stream := uint64(c.Seed)
	if c.Mode == "stochastic" && rng.Stream(seedOf(stream), 0) != stream {
		t.Fatalf("no seed for stream %d", stream)
	}
	key := rng.At(stream, c.Round)
	for i, want := range c.U {
		if got := float64(key.Uniform(uint32(i))); got != want {
			t.Fatalf("u[%d] = %v, want %v", i, got, want)
		}
	}
}

func (c *codecCase) checkSender(t *testing.T) {
	codec := c.codec(t)
	k, quotients := make([]int32, len(c.X)), make([]int32, len(c.X))
	if err := codec.Indices(k, c.Round, c.X); err != nil {
		t.Fatal(err)
	}
	equal(t, "k", k, c.K)
	codec.Quotients(quotients, c.Round, k)
	equal(t, "quotients", quotients, c.Quotients)
	c.checkValues(t, codec, k, c.Value)
	if got := hashOf(k); got != c.HashK {
		t.Errorf("hash of k: %s, want %s", got, c.HashK)
	}

	payload := mustEncode(t, codec, c.Round, c.X)
	if len(payload) != c.PayloadBytes {
		t.Errorf("payload of %d bytes, want %d", len(payload), c.PayloadBytes)
	}
	if got := hex.EncodeToString(payload); got != c.PackedHex {
		t.Errorf("payload: %s, want %s", got, c.PackedHex)
	}
	packing, err := quant.NewPacking(c.Levels)
	if err != nil {
		t.Fatal(err)
	}
	symbols := make([]uint16, len(c.X))
	if err := packing.Unpack(symbols, payload); err != nil {
		t.Fatal(err)
	}
	equal(t, "symbols", symbols, c.Symbols)
}

func (c *codecCase) checkReceiver(t *testing.T) {
	codec := c.codec(t)
	payload := mustEncode(t, codec, c.Round, c.X)
	k := make([]int32, len(c.X))
	if err := codec.Decode(k, c.Round, c.Y, payload); err != nil {
		t.Fatal(err)
	}
	equal(t, "decoded k", k, c.DecodedK)
	c.checkValues(t, codec, k, c.DecodedValue)
	if got := hashOf(k); got != c.HashDecoded {
		t.Errorf("hash of the decoded k: %s, want %s", got, c.HashDecoded)
	}
	wrong, violated := []int{}, []int{}
	for i := range k {
		if k[i] != c.K[i] {
			wrong = append(wrong, i)
		}
		if distance := float64(c.X[i]) - float64(c.Y[i]); max(distance, -distance) >= c.Theta {
			violated = append(violated, i)
		}
	}
	equal(t, "wrong", wrong, c.Wrong)
	equal(t, "theta violated", violated, c.ThetaViolated)
	if (c.HashK == c.HashDecoded) != (len(wrong) == 0) {
		t.Errorf("the hashes %s and %s do not tell that %v are wrong", c.HashK, c.HashDecoded, wrong)
	}

	// With x as the reference, decoding returns the sender's own indices.
	if err := codec.Decode(k, c.Round, c.X, payload); err != nil {
		t.Fatal(err)
	}
	equal(t, "own k", k, c.K)
}

// checkMix checks that mixing uses the same indices as Decode.
func (c *codecCase) checkMix(t *testing.T) {
	sender := c.codec(t)
	receiver := *sender
	receiver.Rank = 1
	mine := mustEncode(t, &receiver, c.Round, c.Y)
	own := make([]int32, len(c.Y))
	if err := receiver.Indices(own, c.Round, c.Y); err != nil {
		t.Fatal(err)
	}
	acc := make([]float32, len(c.Y))
	if _, err := receiver.Mix(acc, c.Round, c.Y, mine, []algos.Message{
		{From: 0, Weight: 0.25, Payload: mustEncode(t, sender, c.Round, c.X)},
	}); err != nil {
		t.Fatal(err)
	}
	for i, got := range acc {
		near(t, fmt.Sprintf("increment of coordinate %d", i), float64(got), 0.25*c.Step*float64(c.DecodedK[i]-own[i]), 1e-6)
	}
}

func (c *codecCase) checkValues(t *testing.T, codec *moniqua.Codec, k []int32, want []float64) {
	t.Helper()
	got := make([]float64, len(k))
	if err := codec.Values(got, c.Round, k); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		near(t, fmt.Sprintf("value of coordinate %d", i), got[i], want[i], 1e-9)
	}
}

func mustEncode(t *testing.T, codec *moniqua.Codec, k int, x []float32) []byte {
	t.Helper()
	payload, err := codec.Encode(nil, k, x)
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
