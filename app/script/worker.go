package script

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"gossiptrainer/internal/bridge"
	"gossiptrainer/model"
	"gossiptrainer/topology"
)

// A Room is what a script needs of the peers of its run.
type Room interface {
	// Start gives all workers the vector x of worker 0.
	Start(ctx context.Context, x []float32) error
	// Average returns the mean of the vectors that all workers pass to the same call, from 1 on.
	Average(ctx context.Context, call int, x []float32) ([]float32, error)
	// Publish lets others Fetch a copy of x by its tag.
	Publish(tag string, x []float32)
	Fetch(ctx context.Context, rank topology.Rank, tag string, x []float32) error
}

// A Topic is what workers tell each other of their scripts.
type Topic interface {
	// Notify tells all others the newest state of the script.
	Notify(text []byte)
	// Silent reports whether a worker is gone.
	Silent(rank topology.Rank) bool
}

// A meeting is the room in which scripts call, until ctx ends.
type meeting struct {
	Room
	topic func() Topic // nil: there are no others
	ctx   context.Context
}

// silent reports whether a worker is gone.
func (m *meeting) silent(rank topology.Rank) bool {
	topic := m.topic()
	return topic != nil && topic.Silent(rank)
}

// turns lets the script take its turns, and stands in for it where it takes none.
type turns struct {
	mu       sync.Mutex // held while the script has the vector
	script   *bridge.Script
	log      *slog.Logger
	late     *Late
	room     *meeting
	place    Place
	states   states
	saving   int // round before which the script was asked for its state last
	timing   timing
	call     ownCall
	keep     func(blob []byte) error
	shape    bridge.Outline // of the vector
	heir     heir
	loss     float32       // the newest; NaN: none
	over     bool          // the scripts have ended the run
	stopping chan struct{} // closed when the worker ends because of an error
	newest   newest
}

// timing is how long the script takes.
type timing struct {
	usual time.Duration
	spent time.Duration // in hand-over, up to the last step
	cost  atomic.Int64  // nanoseconds of the last state
}

// An ownCall is the newest call of the script.
type ownCall struct {
	asked int    // round in whose turn it made it
	given []byte // with it
	keeps bool   // the script has its vector for good, so that no call moves it
}

// A State is the state of a script before a round. Blob is what the script gave. Ended says how a script ended that
// gives none.
type State struct{ Blob, Ended []byte }

// A Change is another outline of the vector, from a round on.
type Change struct {
	From    int
	Outline *model.Outline
	// Vector makes the new vector of the old one. Tensors keep their values by name and shape; others have those of the
	// worker with the lowest rank.
	Vector func(x []float32) ([]float32, error)
}

// An heir is the vector with which the run goes on.
type heir struct {
	from  int            // round; 0: the vector stays
	shape bridge.Outline // of it
	told  *Change        // not yet taken
}
