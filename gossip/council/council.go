// Package council lets the members of a run agree on its views: the members and the exchange from which on they are it.
// A Council is the part of one member, a deterministic machine around the library raft, without clock or socket:
//
//	c := council.Found(options, host)        // or Join
//	c.Tick(now)
//	c.Receive(from, message)
//	for _, e := range c.Take() {             // the messages to send
//		send(e.To, e.Message)
//	}
//
// A change takes two entries of the common log. CLOSE says who is suspected, joins and leaves: each member promises the
// first exchange that it will not begin, and reports. VIEW is the record that view.Decide makes of all reports. It is
// also raft's change of configuration, so a majority of the voters of the view before decides it. Voters are the oldest
// members, an odd number: a guest that crashes stops no other.
//
// raft keeps its state in memory only: no process comes back under its id, so no vote is forgotten.
package council

import (
	"fmt"
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/rng"
	"gossiptrainer/topology"
)

// ID is that of a member.
type ID = view.ID

// A Host is the member around a Council. It learns what all members learn, in the same order.
type Host interface {
	// Close is called when a CLOSE is applied. From then on the host takes no frames of the fence and keeps its promise.
	Close(c view.Close)
	// View is called when a record is applied, which the log then has. The promise is over.
	View(r view.Record)
	// Report returns the report for the open CLOSE, and as much as is true without one.
	Report() view.Report
	// Over reports whether all exchanges are over for the host. Then it closes no change but one without the dead.
	Over() bool
	// Exchanges returns the number of exchanges of the run, 0 where workers share none. No report has larger ones.
	Exchanges() int
}

// Options are those of a Council. Times are durations of the clock of Tick.
type Options struct {
	ID       ID
	Seed     uint64        // of the run: draws how long a member waits for a leader
	Base     topology.Spec // the graph of the run, without a size
	Beat     time.Duration // between two heartbeats of a leader, > 0
	Patience time.Duration // without a leader until a member calls an election, several Beats
	Grace    time.Duration // of silence until a member is suspected, more than Patience
	Margin   int           // exchanges that members may begin after a CLOSE without deaths, ≥ 0
	Most     int           // members, ≥ 1
	Decide   Decide        // nil: view.Decide. Tests plant mistakes here
	Certain  Certain       // nil: nothing needs a certificate
}

// Certain reports whether θ has a certificate after a record. A join waits until it has one. After a death there may be
// none: then θ stays as it was, and the reason of the record says so.
type Certain func(l *view.Log, r view.Record) bool

// A Decide makes a record of the reports of a change, as view.Decide does.
type Decide func(l *view.Log, c view.Close, reports []view.Report) (view.Record, error)

// A Council is the part of one member. It is not safe for concurrent use.
type Council struct {
	o     Options
	host  Host
	node  *raft.RawNode
	store *raft.MemoryStorage
	conf  *pb.ConfState
	minutes
	chair chair

	times  times
	parted bool // a leader has said that this member is out of the run
	own    Word // what this member says to a leader, again and again
	out    []Envelope
	failed error
}

// times are those of this member.
type times struct {
	now, beat time.Duration // the present one, and that of the next heartbeat
	heard     time.Duration // when a leader was last heard
	called    time.Duration // when this member last called an election
	alone     time.Duration // when its leader last said that it hears no majority
	bereft    time.Duration // when its leader last said that no member with a state is there
}

// minutes are what all members know alike after the same entries.
type minutes struct {
	log     *view.Log
	open    *view.Close   // nil: no change is under way
	seq     uint64        // of the open CLOSE: its place in the common log
	waiting []view.Member // have joined, and are in no view yet
	given   map[uint64]ID // the ids of all processes that have joined
	done    map[ID]bool   // leavers that have ended, and newcomers that never came
	next    ID            // the id of the next newcomer
	last    uint64        // the last entry
}

// An Envelope is a message to send.
type Envelope struct {
	To ID
	Message
}

// A Message travels between two councils. One of its parts is there.
type Message struct {
	Raft []byte // of the library
	Word *Word
}

// A Word is what a member says to its leader, until it has an effect.
type Word struct {
	Seq    uint64      // of the CLOSE that Report is about, 0: none
	Report view.Report // also without a CLOSE: Report.State counts
	Leave  bool        // wants to leave
	Stop   bool        // wants to end the run for all
	Done   bool        // has left, and no other needs it
	Asks   []Newcomer  // that want to join
	Bye    bool        // of a leader: the receiver is out of the run
	Alone  bool        // of a leader: it hears no majority of the voters
	Bereft bool        `json:",omitzero"` // of a leader: it hears no member with a state
	Mark   Mark        `json:",omitzero"` // the answer to one that calls an election
}

