package council

import (
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/rng"
	"gossiptrainer/topology"
)

// A listener is a host that counts.
type listener struct {
	id            ID
	closes, views int
}

func (l *listener) Close(view.Close) { l.closes++ }
func (l *listener) View(view.Record) { l.views++ }
func (l *listener) Over() bool       { return false }
func (l *listener) Exchanges() int   { return 100 }
func (l *listener) Report() view.Report {
	return view.Report{ID: l.id, Promise: 3, Next: 2, State: true}
}

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

// A guest makes up reports, newcomers and deaths, or says nothing about a change. The trainer takes it for dead, says
// why, and goes on.
func TestALyingGuestIsTakenForDead(t *testing.T) {
	good := view.Report{ID: 1, Promise: 3, Next: 2, State: true}
	far, other, early := good, good, good
	far.Promise, far.Next, other.ID, early.Promise = 1<<30, 1<<30, 0, 99
	trainer := view.Member{Name: "attic", Key: "key of attic"}
	for name, test := range map[string]struct {
		word Word
		why  string // "": the guest is a member as before
	}{
		"an exchange after the run": {Word{Report: far}, "machine loft sent a report that cannot be true"},
		"a promise too large":       {Word{Report: early}, "machine loft sent a report that cannot be true"},
		"the report of the trainer": {Word{Report: other}, "machine loft sent a report that cannot be true"},
		"the trainer again":         {Word{Report: good, Asks: []Newcomer{{trainer, 10}}}, "machine attic joins"},
		"a name of a megabyte": {
			Word{Report: good, Asks: []Newcomer{{view.Member{Name: strings.Repeat("x", 1<<20)}, 11}}}, "",
		},
		"a farewell": {Word{Bye: true}, ""},
		"no answer": {
			Word{Report: good, Asks: []Newcomer{{view.Member{Name: "shed"}, 12}}},
			"machine loft did not answer a change for 1s; machine shed joins",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := alone(t)
			now := time.Duration(0)
			tick := func(n int, words map[ID]Word) {
				for range n {
					for from, w := range words {
						if err := c.Receive(from, Message{Word: &w}); err != nil {
							t.Fatal(err)
						}
					}
					now += time.Millisecond
					if err := c.Tick(now); err != nil {
						t.Fatal(err)
					}
				}
			}
			tick(40, nil)
			c.Ask(Newcomer{Member: view.Member{Name: "loft"}, Process: 9})
			tick(5, nil)
			tick(30, map[ID]Word{1: {}})
			views := c.Log().Len()
			words := map[ID]Word{1: test.word}
			if len(test.word.Asks) > 0 {
				words[2] = Word{}
			}
			tick(2000, words)
			last := c.Log().Last()
			if _, member := last.Rank(0); !member || !c.Leads() || c.Done(0) {
				t.Fatalf("the trainer is not a member any more: %+v", *last)
			}
			switch {
			case test.why == "" && c.Log().Len() != views:
				t.Errorf("a view with the reason %q", last.Why)
			case test.why != "" && !strings.Contains(reasonsOf(c.Log()), test.why):
				t.Errorf("reasons %q, want %q", reasonsOf(c.Log()), test.why)
			}
		})
	}
}

func reasonsOf(log *view.Log) (all string) {
	for v := range log.Len() {
		all += log.At(v).Why + "\n"
	}
	return all
}

// A trainer goes on leading whatever messages of raft its guest sends.
func FuzzAGuestEndsNoTerm(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		c, _ := alone(t)
		now := time.Duration(0)
		tick := func(n int) {
			for range n {
				now += time.Millisecond
				if err := c.Tick(now); err != nil {
					t.Fatal(err)
				}
			}
		}
		tick(40)
		c.Ask(Newcomer{Member: view.Member{Name: "loft"}, Process: 9})
		tick(5)
		term := c.node.BasicStatus().GetTerm()
		for i := range 60 {
			data, err := proto.Marshal(anyMessage(rng.At(seed, i), 1, 0, term))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Receive(1, Message{Raft: data}); err != nil {
				t.Fatal(err)
			}
			if tick(1); !c.Leads() || c.node.BasicStatus().GetTerm() != term {
				t.Fatalf("message %d of seed %d has ended the term of the trainer", i, seed)
			}
		}
	})
}

