package follow_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/gossip/follow"
	_ "gossiptrainer/internal/proptest"
	"gossiptrainer/topology"
)

func graph(t interface{ Fatal(...any) }, kind topology.Kind, n int, seed uint64) *topology.Graph {
	g, err := topology.New(topology.Spec{Kind: kind, N: n, Slack: 1, Seed: seed, Exchanges: 50})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A worker opens every link as many exchanges ahead as its links allow, keeps it until the meeting, and has never more
// of them than it may.
func TestLinksAreOpenedAheadAndBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]topology.Kind{
			topology.RandomMatching, topology.RandomShift, topology.OnePeerExponential, topology.Base2,
		}).Draw(t, "kind")
		n, most := rapid.IntRange(3, 24).Draw(t, "n"), rapid.IntRange(2, 12).Draw(t, "most")
		exchanges := rapid.IntRange(1, 60).Draw(t, "exchanges")
		g := graph(t, kind, n, rapid.Uint64().Draw(t, "seed"))
		rows := g.Sequence(topology.Rank(rapid.IntRange(0, n-1).Draw(t, "worker")))
		links := follow.New(rows, most, exchanges)
		if all := len(rows.Neighbours()) <= most; links == nil {
			if !all {
				t.Fatal("all links stay open")
			}
			return
		}
		since := map[topology.Rank]int{} // the exchange in which each link was opened
		for s := rapid.IntRange(0, exchanges-1).Draw(t, "first"); s < exchanges; s++ {
			open, rest := links.At(s)
			for _, rank := range rest {
				if _, was := since[rank]; !was {
					t.Fatalf("exchange %d: the link to %d rests, but was not open", s, rank)
				}
				delete(since, rank)
			}
			for _, rank := range open {
				if _, was := since[rank]; was {
					t.Fatalf("exchange %d: the link to %d is opened twice", s, rank)
				}
				since[rank] = s
			}
			if len(since) > most {
				t.Fatalf("exchange %d: %d links are open, at most %d may be", s, len(since), most)
			}
			// Two partners in each exchange at most, and a quarter of the links is for hysteresis.
			for ahead := 0; ahead < (most-most/4)/2 && s+ahead < exchanges; ahead++ {
				for _, rank := range rows.At(s + ahead).Neighbours() {
					if _, is := since[rank]; !is || !links.Wants(rank) {
						t.Fatalf("exchange %d: no link to %d, whom it meets in %d", s, rank, s+ahead)
					}
				}
			}
		}
	})
}

// A link is not opened for an exchange that the run does not have.
func TestNoLinkIsOpenedBeyondTheEnd(t *testing.T) {
	rows := graph(t, topology.RandomMatching, 20, 1).Sequence(0)
	links := follow.New(rows, 8, 3)
	open, _ := links.At(0)
	if len(open) > 3 {
		t.Errorf("%d links for three exchanges", len(open))
	}
	if open, rest := links.At(3); len(open) > 0 || len(rest) == 0 {
		t.Errorf("after the last exchange %v are opened, and %v rest", open, rest)
	}
}

// A neighbour can be behind by some exchanges. Two workers that met in one of them are in each other's lists.
func TestTheLastPartnersAreMutual(t *testing.T) {
	const n, s = 12, 40
	for _, kind := range []topology.Kind{topology.RandomMatching, topology.RandomShift} {
		g := graph(t, kind, n, 3)
		last := make([][]topology.Rank, n)
		for i := range last {
			last[i] = follow.New(g.Sequence(topology.Rank(i)), 3, 0).Last(nil, s)
		}
		for i, these := range last {
			if len(these) == 0 {
				t.Errorf("%v: worker %d has met nobody", kind, i)
			}
			for _, j := range these {
				if !slices.Contains(last[j], topology.Rank(i)) {
					t.Errorf("%v: worker %d has met %d, which denies it", kind, i, j)
				}
			}
		}
	}
}

func TestFewNeighboursKeepAllLinks(t *testing.T) {
	for _, kind := range []topology.Kind{topology.Complete, topology.OnePeerExponential, topology.RandomMatching} {
		rows := graph(t, kind, 33, 1).Sequence(5)
		if links := follow.New(rows, follow.Default, 100); links != nil {
			t.Errorf("%v: links rest, although there are at most %d", kind, follow.Default)
		}
	}
	if follow.New(graph(t, topology.RandomMatching, 34, 1).Sequence(5), follow.Default, 100) == nil {
		t.Error("all links stay open, although there are 33")
	}
}