// A Mark is an entry of the common log that is decided. Of an index and a term there is one entry.
type Mark struct{ Index, Term uint64 }

// A Newcomer is a process that wants to join. The id of its member does not count. A
// member that was taken for dead comes back as another process, with the same key.
type Newcomer struct {
	view.Member
	Process uint64 `json:"process"` // names the process: a number that no other one has
}

// silent drops the lines that raft writes.
type silent struct{}

func (silent) Debug(...any)              {}
func (silent) Debugf(string, ...any)     {}
func (silent) Error(...any)              {}
func (silent) Errorf(string, ...any)     {}
func (silent) Info(...any)               {}
func (silent) Infof(string, ...any)      {}
func (silent) Warning(...any)            {}
func (silent) Warningf(string, ...any)   {}
func (silent) Fatal(v ...any)            { panic(fmt.Sprint(v...)) }
func (silent) Fatalf(f string, v ...any) { panic(fmt.Sprintf(f, v...)) }
func (silent) Panic(v ...any)            { panic(fmt.Sprint(v...)) }
func (silent) Panicf(f string, v ...any) { panic(fmt.Sprintf(f, v...)) }

// raftID returns the number of a member in raft, where 0 is no member.
func raftID(id ID) uint64 { return uint64(id) + 1 }

// never is a number of ticks that do not come: followers are not ticked, because raft draws their patience by itself.
const never = 1 << 30

// Found returns the council of a founder, whose log has view 0. The log of a member that resumes a run has more
// records, and in the last one it is alone.
func Found(o Options, log *view.Log, host Host) (*Council, error) {
	c := &Council{o: o, host: host, store: raft.NewMemoryStorage()}
	c.minutes = minutes{log: log, done: map[ID]bool{}, given: map[uint64]ID{}, next: view.Newest(log) + 1, last: 1}
	for _, id := range view.Leavers(log) {
		c.done[id] = true
	}
	voters, learners := electorate(log.Last().IDs())
	c.conf = &pb.ConfState{}
	for _, id := range voters {
		c.conf.Voters = append(c.conf.Voters, raftID(id))
	}
	for _, id := range learners {
		c.conf.Learners = append(c.conf.Learners, raftID(id))
	}
	data, err := c.minutes.encode()
	if err != nil {
		return nil, err
	}
	err = c.store.ApplySnapshot(&pb.Snapshot{Data: data, Metadata: &pb.SnapshotMetadata{
		ConfState: c.conf, Index: new(uint64(1)), Term: new(uint64(1)),
	}})
	if err != nil {
		return nil, fmt.Errorf("council: %w", err)
	}
	if err := c.store.SetHardState(&pb.HardState{Term: new(uint64(1)), Commit: new(uint64(1))}); err != nil {
		return nil, fmt.Errorf("council: %w", err)
	}
	return c, c.start(1)
}

// Join returns the council of a newcomer, which a JOIN has given the id of o. It gets the log from the others.
func Join(o Options, host Host) (*Council, error) {
	c := &Council{o: o, host: host, store: raft.NewMemoryStorage(), conf: &pb.ConfState{}}
	c.done, c.given = map[ID]bool{}, map[uint64]ID{}
	return c, c.start(0)
}

func (c *Council) start(applied uint64) (err error) {
	c.node, err = raft.NewRawNode(&raft.Config{
		ID: raftID(c.o.ID), ElectionTick: never, HeartbeatTick: 1, Storage: c.store, Applied: applied,
		MaxSizePerMsg: 1 << 20, MaxInflightMsgs: 64, PreVote: true, CheckQuorum: false, StepDownOnRemoval: true,
		DisableProposalForwarding: true, Logger: silent{},
	})
	if err != nil {
		return fmt.Errorf("council: member %d: %w", c.o.ID, err)
	}
	c.chair.reset(c)
	return nil
}

// electorate returns the voters among the members of a view, the oldest, an odd number of them, and the others.
func electorate(ids []ID) (voters, learners []ID) {
	n := len(ids) - (len(ids)+1)%2
	return ids[:n], ids[n:]
}

// Log returns the log of views, nil as long as a newcomer has none. It grows; the caller must not change it.
func (c *Council) Log() *view.Log { return c.log }

// Waiting returns those that have joined, and are in no view yet. The caller must not change it.
func Waiting(c *Council) []view.Member { return c.waiting }

// Open returns the change that is under way, nil if there is none.
func (c *Council) Open() *view.Close { return c.open }

