package peer

import (
	"slices"

	"gossiptrainer/app/worker"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/fleet"
	"gossiptrainer/node"
	"gossiptrainer/topology"
)

// throttles reports whether a run's script limits the rate of uplinks.
func throttles(run *experiment.Run) bool {
	return slices.ContainsFunc(experiment.Script(run.Config()), func(f fault.Fault) bool { return f.Kind == fault.Rate })
}

// tryOn makes a peer obey its supervisor, which plays the script; it returns nil without a script.
func tryOn(run *experiment.Run, client *fleet.Client, n *node.Node) *worker.Trial {
	if len(run.Config().Faults.Script) == 0 {
		return nil
	}
	t := &worker.Trial{Begins: client.Begins}
	client.Obey(func(c fleet.Conditions) {
		cut := make([]topology.Rank, len(c.Cut))
		for i, rank := range c.Cut {
			cut[i] = topology.Rank(rank)
		}
		n.Sever(cut)
		n.Throttle(c.Bits)
		t.Slow(c.Slow)
	})
	return t
}
