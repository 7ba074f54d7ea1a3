// Package fleet supervises the peers of a run on one machine, one operating system process each. It
// starts them, tells each the addresses of the others, collects their events, and ends all of them.
//
// It knows neither models nor sockets nor the command line: the caller provides the command of a peer,
// and a peer reports its own addresses.
package fleet

import (
	"context"

	"gossiptrainer/internal/record"
)

// Run starts the peers, sends each the roster once all are ready, and returns when no process is
// left. It returns nil if all have finished their work, and the cause of ctx if that was cancelled.
// The first peer that fails or dies for good stops the others: Run returns a *PeerError for it.
func Run(ctx context.Context, o Options) error {
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.History == nil {
		o.History = record.NewHistory(o.Peers, nil)
	}
	s := &supervisor{
		options: o, news: make(chan news, 4*o.Peers), procs: make([]*process, o.Peers),
		faults: newFaults(o.Script, o.Lasted),
	}
	for rank := range s.procs {
		s.procs[rank] = new(process)
	}
	for rank := range s.procs {
		s.start(rank)
	}
	return s.loop(ctx)
}