// Done reports whether a leaver has ended. This member may be out of the run without having left.
func (c *Council) Done(id ID) bool { return c.done[id] || id == c.o.ID && c.parted }

// Majority reports whether those for whom alive is true can decide, as far as this member knows.
func (c *Council) Majority(alive func(ID) bool) bool {
	return majority(c.conf.GetVoters(), alive) && majority(c.conf.GetVotersOutgoing(), alive)
}

func majority(voters []uint64, alive func(ID) bool) bool {
	n := 0
	for _, v := range voters {
		if alive(ID(v) - 1) {
			n++
		}
	}
	return len(voters) == 0 || 2*n > len(voters)
}

// Admitted returns the id that a JOIN has given to a process.
func (c *Council) Admitted(process uint64) (ID, bool) {
	id, ok := c.given[process]
	return id, ok
}

// Leads reports whether this member leads.
func (c *Council) Leads() bool { return c.node.BasicStatus().RaftState == raft.StateLeader }

// Leader returns the leader that this member knows.
func (c *Council) Leader() (ID, bool) {
	lead := c.node.BasicStatus().Lead
	return ID(lead) - 1, lead != raft.None
}

// Waits reports whether nothing can be decided now: this member hears no leader, or its leader hears no majority.
func (c *Council) Waits() bool {
	if c.Leads() {
		return !c.chair.hearsMost(c)
	}
	told := c.times.alone > 0 && c.times.now-c.times.alone < c.o.Patience
	return told || c.times.now-c.times.heard > 2*c.o.Patience
}

// hearWhy takes the warning of a leader.
func hearWhy(c *Council, from ID, w *Word) {
	if lead, ok := c.Leader(); !ok || lead != from {
		return
	}
	if w.Alone {
		c.times.alone = c.times.now
	}
	if w.Bereft {
		c.times.bereft = c.times.now
	}
}

// Bereft reports whether the members with a state are silent, and all others wait for one: newcomers, and those that
// leave. Then nothing is decided, unless such a member is heard again.
func Bereft(c *Council) bool {
	if c.Leads() {
		return c.chair.bereft
	}
	return c.times.bereft > 0 && c.times.now-c.times.bereft < c.o.Patience
}

// Leave says that the member wants to leave.
func (c *Council) Leave() { c.own.Leave = true }

// Finish says that the member has left and that no other needs it.
func (c *Council) Finish() { c.own.Done = true }

// Ask has the members decide on a newcomer, whose token and fingerprints this member has checked.
func (c *Council) Ask(n Newcomer) {
	known := func(a Newcomer) bool { return a.Process == n.Process }
	if _, given := c.given[n.Process]; !given && !slices.ContainsFunc(c.own.Asks, known) {
		c.own.Asks = append(c.own.Asks, n)
	}
}

// Tick reports the time. Calls may be as rare as one per Beat.
func (c *Council) Tick(now time.Duration) error {
	if pause := now - c.times.now; pause > c.o.Grace/2 { // this member slept, and no other was silent
		c.times.heard += pause
		c.chair.slept(pause)
	}
	c.times.now = now
	if now >= c.times.beat {
		c.times.beat = now + c.o.Beat
		if c.Leads() {
			c.node.Tick()
		} else if isVoter(c, c.o.ID) && now-max(c.times.heard, c.times.called) > wait(c) {
			c.times.called = now
			_ = c.node.Campaign() // raft says why not: another change is not applied yet
		}
		c.say()
	}
	return c.settle()
}

// isVoter reports whether a member is a voter, as far as this member knows.
func isVoter(c *Council, id ID) bool {
	return slices.Contains(c.conf.GetVoters(), raftID(id)) || slices.Contains(c.conf.GetVotersOutgoing(), raftID(id))
}

// waitStream is the stream of the times that members wait for a leader.
const waitStream = 1<<31 - 6

// wait returns how long this member waits for a leader in the present term.
func wait(c *Council) time.Duration {
	term := int(c.node.BasicStatus().GetTerm())
	u := rng.At(rng.Stream(rng.Stream(c.o.Seed, waitStream), int(c.o.ID)), term).Uniform(0)
	return time.Duration(float64(c.o.Patience) * (1 + float64(u)))
}

// say tells the leader what this member has to say.
func (c *Council) say() {
	w := c.word()
	if c.Leads() {
		c.chair.hear(c, c.o.ID, w)
		tellWhy(c)
	} else if lead, ok := c.Leader(); ok {
		c.send(lead, Message{Word: &w})
	}
}

