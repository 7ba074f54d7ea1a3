package join

import (
	"fmt"
	"slices"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"pgregory.net/rapid"

	_ "gossiptrainer/internal/proptest"
)

// Peers that discover each other in any order, and whose ballots take any time, agree on one set of
// exactly n. The other peers are left out.
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
			if in := slices.Contains(set, ids[i]); in != (as[i].mine.phase == committed) {
				t.Errorf("%v: member %v, phase %v", ids[i], in, as[i].mine.phase)
			}
		}
	})
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
	f.Fuzz(func(t *testing.T, text []byte, n int) {
		b, err := parseBallot(text, n)
		if err != nil {
			return
		}
		if b.phase != gathering && len(b.set) != n || !slices.IsSorted(b.set) {
			t.Fatalf("accepted %+v in a run of %d", b, n)
		}
		if again := b.append(nil); !slices.Equal(again, text) {
			t.Fatalf("%x became %x", text, again)
		}
	})
}
