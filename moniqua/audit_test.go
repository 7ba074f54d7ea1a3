package moniqua

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/algos"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/rng"
	"gossiptrainer/topology"
)

// An audit counts the messages for which Decode gives other indices than the sender's. Payloads and models equal those
// of codecs without an audit.
func TestAnAuditCountsWrongRecoveries(t *testing.T) {
	const dim, rounds = 300, 40
	for _, levels := range []int{2, 5, 16, 256, 1000} {
		audit := NewAudit()
		seen, plain := codecPair(levels, audit), codecPair(levels, nil)
		var wrong [2]int64
		for k := range rounds {
			x := [2][]float32{apart(dim, k, 0), apart(dim, k, 1)}
			var sent [2][]byte
			for i := range x {
				sent[i] = mustEncode(t, seen[i], k, x[i])
				if !slices.Equal(sent[i], mustEncode(t, plain[i], k, x[i])) {
					t.Fatalf("%d levels: another payload", levels)
				}
			}
			for i := range x {
				if !slices.Equal(mixedWith(t, seen[i], k, x[i], sent[i], sent[1-i]),
					mixedWith(t, plain[i], k, x[i], sent[i], sent[1-i])) {
					t.Fatalf("%d levels: the audit changes the model", levels)
				}
				own, got := make([]int32, dim), make([]int32, dim)
				if err := plain[1-i].Indices(own, k, x[1-i]); err != nil {
					t.Fatal(err)
				}
				if err := plain[i].Decode(got, k, x[i], sent[1-i]); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, own) {
					wrong[i]++
				}
			}
		}
		for i, want := range wrong {
			if got := audit.Wrong(topology.Rank(i)); got != want || got == 0 || got == rounds {
				t.Errorf("%d levels: worker %d: %d messages, want %d, some but not all", levels, i, got, want)
			}
			if got := seen[i].ExtraMemory(); got != 0 {
				t.Errorf("%d levels: %d bytes of extra memory", levels, got)
			}
		}
	}
}

// The hashes of a worker are those of its own messages, in the order of seed and piece, and survive a reload. An oracle
// looks for them among the hashes of all workers.
func TestTheHashesOfEachWorkerAreItsOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		audit, all := NewAudit(), map[audited][2]sealed{}
		for k := range rapid.IntRange(1, 100).Draw(t, "messages") {
			sender := audited{
				rapid.SampledFrom([]uint64{0, 7, math.MaxUint64}).Draw(t, "seed"),
				topology.Rank(rapid.IntRange(0, 4).Draw(t, "from")),
				rapid.IntRange(0, 5).Draw(t, "first"),
			}
			audit.enter(sender, k, uint64(k+1))
			all[sender] = [2]sealed{{k, uint64(k + 1)}, all[sender][0]}
		}
		for rank := range topology.Rank(5) {
			var want []piece
			for sender, last := range all {
				if sender.from == rank {
					want = append(want, piece{sender, last})
				}
				if got := audit.of(sender); got != last {
					t.Fatalf("%v: %v, want %v", sender, got, last)
				}
			}
			slices.SortFunc(want, func(a, b piece) int {
				return cmp.Or(cmp.Compare(a.seed, b.seed), cmp.Compare(a.first, b.first))
			})
			var s state.Snapshot
			s.Save("counts", audit.All(rank))
			again := NewAudit()
			if err := s.Load("counts", again.All(rank)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(audit.sent[rank], want) || !slices.Equal(again.sent[rank], want) {
				t.Fatalf("worker %d: %v, reloaded %v, want %v", rank, audit.sent[rank], again.sent[rank], want)
			}
		}
	})
}

// codecPair returns the codecs of two workers.
func codecPair(levels int, audit *Audit) (c [2]*Codec) {
	for i := range c {
		c[i] = &Codec{Levels: levels, Theta: func(int) float64 { return 0.1 }, Seed: 3, Rank: topology.Rank(i),
			Audit: audit}
	}
	return c
}

// mixedWith returns x after it is mixed with the other worker's message.
func mixedWith(t *testing.T, c *Codec, k int, x []float32, mine, theirs []byte) []float32 {
	t.Helper()
	x = slices.Clone(x)
	if _, err := c.Mix(x, k, x, mine, []algos.Message{{From: 1 - c.Rank, Weight: 0.5, Payload: theirs}}); err != nil {
		t.Fatal(err)
	}
	return x
}

// apart returns the model of one of two workers. In every other round all their coordinates are within theta of each
// other.
func apart(dim, k, i int) []float32 {
	common, own := rng.At(9, k), rng.At(uint64(10+i), k)
	x, reach := make([]float32, dim), float32(0.09)
	if k%2 == 1 {
		reach = 0.5
	}
	for c := range x {
		x[c] = 4*common.Uniform(uint32(c)) - 2 + reach*own.Uniform(uint32(c))
	}
	return x
}
