package council

import (
	"fmt"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
)

// fits reports whether a member that keeps to the protocol may send a message of raft. The library trusts messages:
// some that make no sense would end the process, and any of a larger term ends the term of a leader.
func fits(c *Council, from ID, m *pb.Message) bool {
	status := c.node.BasicStatus()
	last, err := c.store.LastIndex()
	if err != nil || m.GetFrom() != raftID(from) || m.GetTo() != raftID(c.o.ID) || m.GetTerm() == 0 {
		return false
	}
	// A majority follows this leader, and only a voter can have won an election since.
	if c.Leads() && m.GetTerm() > status.GetTerm() && !isVoter(c, from) && c.chair.hearsMost(c) {
		return false
	}
	switch m.GetType() {
	case pb.MsgApp:
		for i, e := range m.GetEntries() {
			if e.GetIndex() != m.GetIndex()+1+uint64(i) || e.GetTerm() == 0 || e.GetTerm() > m.GetTerm() {
				return false
			}
		}
		return leads(from, m, status)
	case pb.MsgSnap:
		return leads(from, m, status)
	case pb.MsgHeartbeat:
		return m.GetCommit() <= last && leads(from, m, status)
	case pb.MsgAppResp:
		return m.GetReject() || m.GetIndex() <= last
	case pb.MsgHeartbeatResp, pb.MsgVote, pb.MsgVoteResp, pb.MsgPreVote, pb.MsgPreVoteResp:
		return true
	}
	return false
}

// possible reports whether a member that keeps to the protocol may say a word. A change begins with the largest
// promise, so one out of range would put it off for ever.
func possible(c *Council, from ID, w *Word) bool {
	r := &w.Report
	if r.ID != from { // a newcomer without a log has nothing to report
		return w.Seq == 0 && !r.State && len(r.Held)+len(r.Torn)+len(r.Values) == 0
	}
	return 0 <= r.Next && r.Next <= c.host.Exchanges() && -1 <= r.Promise && r.Promise <= c.host.Exchanges() &&
		r.Promise <= r.Next+1+c.o.Margin // it may have begun Next
}

// leads reports whether the sender of a message may lead its term: a term has one leader.
func leads(from ID, m *pb.Message, status raft.BasicStatus) bool {
	return m.GetTerm() != status.GetTerm() || status.Lead == raft.None || status.Lead == raftID(from)
}

// step gives a message to raft. It reports whether raft has taken it. An error says that raft cannot go on.
func step(c *Council, from ID, m *pb.Message) (taken bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("council: member %d: raft cannot take a message of member %d: %v", c.o.ID, from, r)
		}
	}()
	return c.node.Step(m) == nil, nil
}

// tell answers a member that calls an election with an entry that it has and that is decided. A leader that dies may
// have told a leaver alone, which is no voter from that entry on. It has the longer log, so it gives no vote, and it
// cannot lead: without its answer, no member would lead again.
func tell(c *Council, to ID, last uint64) {
	index := min(last, c.node.BasicStatus().GetCommit())
	if term, err := c.store.Term(index); err == nil && index > 0 {
		c.send(to, Message{Word: &Word{Mark: Mark{index, term}}})
	}
}

// learn has raft apply the entries up to a decided one, as a heartbeat of a leader of this term would. It leaves open
// who leads. A follower hears the same from its leader. The word of a guest, which does not vote, does not count.
func learn(c *Council, from ID, mark Mark) error {
	status := c.node.BasicStatus()
	term, err := c.store.Term(mark.Index)
	decided := err == nil && term == mark.Term && isVoter(c, from)
	if !decided || mark.Index <= status.GetCommit() || status.Lead != raft.None {
		return nil
	}
	_, err = step(c, from, &pb.Message{Type: pb.MsgHeartbeat.Enum(), From: new(raft.None), To: new(raftID(c.o.ID)),
		Term: new(status.GetTerm()), Commit: new(mark.Index)})
	return err
}
