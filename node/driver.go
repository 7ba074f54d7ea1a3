package node

import (
	"log/slog"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/peer"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// A driver is the one goroutine that owns a machine. It feeds the machine frames and gradients, and
// does what Ready asks for.
type driver struct {
	w         Worker
	core      *peer.Peer
	t         transport
	oracle    oracle
	keeper    *keeper
	hosting   hosting
	denials   []refusalState
	stopped   <-chan error             // a worker has stopped the run
	cancelled <-chan struct{}          // the context of the run, until its end is known
	through   func(topology.Rank) bool // whether a worker is known to have ended well
	ending    ending
	decision  decision
	progress
	audience
}

// progress is the progress of a worker in its run.
type progress struct {
	began   time.Time // of the first round
	round   int       // rounds finished
	took    time.Duration
	spent   spent
	loss    float32
	state   record.State
	repairs func() gossip.Repairs
	account *work.Account
}

// An audience is the set of receivers of a run's events.
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

// A refusalState is the reason why a worker and a neighbour do not work together.
type refusalState struct {
	rank topology.Rank
	why  error // nil: they do
	cut  bool  // this worker has cut the neighbour off, until that is another process
}

// An ending is the orderly end of a worker without an error of its own.
type ending struct {
	why      error // nil: the worker does not end
	began    time.Time
	deadline <-chan time.Time    // of the next boundary
	told     time.Time           // when the other workers were told
	announce func(*StoppedError) // tells the workers that are no neighbours
}

// A decision is the arbiter's decision about the end of the run, as far as it is still to come.
type decision struct {
	arbiter Arbiter
	hold    <-chan struct{} // nil when the decision is known, or will not come
	ended   <-chan struct{}
	holding bool
	unsaid  *record.Step // step of the round after which the worker holds still: perhaps the last
}

func newDecision(a Arbiter) decision {
	if a == nil {
		return decision{}
	}
	return decision{arbiter: a, hold: a.Hold(), ended: a.Ended()}
}

// settle expects no further word of the arbiter.
func (v *decision) settle() { v.hold, v.ended, v.holding = nil, nil, false }

// hosting holds the requests of lost workers that ask for a place next to this one.
type hosting struct {
	requests <-chan candidate // nil: no worker asks
	save     func(*state.Snapshot)
	inviting chan<- invitation // answers the worker that comes back at the next boundary; nil: none does
	invited  Place             // the place of that worker
}

// A candidate is a lost worker that asks for a place, or has not received the promised state.
type candidate struct {
	rank    topology.Rank
	process uint64
	failed  bool
	answer  chan invitation // has room for one
}

// An invitation answers a returning worker. state is nil if there is no place.
type invitation struct {
	Place
	state *state.Snapshot
	over  bool // there will be no place any more
}