// tellWhy tells the members that hear this leader why nothing is decided: they could not know it.
func tellWhy(c *Council) {
	w := Word{Alone: c.Waits(), Bereft: c.chair.bereft}
	if !w.Alone && !w.Bereft {
		return
	}
	to := c.watched()
	for _, m := range c.waiting {
		to = append(to, m.ID)
	}
	for _, id := range to {
		if id != c.o.ID {
			c.send(id, Message{Word: &w})
		}
	}
}

func (c *Council) word() Word {
	w := c.own
	if c.log != nil {
		w.Report = c.host.Report()
	}
	if c.open != nil {
		w.Seq = c.seq
	}
	c.own.Asks = slices.DeleteFunc(slices.Clone(w.Asks), func(n Newcomer) bool {
		_, ok := c.Admitted(n.Process)
		return ok
	})
	w.Asks = c.own.Asks
	return w
}

func (c *Council) send(to ID, m Message) { c.out = append(c.out, Envelope{to, m}) }

// Parted says that messages to a member are lost.
func (c *Council) Parted(peer ID) { c.node.ReportUnreachable(raftID(peer)) }

// Receive takes a message. A message that makes no sense is dropped.
func (c *Council) Receive(from ID, m Message) error {
	c.chair.heard[from] = c.times.now
	switch {
	case m.Word != nil && m.Word.Bye:
		c.parted = c.parted || c.own.Done || c.Waits() // a guest cannot dismiss one that decides
	case m.Word != nil && (m.Word.Alone || m.Word.Bereft):
		hearWhy(c, from, m.Word)
	case m.Word != nil && m.Word.Mark.Index > 0:
		if err := learn(c, from, m.Word.Mark); err != nil {
			c.failed = err
		}
	case m.Word != nil:
		if c.Leads() {
			c.chair.hear(c, from, *m.Word)
		}
	default:
		var message pb.Message
		if proto.Unmarshal(m.Raft, &message) != nil || !fits(c, from, &message) {
			return nil
		}
		taken, err := step(c, from, &message)
		if err != nil {
			c.failed = err
			return err
		}
		if taken {
			if lead, ok := c.Leader(); ok && lead == from || message.GetType() == pb.MsgVote {
				c.times.heard = c.times.now
			}
			if message.GetType() == pb.MsgPreVote {
				tell(c, from, message.GetIndex())
			}
		}
	}
	return c.settle()
}

// Take returns the messages to send.
func (c *Council) Take() []Envelope {
	out := c.out
	c.out = nil
	return out
}

// settle does all that raft and the chair have to do.
func (c *Council) settle() error {
	for c.failed == nil {
		for c.node.HasReady() && c.failed == nil {
			c.failed = c.work()
		}
		if c.failed != nil || !c.chair.act(c) {
			break
		}
	}
	return c.failed
}

// work handles one Ready of raft.
func (c *Council) work() error {
	if status := c.node.BasicStatus(); c.Leads() && c.chair.term != status.GetTerm() {
		c.chair.reset(c)
		c.chair.term = status.GetTerm()
	}
	rd := c.node.Ready()
	if !raft.IsEmptySnap(rd.Snapshot) {
		if err := c.store.ApplySnapshot(rd.Snapshot); err != nil {
			return fmt.Errorf("council: member %d: %w", c.o.ID, err)
		}
		c.conf = rd.Snapshot.GetMetadata().GetConfState()
		if err := c.restore(rd.Snapshot.GetData(), rd.Snapshot.GetMetadata().GetIndex()); err != nil {
			return fmt.Errorf("council: member %d: %w", c.o.ID, err)
		}
	}
	if err := c.store.Append(rd.Entries); err != nil {
		return fmt.Errorf("council: member %d: %w", c.o.ID, err)
	}
	if !raft.IsEmptyHardState(rd.HardState) {
		_ = c.store.SetHardState(rd.HardState) // never fails
	}
	var snapped []uint64
	for _, m := range rd.Messages {
		if m.GetTo() == raft.None { // the answer to learn
			continue
		}
		data, err := proto.Marshal(m)
		if err != nil {
			return fmt.Errorf("council: member %d: %w", c.o.ID, err)
		}
		c.send(ID(m.GetTo())-1, Message{Raft: data})
		if m.GetType() == pb.MsgSnap {
			snapped = append(snapped, m.GetTo())
		}
	}
	for _, e := range rd.CommittedEntries {
		if err := c.apply(e); err != nil {
			return fmt.Errorf("council: member %d: entry %d: %w", c.o.ID, e.GetIndex(), err)
		}
	}
	c.node.Advance(rd)
	for _, id := range snapped { // if it is lost, the leader finds out and sends another one
		c.node.ReportSnapshot(id, raft.SnapshotFinish)
	}
	return nil
}
