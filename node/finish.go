package node

import (
	"context"
	"fmt"

	"gossiptrainer/internal/record"
)

// Finals returns the results known so far, in rank order; see Finish.
func (n *Node) Finals() []record.Final {
	if t := n.Topic(); t != nil {
		return t.Finals()
	}
	return nil
}

// Say tells the other workers and the observer what this worker is doing after Run.
func (n *Node) Say(s record.Status) {
	s.Rank = n.me.Rank
	e := record.Event{Status: &s}
	n.observe(e)
	if t := n.Topic(); t != nil {
		t.Post(e)
	}
}

// Finish tells all workers this one's result and collects theirs. It ends when all workers have all
// results, or when the missing workers have been silent for 5 seconds, on slow links longer. Meanwhile
// others may fetch what this worker has published. It fails if another worker stopped the run, or ctx
// ended.
func (n *Node) Finish(ctx context.Context, f record.Final) ([]record.Final, error) {
	t := n.Topic()
	if t == nil {
		return nil, fmt.Errorf("node: finish: worker %d has not run", f.Rank)
	}
	n.vectors.Leave()
	status := record.Event{Status: &record.Status{Rank: f.Rank, State: record.Finished}}
	for _, e := range []record.Event{{Final: &f}, status} {
		n.observe(e)
		t.Post(e)
	}
	err := t.Collect(ctx)
	return t.Finals(), err
}
