package node

import (
	"log/slog"
	"slices"
	"time"
)

// copyShare bounds the time that copies take: one part in so many.
const copyShare = 50

// A copied is the copy of the state in memory. Most often it is that of the last
// boundary: a worker that has to end at once has lost no round then.
type copied struct {
	round int           // −1: there is none
	took  time.Duration // to take it
	next  time.Time     // when the next may be taken
}

// An errand is what is to be done with the copy.
//
//	state    event                                               next
//	resting  a checkpoint is due, or the first neighbour is met  due
//	due      what was said before it is in the journal           writing; noting at round 0
//	noting   the disk has it, or does not take it                resting
//	writing  the disk has it, or does not take it                resting
type errand int

const (
	resting errand = iota
	never          // the worker keeps no checkpoints
	due            // the copy has to be written
	noting         // it is being written that the worker has begun: the copy may change
	writing        // the copy is being written, and must not change
)

// A keeper takes the checkpoints of a worker that is being driven.
type keeper struct {
	*Checkpoints
	rounds  int
	growth  int64 // bytes by which the journal may grow from one to the next
	grown   int64 // by how many it had at the last one
	copied  copied
	errand  errand
	newest  int       // round that is safe, −1 if none is
	oldest  int       // round that it may come back to
	kept    []int     // rounds that the worker may come back to, the oldest first
	last    bool      // that after the last round has been taken
	settled bool      // and is safe, or cannot be made so
	began   time.Time // of the last one
	asked   bool      // for one at the next boundary
	written chan keeping
	failing bool // the last one was not written
}

// A keeping is what came of writing a checkpoint.
type keeping struct {
	round int
	err   error
}

// newKeeper returns one that does nothing for a worker without checkpoints. Its boundary is
// to be called at each.
func newKeeper(w *Worker) *keeper {
	k := &keeper{
		Checkpoints: w.Checkpoints, rounds: w.Rounds, growth: growth, copied: copied{round: -1},
		newest: -1, began: time.Now(), written: make(chan keeping, 1),
	}
	if w.Checkpoints == nil {
		k.Checkpoints, k.errand = new(Checkpoints), never
		return k
	}
	if k.oldest = k.Round; k.Round > 0 {
		k.newest = k.Round
		k.kept = append(k.kept, k.Round)
	}
	return k
}

// begin makes it safe that the worker has begun at round 0. It is called when others
// may know of that: a worker that has met nobody leaves nothing behind.
func (k *keeper) begin() {
	if k.errand == resting && k.newest < 0 && k.copied.round < 0 {
		k.copied.round, k.errand = 0, due
	}
}

// boundary is the machine's, before a round.
func (k *keeper) boundary(round int) {
	switch {
	case k.errand == never || k.errand == writing || round >= k.rounds:
	case k.asked || k.errand != noting && k.due(round):
		k.take(round)
	case !time.Now().Before(k.copied.next):
		k.copy(round)
	}
}

func (k *keeper) due(round int) bool {
	return k.Every > 0 && round%k.Every == 0 || k.Period > 0 && time.Since(k.began) >= k.Period ||
		k.Journal != nil && k.Journal.Appended()-k.grown >= k.growth
}

// copy copies the state. What it costs is the smaller of two times: in one of them other
// processes may have had the processor.
func (k *keeper) copy(round int) {
	began := time.Now()
	k.Take(round)
	took := time.Since(began)
	k.copied = copied{round: round, took: took, next: began.Add(took + copyShare*min(took, k.copied.took))}
}

// take copies the state for a checkpoint.
func (k *keeper) take(round int) {
	k.copy(round)
	k.asked, k.began = false, time.Now()
	if k.errand != noting {
		k.errand = due
	}
	if k.Journal != nil {
		k.grown = k.Journal.Appended()
	}
}

// finish sees to the checkpoint after the last round and reports whether there is
// no more to be done about it: until then the neighbours have to keep what would
// lead to it again.
func (k *keeper) finish(round int) bool {
	switch {
	case k.errand == never || k.settled:
		return true
	case k.last || k.busy():
	case k.newest == round:
		k.settled = true
	default:
		k.last = true
		k.take(round)
	}
	return k.settled
}

// write begins to write the copy if it is due. All that was sent before it is in the
// journal by now.
func (k *keeper) write() {
	if k.errand != due {
		return
	}
	n := keeping{round: k.copied.round}
	k.errand = writing
	if n.round == 0 {
		k.errand = noting
	}
	go func() {
		n.err = k.save(n.round)
		k.written <- n
	}()
}

// secure writes the copy if it is newer than what is safe, and reports whether
// anything is being written.
func (k *keeper) secure() bool {
	if k.errand == resting && k.copied.round > k.newest {
		k.errand = due
	}
	k.write()
	return k.busy()
}

// busy reports whether anything is being written.
func (k *keeper) busy() bool { return k.errand == noting || k.errand == writing }

// rest takes in that a write has ended, well or not.
func (k *keeper) rest() { k.errand, k.settled = resting, k.last }

func (k *keeper) save(round int) error {
	if k.Journal != nil {
		if err := k.Journal.Sync(); err != nil {
			return err
		}
	}
	return k.Write(round)
}

// tell logs that checkpoints are not written, and that they are again. A full disk
// would otherwise give a line for every one.
func (k *keeper) tell(log *slog.Logger, n keeping) {
	switch {
	case n.err != nil && !k.failing:
		log.Warn("checkpoint not written: the run goes on, and later ones are tried without another warning",
			"round", n.round, "err", n.err)
	case n.err == nil && k.failing:
		log.Warn("checkpoints are written again", "round", n.round)
	}
	k.failing = n.err != nil
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

// close removes the journal at the end of a run, if nobody can come back to it.
func (k *keeper) close(over bool, log *slog.Logger) {
	if k.Journal == nil || !over {
		return
	}
	if err := k.Journal.Remove(); err != nil {
		log.Warn("the journal is of no use any more, but cannot be removed", "why", err)
	}
}
