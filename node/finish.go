package node

import (
	"context"
	"fmt"

	"gossiptrainer/internal/record"
	"gossiptrainer/node/telemetry"
)

// joinTopic returns the status topic of this node, which stays the same if it runs again.
func (n *Node) joinTopic() (*telemetry.Topic, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.topic != nil {
		return n.topic, nil
	}
	var err error
	n.topic, err = telemetry.Join(telemetry.Config{
		Host: n.gate.Guard(n.host), Run: n.opts.RunID, Members: n.roster.Members, Process: n.me.Epoch,
		Slowest: n.host.Slowest(), Observe: n.observe, Log: n.log,
	})
	return n.topic, err
}

// statusTopic returns the status topic, nil before Run.
func (n *Node) statusTopic() *telemetry.Topic {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.topic
}

// Finals returns the results known so far, in rank order; see Finish.
func (n *Node) Finals() []record.Final {
	if t := n.statusTopic(); t != nil {
		return t.Finals()
	}
	return nil
}

// Say tells the others, and the observer, what this worker is doing after Run.
func (n *Node) Say(s record.Status) {
	s.Rank = n.me.Rank
	e := record.Event{Status: &s}
	n.observe(e)
	if t := n.statusTopic(); t != nil {
		t.Post(e)
	}
}

// Finish tells all workers this one's result and collects theirs, until all
// have all of them, or until those that lack have been silent for 5 seconds, on
// slow links longer.
// It fails if another worker stopped the run, or ctx ended.
func (n *Node) Finish(ctx context.Context, f record.Final) ([]record.Final, error) {
	t := n.statusTopic()
	if t == nil {
		return nil, fmt.Errorf("node: finish: worker %d has not run", f.Rank)
	}
	status := record.Event{Status: &record.Status{Rank: f.Rank, State: record.Finished}}
	for _, e := range []record.Event{{Final: &f}, status} {
		n.observe(e)
		t.Post(e)
	}
	err := t.Collect(ctx)
	return t.Finals(), err
}
