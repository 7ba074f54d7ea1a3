package council

import (
	"testing"
	"time"

	"gossiptrainer/gossip/view"
	"gossiptrainer/topology"
)

// A listener is a host that counts.
type listener struct{ closes, views int }

func (l *listener) Close(view.Close)    { l.closes++ }
func (l *listener) View(view.Record)    { l.views++ }
func (l *listener) Over() bool          { return false }
func (l *listener) Report() view.Report { return view.Report{Promise: 3, Next: 2, State: true} }

func alone(t *testing.T) (*Council, *listener) {
	t.Helper()
	base := topology.Spec{Kind: topology.Ring, Slack: 1}
	log, err := view.New(base, view.Record{Members: []view.Member{{ID: 0, Name: "attic"}}})
	if err != nil {
		t.Fatal(err)
	}
	host := new(listener)
	c, err := Found(Options{Base: base, Beat: time.Millisecond, Patience: 10 * time.Millisecond, Grace: time.Second,
		Most: 4}, log, host)
	if err != nil {
		t.Fatal(err)
	}
	return c, host
}

func TestVotersAreTheOldestAndOdd(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 1, 3: 3, 4: 3, 7: 7, 8: 7} {
		ids := make([]ID, n)
		for i := range ids {
			ids[i] = ID(2 * i)
		}
		voters, learners := electorate(ids)
		if len(voters) != want || len(voters)+len(learners) != n || voters[0] != 0 {
			t.Errorf("%d members: voters %v, the others %v", n, voters, learners)
		}
	}
}

// A member alone leads, decides by itself, and admits a newcomer.
func TestOneMemberDecidesAlone(t *testing.T) {
	c, host := alone(t)
	for now := time.Duration(0); now < 40*time.Millisecond; now += time.Millisecond {
		if err := c.Tick(now); err != nil {
			t.Fatal(err)
		}
	}
	if !c.Leads() || c.Waits() {
		t.Fatal("a member alone does not lead")
	}
	c.Ask(Newcomer{Member: view.Member{Name: "loft"}, Process: 9})
	for now := 40 * time.Millisecond; now < 45*time.Millisecond; now += time.Millisecond {
		if err := c.Tick(now); err != nil {
			t.Fatal(err)
		}
	}
	if id, ok := c.Admitted(9); !ok || id != 1 {
		t.Errorf("the newcomer has the id %d, %v", id, ok)
	}
	for now := 45 * time.Millisecond; now < 80*time.Millisecond; now += time.Millisecond {
		if err := c.Receive(1, Message{Word: &Word{}}); err != nil {
			t.Fatal(err)
		}
		if err := c.Tick(now); err != nil {
			t.Fatal(err)
		}
	}
	r := c.Log().Last()
	if host.closes != 1 || host.views != 1 || r.View != 1 || r.First != 3 || r.Why != "machine loft joins" {
		t.Errorf("%d changes, %d records, the last %+v", host.closes, host.views, *r)
	}
}

func TestMessagesWithoutSenseAreDropped(t *testing.T) {
	c, _ := alone(t)
	for _, m := range []Message{{}, {Raft: []byte("x")}, {Raft: []byte{8, 200}}, {Word: &Word{Seq: 7}}} {
		if err := c.Receive(5, m); err != nil {
			t.Errorf("%+v: %v", m, err)
		}
	}
}
