package join

import (
	"fmt"
	"slices"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"pgregory.net/rapid"

	_ "gossiptrainer/internal/proptest"
	"gossiptrainer/node/handshake"
)

// Peers that discover each other in any order, and whose ballots take any time, agree on one set of
// exactly n. The other peers are left out. Members that hold the state of a rank keep it.
func TestAssemblyAgreesInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "n")
		peers := n + rapid.IntRange(0, min(3, n-1)).Draw(t, "too many")
		ids := make([]peer.ID, peers)
		as := make([]assembly, peers)
		for i := range ids {
			ids[i] = peer.ID(fmt.Sprintf("peer %d", i))
			as[i] = newAssembly(ids[i], n)
		}
		held := make([]int, peers) // a few hold the state of a rank, no two that of the same
		ranks := rapid.Permutation([]int{0, 1, 2, 3, 4}[:n]).Draw(t, "ranks")
		for i := range held {
			held[i] = handshake.Unranked
			if len(ranks) > 0 && rapid.Bool().Draw(t, "holds") {
				held[i], ranks = ranks[0], ranks[1:]
			}
			as[i].holds(ids[i], held[i])
		}
		// queue[i][j] holds the ballots from i that j has not received.
		queue := make([][][]ballot, peers)
		linked := make([][]bool, peers)
		for i := range queue {
			queue[i], linked[i] = make([][]ballot, peers), make([]bool, peers)
		}
		follow := func(i int) {
			if !as[i].step() {
				return
			}
			for j := range peers {
				if linked[i][j] {
					queue[i][j] = append(queue[i][j], as[i].mine)
				}
			}
		}
		type move struct{ from, to int }
		for {
			var moves []move // possible meetings, and ballots to deliver
			for i := range peers {
				for j := range peers {
					if i < j && !linked[i][j] || len(queue[i][j]) > 0 {
						moves = append(moves, move{i, j})
					}
				}
				follow(i)
			}
			if len(moves) == 0 {
				break
			}
			m := moves[rapid.IntRange(0, len(moves)-1).Draw(t, "move")]
			i, j := m.from, m.to
			if q := queue[i][j]; len(q) > 0 {
				as[j].others[ids[i]], queue[i][j] = q[0], q[1:]
				follow(j)
				continue
			}
			linked[i][j], linked[j][i] = true, true
			as[i].others[ids[j]], as[j].others[ids[i]] = ballot{}, ballot{}
			as[i].holds(ids[j], held[j])
			as[j].holds(ids[i], held[i])
			queue[i][j] = append(queue[i][j], as[i].mine)
			queue[j][i] = append(queue[j][i], as[j].mine)
			follow(i)
			follow(j)
		}
		var set []peer.ID
		for i := range as {
			if as[i].mine.phase != committed {
				continue
			}
			if set == nil {
				set = as[i].mine.set
			}
			if !slices.Equal(as[i].mine.set, set) {
				t.Fatalf("%v agreed on %v, another on %v", ids[i], as[i].mine.set, set)
			}
		}
		if len(set) != n {
			t.Fatalf("agreed on %d members, want %d: %+v", len(set), n, as)
		}
		for i := range as {
			if at := slices.Index(set, ids[i]); at >= 0 && held[i] != handshake.Unranked && at != held[i] {
				t.Errorf("%v holds the state of rank %d, and has rank %d", ids[i], held[i], at)
			}
			if in := slices.Contains(set, ids[i]); in != (as[i].mine.phase == committed) {
				t.Errorf("%v: member %v, phase %v", ids[i], in, as[i].mine.phase)
			}
		}
	})
}

// A machine that takes the place of another one gets the vacant rank, whatever its id is.
func TestANewcomerGetsTheVacantRank(t *testing.T) {
	for name, test := range map[string]struct {
		held map[peer.ID]int
		want []peer.ID
		new  []peer.ID
	}{
		"a fresh run":              {nil, []peer.ID{"a", "b", "c"}, nil},
		"all hold their ranks":     {map[peer.ID]int{"a": 2, "b": 0, "c": 1}, []peer.ID{"b", "c", "a"}, nil},
		"the newcomer sorts first": {map[peer.ID]int{"b": 0, "c": 2}, []peer.ID{"b", "a", "c"}, []peer.ID{"a"}},
		"the newcomer sorts last":  {map[peer.ID]int{"a": 1, "b": 2}, []peer.ID{"c", "a", "b"}, []peer.ID{"c"}},
		"two newcomers":            {map[peer.ID]int{"b": 1}, []peer.ID{"a", "b", "c"}, []peer.ID{"a", "c"}},
	} {
		a := newAssembly("b", 3)
		for id, rank := range test.held {
			a.holds(id, rank)
		}
		a.others["a"], a.others["c"] = ballot{}, ballot{}
		a.step()
		if !slices.Equal(a.mine.set, test.want) || !slices.Equal(a.newcomers(), test.new) {
			t.Errorf("%s: %v with newcomers %v, want %v with %v", name, a.mine.set, a.newcomers(), test.want, test.new)
		}
	}
	a := newAssembly("c", 3)
	a.holds("a", 1)
	a.holds("b", 1)
	a.others["a"], a.others["b"] = ballot{}, ballot{}
	if a.step(); a.mine.phase != gathering {
		t.Errorf("proposes %v, with two peers of one rank", a.mine.set)
	}
}

func TestAssemblyMemberThatForgotIsTakenBack(t *testing.T) {
	a := newAssembly("b", 2)
	a.others["a"] = ballot{}
	a.others["c"] = ballot{committed, []peer.ID{"b", "c"}}
	a.step()
	if a.mine.phase != committed || !slices.Equal(a.mine.set, []peer.ID{"b", "c"}) {
		t.Errorf("got %+v, want the set of c", a.mine)
	}
}

func TestAssemblyLeavesASmallerSetThatCannotBe(t *testing.T) {
	// c is ready for {b, c, d}; b, which knows a as well, must not wait for {a, b, c}.
	a := newAssembly("b", 3)
	a.others = map[peer.ID]ballot{"a": {}, "d": {}, "c": {ready, []peer.ID{"b", "c", "d"}}}
	a.step()
	if want := []peer.ID{"b", "c", "d"}; !slices.Equal(a.mine.set, want) {
		t.Errorf("for %v, want %v", a.mine.set, want)
	}
}

func FuzzBallot(f *testing.F) {
	f.Add(ballot{}.append(nil), 2)
	f.Add(ballot{proposed, []peer.ID{"a", "b"}}.append(nil), 2)
	f.Add(ballot{proposed, []peer.ID{"b", "a"}}.append(nil), 2)
	f.Add(ballot{proposed, []peer.ID{"a", "a"}}.append(nil), 2)
	f.Fuzz(func(t *testing.T, text []byte, n int) {
		b, err := parseBallot(text, n)
		if err != nil {
			return
		}
		sorted := slices.Sorted(slices.Values(b.set))
		if b.phase != gathering && len(b.set) != n || len(slices.Compact(sorted)) != len(b.set) {
			t.Fatalf("accepted %+v in a run of %d", b, n)
		}
		if again := b.append(nil); !slices.Equal(again, text) {
			t.Fatalf("%x became %x", text, again)
		}
	})
}
