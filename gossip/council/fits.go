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
