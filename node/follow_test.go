package node

import (
	"slices"
	"testing"
	"time"

	"gossiptrainer/topology"
)

// most returns the largest number of links of a node that were up at once, as far as look was called.
type most struct{ up int }

func (m *most) look(n *Node) {
	up := 0
	for _, l := range n.Status().Links {
		if l.Up {
			up++
		}
	}
	m.up = max(m.up, up)
}

// faults returns the lost links of all nodes.
func (c *cluster) faults() (lost int64) {
	for _, n := range c.nodes {
		for _, l := range n.Status().Links {
			lost += l.Lost
		}
	}
	return lost
}

// Workers that meet more others than they keep links to end as in lock-step. A link that rests is no fault.
func TestLinksThatFollowTheSchedule(t *testing.T) {
	tests := map[string]task{
		"matchings":             {n: 8, dim: 400, rounds: 20, kind: topology.RandomMatching, open: 3},
		"repairs on matchings":  {n: 7, dim: 400, rounds: 12, kind: topology.RandomMatching, open: 3, verified: true},
		"repairs on shifts":     {n: 8, dim: 400, rounds: 12, kind: topology.RandomShift, open: 3, verified: true},
		"a graph with a period": {n: 8, dim: 400, rounds: 12, kind: topology.OnePeerExponential, open: 2},
		"a run of two rounds":   {n: 8, dim: 400, rounds: 2, kind: topology.RandomMatching, open: 3},
	}
	for name, job := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, job.n, job.dim, nil)
			finals, errs := c.run(t, t.Context(), job)
			for i, want := range job.lockStep(t) {
				if errs[i] != nil {
					t.Fatalf("worker %d: %v", i, errs[i])
				}
				if finals[i].Digest != want {
					t.Errorf("worker %d: digest %.8s, want %.8s", i, finals[i].Digest, want)
				}
			}
			if lost := c.faults(); lost > 0 {
				t.Errorf("%d links were lost, want none:\n%s", lost, c.logs.String())
			}
		})
	}
}

// A gradient that ends when the links to the partners of the next exchange are up never ends if links are made in the
// exchange that needs them. Hardly any exchange waits for a link then.
func TestLinksAreMadeWhileWorkersCompute(t *testing.T) {
	const n, rounds, open = 12, 20, 4
	job := task{n: n, dim: 100, rounds: rounds, kind: topology.RandomMatching, open: open}
	c := newCluster(t, n, job.dim, nil)
	rows := job.rows(t)
	seen := make([]most, n)
	job.slow = func(rank, k int) {
		seen[rank].look(c.nodes[rank])
		if k+1 == rounds {
			return
		}
		next := rows[rank].At(k + 1).Neighbours()
		look := time.NewTicker(10 * time.Millisecond)
		defer look.Stop()
		for {
			missing := slices.Clone(next)
			for _, l := range c.nodes[rank].Status().Links {
				if l.Up {
					missing = slices.DeleteFunc(missing, func(r topology.Rank) bool { return int(r) == l.Neighbour })
				}
			}
			if len(missing) == 0 {
				return
			}
			<-look.C
		}
	}
	finals, errs := c.run(t, t.Context(), job)
	reach := rows[0].Ahead()
	for i, want := range job.lockStepAtOnce(t) {
		if errs[i] != nil || finals[i].Digest != want {
			t.Errorf("worker %d: digest %.8s, error %v, want %.8s", i, finals[i].Digest, errs[i], want)
		}
		// The driver may learn of a link after it has taken the gradient that waited for it.
		if late := c.nodes[i].Status().Late; late > rounds/4 {
			t.Errorf("worker %d: %d of %d exchanges waited for a link", i, late, rounds)
		}
		if bound := open + 2*reach; seen[i].up > bound {
			t.Errorf("worker %d: %d links at once, at most %d can be needed", i, seen[i].up, bound)
		}
		if seen[i].up == n-1 {
			t.Errorf("worker %d has had links to all others at once", i)
		}
	}
}

// lockStepAtOnce is lockStep with gradients that take no time.
func (c task) lockStepAtOnce(t testing.TB) []string {
	c.slow = nil
	return c.lockStep(t)
}