// A follower drops what its leader cannot have sent, and does not end.
func FuzzAFollowerTakesNoNonsense(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		base := topology.Spec{Kind: topology.Ring, Slack: 1}
		log, err := view.New(base, view.Record{Members: []view.Member{{ID: 0, Name: "attic"}, {ID: 1, Name: "loft"}}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := Found(Options{ID: 1, Base: base, Beat: time.Millisecond, Patience: time.Second, Grace: time.Minute,
			Most: 4}, log, new(listener))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 60 {
			m := anyMessage(rng.At(seed, i), 0, 1, 1)
			if m.GetType() == pb.MsgSnap || len(m.GetEntries()) > 0 {
				continue // entries of the leader itself bind its followers
			}
			data, err := proto.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Receive(0, Message{Raft: data}); err != nil {
				t.Fatalf("message %d of seed %d: %v", i, seed, err)
			}
		}
	})
}

// anyMessage draws a message of raft with small numbers, which are the ones that may fit.
func anyMessage(key rng.Key, from, to ID, term uint64) *pb.Message {
	at := uint32(0)
	draw := func(n int) uint64 {
		at++
		return uint64(float64(key.Uniform(at)) * float64(n))
	}
	kind := pb.MessageType(draw(int(pb.MsgForgetLeader) + 1))
	m := &pb.Message{
		Type: &kind, From: new(raftID(from)), To: new(raftID(to)), Term: new(term + draw(4) - 1), Index: new(draw(8)),
		LogTerm: new(draw(4)), Commit: new(draw(8)), Reject: new(draw(2) == 1), RejectHint: new(draw(12)),
	}
	for range draw(3) {
		m.Entries = append(m.Entries, &pb.Entry{Index: new(draw(8)), Term: new(draw(4))})
	}
	if draw(4) == 0 {
		m.Snapshot = &pb.Snapshot{Data: []byte("{}"), Metadata: &pb.SnapshotMetadata{Index: new(draw(9)), Term: new(draw(3))}}
	}
	return m
}

// A leader may tell a leaver alone that it votes no more, and die. Those that remain find a leader.
func TestALeaverPassesOnWhatIsDecided(t *testing.T) {
	base := topology.Spec{Kind: topology.Ring, Slack: 1}
	first := view.Record{Members: []view.Member{{ID: 0}, {ID: 1}, {ID: 2}, {ID: 3}}}
	var all []*Council
	for id := range ID(4) {
		log, err := view.New(base, first)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Found(Options{ID: id, Base: base, Beat: time.Millisecond, Patience: 10 * time.Millisecond,
			Grace: 50 * time.Millisecond, Most: 4}, log, &listener{id: id})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	leader, leaver := -1, 2
	settled := func(c *Council) bool { return c.log.Len() > 1 && len(c.conf.GetVotersOutgoing()) == 0 }
	longer := func() bool { // the leaver has an entry more than those that remain
		last, err := all[leaver].store.LastIndex()
		return err == nil && settled(all[leaver]) && last > all[leaver].node.BasicStatus().GetCommit()
	}
	now, dead := time.Duration(0), false
	for range 400 {
		now += time.Millisecond
		for i, c := range all {
			if dead && i == leader {
				continue
			}
			if err := c.Tick(now); err != nil {
				t.Fatal(err)
			}
			if i == leader && settled(c) {
				c.Ask(Newcomer{Process: 9})
			}
			if c.Leads() && leader < 0 {
				if leader = i; i == leaver {
					t.Skip("the leaver leads")
				}
				all[leaver].Leave()
			}
		}
		for sent := true; sent; {
			sent = false
			for i, c := range all {
				for _, e := range c.Take() {
					dead = dead || leader >= 0 && longer()
					lost := i == leader && settled(c) && int(e.To) != leaver
					if sent = true; lost || dead && (i == leader || int(e.To) == leader) {
						continue
					}
					if err := all[e.To].Receive(ID(i), e.Message); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	if !dead {
		t.Fatal("the leader did not tell the leaver that the view has begun")
	}
	for i, c := range all {
		if i != leader && i != leaver && !settled(c) {
			t.Errorf("member %d does not know that the change is over: voters %v and %v", i, c.conf.GetVoters(),
				c.conf.GetVotersOutgoing())
		}
		if id, led := c.Leader(); i != leader && i != leaver && (!led || int(id) == leader || int(id) == leaver) {
			t.Errorf("member %d has no leader: %d, %v", i, id, led)
		}
	}
}
