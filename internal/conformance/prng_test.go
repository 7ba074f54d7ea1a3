package conformance

import (
	"slices"
	"strconv"
	"testing"

	"gossiptrainer/internal/rng"
)

func TestConformancePRNG(t *testing.T) {
	var file struct {
		Cases []struct {
			Seed    uint64 `json:",string"`
			Peer    int
			Stream  uint64 `json:",string"`
			Round   int
			Raw     []string
			U       []float64
			SharedU []float64 `json:"shared_u"`
		}
		RandomK []struct {
			Seed        uint64 `json:",string"`
			Round, D, K int
			Indices     []uint32
		}
	}
	Load(t, "prng.json", &file)
	for _, c := range file.Cases {
		if got := rng.Stream(c.Seed, c.Peer); got != c.Stream {
			t.Errorf("Stream(%d, %d) = %d, want %d", c.Seed, c.Peer, got, c.Stream)
		}
		own, shared := rng.At(c.Stream, c.Round), rng.At(c.Seed, c.Round)
		for i, want := range c.Raw {
			if got := strconv.FormatUint(uint64(own.Raw(uint32(i))), 10); got != want {
				t.Errorf("seed %d: raw(%d) = %s, want %s", c.Seed, i, got, want)
			}
		}
		for i, want := range c.U {
			if got := float64(own.Uniform(uint32(i))); got != want {
				t.Errorf("seed %d: u(%d) = %v, want %v", c.Seed, i, got, want)
			}
		}
		for i, want := range c.SharedU {
			if got := float64(shared.Uniform(uint32(i))); got != want {
				t.Errorf("seed %d: shared u(%d) = %v, want %v", c.Seed, i, got, want)
			}
		}
	}
	for _, c := range file.RandomK {
		if got := rng.RandomK(nil, c.Seed, c.Round, c.D, c.K); !slices.Equal(got, c.Indices) {
			t.Errorf("RandomK(d=%d, k=%d) in round %d = %v, want %v", c.D, c.K, c.Round, got, c.Indices)
		}
	}
	if len(file.Cases) == 0 || len(file.RandomK) == 0 {
		t.Error("prng.json: no cases")
	}
}
