// Package lab supervises the peers of a run on one machine, one operating
// system process each: it starts them, introduces them to one another, hands
// their events on, and sees to it that none is left behind.
//
// It knows neither models nor sockets nor the command line: the caller says how
// a peer is started, and a peer says where it can be reached.
package lab

import (
	"context"

	"gossiptrainer/internal/record"
)

// Run starts the peers, sends every one the roster once all are ready, and
// returns when no process is left: nil once all have finished their work, the
// cause of ctx when it was cancelled, and a *PeerError for the first peer that
// failed or died for good, which stops the others.
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
