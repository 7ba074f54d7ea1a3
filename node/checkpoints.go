package node

import (
	"slices"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/journal"
	"gossiptrainer/wire"
)

// Checkpoints say how a worker's state gets to safety while it trains. Between two
// rounds the state is copied; that is all that training waits for.
type Checkpoints struct {
	// Take copies the state as it is at the beginning of round k, and Write makes
	// that copy safe. Take is called by the goroutine that drives the machine,
	// Write by another one, and never both at once.
	Take  func(k int)
	Write func(k int) error
	// Round is where the worker begins: that of the checkpoint that it was made
	// from, 0 without one.
	Round int
	// Every is how many rounds pass between two checkpoints, Period how much
	// time; 0 is for ever. After the last round there is one in any case, and
	// there is one when the journal has grown by 256 MiB since the last: those of
	// the neighbours grow as it does, and they keep all that this worker may need.
	Every  int
	Period time.Duration
	// Keep is how many of them the worker may come back to, if the newer ones turn
	// out to be damaged; 0 is 1. Neighbours keep what it would need.
	Keep int
	// Journal keeps what is sent, for neighbours that come back; it is at Round.
	// Nil if the worker waits for nobody.
	Journal *journal.Journal
}

// growth is how many bytes a journal may grow by from one checkpoint to the next.
const growth = 256 << 20

// A keeper takes the checkpoints of a worker that is being driven.
type keeper struct {
	*Checkpoints
	rounds  int
	growth  int64 // bytes by which the journal may grow from one to the next
	grown   int64 // by how many it had at the last one
	taken   int   // round whose copy has to be written, −1 for none
	answers bool  // that copy is the one that was asked for
	writing bool
	newest  int       // round that is safe
	oldest  int       // round that it may come back to
	kept    []int     // rounds that the worker may come back to, the oldest first
	last    bool      // that after the last round has been taken
	settled bool      // and is safe, or cannot be made so
	began   time.Time // of the last one
	asked   bool      // for one as soon as possible
	written chan keeping
}

// A keeping is what came of writing a checkpoint.
type keeping struct {
	round int
	asked bool // it was the one that was to be taken as soon as possible
	err   error
}

// newKeeper returns nil for a worker without checkpoints.
func newKeeper(w *Worker) *keeper {
	if w.Checkpoints == nil {
		return nil
	}
	k := &keeper{
		Checkpoints: w.Checkpoints, rounds: w.Rounds, growth: growth, taken: -1, newest: w.Checkpoints.Round, oldest: w.Checkpoints.Round,
		began: time.Now(), written: make(chan keeping, 1),
	}
	if k.newest > 0 {
		k.kept = append(k.kept, k.newest)
	}
	w.Machine.AtBoundary(k.boundary)
	return k
}

// boundary is the machine's, before round k.
func (k *keeper) boundary(round int) {
	if !k.writing && k.due(round) {
		k.take(round)
	}
}

func (k *keeper) due(round int) bool {
	return round < k.rounds && (k.asked || k.Every > 0 && round%k.Every == 0 ||
		k.Period > 0 && time.Since(k.began) >= k.Period ||
		k.Journal != nil && k.Journal.Appended()-k.grown >= k.growth)
}

func (k *keeper) take(round int) {
	k.Take(round)
	k.taken, k.answers, k.began = round, k.asked, time.Now()
	if k.Journal != nil {
		k.grown = k.Journal.Appended()
	}
}

// finish sees to the checkpoint after the last round and reports whether there is
// no more to be done about it: until then the neighbours have to keep what would
// lead to it again.
func (k *keeper) finish(round int) bool {
	switch {
	case k == nil || k.settled:
		return true
	case k.last || k.writing:
	case k.newest == round:
		k.settled = true
	default:
		k.last = true
		k.take(round)
	}
	return k.settled
}

// write begins to write what was taken, if anything. All that was sent before it
// is in the journal by now.
func (k *keeper) write() {
	if k == nil || k.taken < 0 || k.writing {
		return
	}
	n := keeping{round: k.taken, asked: k.answers}
	k.taken, k.writing = -1, true
	go func() {
		n.err = k.save(n.round)
		k.written <- n
	}()
}

func (k *keeper) save(round int) error {
	if k.Journal != nil {
		if err := k.Journal.Sync(); err != nil {
			return err
		}
	}
	return k.Write(round)
}

// news returns where the end of writing is told, nil without checkpoints.
func (k *keeper) news() <-chan keeping {
	if k == nil {
		return nil
	}
	return k.written
}

// kept takes in that a checkpoint has been written, or not.
func (d *driver) kept(n keeping) error {
	k := d.keeper
	k.writing = false
	k.settled = k.last && k.taken < 0
	if n.err != nil {
		d.log.Warn("checkpoint not written", "round", n.round, "err", n.err)
	}
	switch {
	case d.ending.why != nil && n.asked:
		return d.ending.why
	case n.err != nil:
		return nil
	}
	oldest := k.enter(n.round)
	d.t.Durable(d.slots.Of(oldest, 0))
	for _, s := range d.peers {
		if s.up {
			d.t.Tell(s.rank, Notice{Kind: wire.Durable, Round: oldest})
		}
	}
	return d.broken(d.forget())
}

// enter notes that the checkpoint before a round is safe, and returns the oldest
// round that the worker may come back to. From the end nobody goes back.
func (k *keeper) enter(round int) (oldest int) {
	k.newest = round
	k.kept = append(k.kept, round)
	if len(k.kept) > max(1, k.Keep) {
		k.kept = slices.Delete(k.kept, 0, 1)
	}
	k.oldest = k.kept[0]
	if k.last {
		k.oldest = round
	}
	return k.oldest
}

// room is how long the journal may become: twice what neighbours need that take
// checkpoints as this worker does.
func (k *keeper) room() int64 { return 2 * k.growth * int64(max(1, k.Keep)+1) }

// slots says how the exchanges of w are numbered. One without rounds has a place
// of its own: its steps.
func (w *Worker) slots() gossip.Slots {
	if m, ok := w.Machine.(interface{ Slots() gossip.Slots }); ok {
		return m.Slots()
	}
	return gossip.Slots{Every: 1, Hops: 1, Lead: 1}
}
