package node

import (
	"log/slog"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/peer"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

// A driver is the one goroutine that owns a machine: it feeds it frames and
// gradients and does what Ready asks for.
type driver struct {
	w         Worker
	core      *peer.Peer
	t         Transport
	oracle    oracle
	keeper    *keeper
	hosting   hosting
	denials   []denial
	stopped   <-chan error             // a worker has stopped the run
	cancelled <-chan struct{}          // the context of the run, until that is known
	through   func(topology.Rank) bool // a worker is known to be
	ending    ending
	verdict   verdict
	laps
	audience
}

// laps is where a worker is in its run.
type laps struct {
	began   time.Time // of the first round
	round   int       // rounds finished
	took    time.Duration
	spent   spent
	loss    float32
	state   record.State
	repairs func() gossip.Repairs
}

// An audience is who hears of a run.
type audience struct {
	meter   meter
	refused *refusals
	log     *slog.Logger
	observe func(record.Event)
	vitals  *vitals
}

func newAudience(m meter) audience {
	return audience{
		meter: m, refused: new(refusals), log: slog.New(slog.DiscardHandler),
		observe: func(record.Event) {}, vitals: new(vitals),
	}
}

// A denial is what keeps a worker and a neighbour apart.
type denial struct {
	rank topology.Rank
	why  error // nil: nothing does
	cut  bool  // this worker does, until the neighbour is another process
}

// An ending is how a worker ends that nothing is wrong with.
type ending struct {
	why      error // nil: it does not end
	began    time.Time
	deadline <-chan time.Time    // of the next boundary
	told     time.Time           // when the others were told
	announce func(*StoppedError) // tells those who are no neighbours
}

// A verdict is what an arbiter says, as far as it is still to come.
type verdict struct {
	arbiter Arbiter
	hold    <-chan struct{} // nil when it is known, or will not come
	ended   <-chan struct{}
	holding bool
	unsaid  *record.Step // of the round after which the worker holds still: perhaps the last
}

func newVerdict(a Arbiter) verdict {
	if a == nil {
		return verdict{}
	}
	return verdict{arbiter: a, hold: a.Hold(), ended: a.Ended()}
}

// hosting is how a worker takes those back that ask for a place.
type hosting struct {
	guests   <-chan guest // nil: nobody asks
	save     func(*state.Snapshot)
	inviting chan<- invitation // who comes back at a boundary; nil: nobody
	invited  Guest             // as which
}

// A guest is a worker that asks for a place, or has not got what it was promised.
type guest struct {
	rank    topology.Rank
	process uint64
	failed  bool
	answer  chan invitation // has room for the one there is
}

// An invitation is the answer; state is nil if there is no place.
type invitation struct {
	Guest
	state *state.Snapshot
	over  bool // there will be none
}
