package node

import (
	"log/slog"
	"slices"
	"time"

	"gossiptrainer/internal/work"
)

// copyShare bounds the time for copies to one part in copyShare.
const copyShare = 50

// A copied is the copy of the state in memory. Most often it was taken at the last
// boundary, so a worker that must end at once loses no round.
type copied struct {
	round    int           // −1: there is no copy
	appended int64         // bytes in the journal at that time
	took     time.Duration // duration of the last copy
	next     time.Time     // earliest time of the next copy
}

// An errand is the next thing to do with the copy.
//
//	state    meaning                                event                                      next
//	resting  nothing                                a checkpoint is due                        due
//	                                                the first neighbour is met                 due
//	                                                a disk has little room                     due
//	due      write it                               the journal has all earlier messages       writing, or
//	                                                                                           noting at round 0
//	noting   it is being written that the worker    the disk has it, or refuses it             resting
//	         has begun; a copy in memory may change
//	writing  it is being written, and must not      the disk has it, or refuses it             resting
//	         change
//	never    the worker keeps no checkpoints
type errand int

const (
	resting errand = iota
	never
	due
	noting
	writing
)

// A lastCheckpoint is the state of the checkpoint after the last round.
//
//	state    meaning                                     event                             next
//	pending  rounds are left, or it is not taken yet     it is taken                       taken
//	                                                     the newest one is of that round   settled
//	taken    it is being written                         the disk has it, or refuses it    settled
//	settled  it is safe, or cannot be made safe
type lastCheckpoint uint8

const (
	pending lastCheckpoint = iota
	taken
	settled
)

// A keeper takes the checkpoints of a driver's worker.
type keeper struct {
	*Checkpoints
	rounds  int
	growth  int64 // bytes by which the journal may grow between two checkpoints
	grown   int64 // bytes in the journal at the last checkpoint
	copied  copied
	errand  errand
	newest  int   // round of the newest checkpoint, −1 without one
	oldest  int   // oldest round to which the worker may come back
	kept    []int // rounds to which the worker may come back, the oldest first
	last    lastCheckpoint
	began   time.Time // time of the last checkpoint
	asked   bool      // a checkpoint is wanted at the next boundary
	written chan keeping
	shortage
}

// A keeping is the result of writing a checkpoint.
type keeping struct {
	round  int
	err    error
	growth int64 // from now on; 0: as before
}

// newKeeper returns a keeper, which does nothing for a worker without checkpoints. The driver calls
// boundary at each boundary.
func newKeeper(w *Worker) *keeper {
	k := &keeper{
		Checkpoints: w.Checkpoints, rounds: w.Rounds, copied: copied{round: -1},
		newest: -1, began: time.Now(), written: make(chan keeping, 1),
	}
	if w.Checkpoints == nil {
		k.Checkpoints, k.errand = new(Checkpoints), never
		return k
	}
	k.grow(k.Growth)
	if k.oldest = k.Round; k.Round > 0 {
		k.newest = k.Round
		k.kept = append(k.kept, k.Round)
	}
	return k
}

// begin notes on disk that the worker has begun at round 0. The driver calls it when other workers may
// know of the start: a worker that has met no neighbour leaves no trace.
func (k *keeper) begin() {
	if k.errand == resting && k.newest < 0 && k.copied.round < 0 {
		k.copied.round, k.errand = 0, due
	}
}

// boundary copies the state before a round if a copy is due. The machine calls it.
func (k *keeper) boundary(round int) {
	switch {
	case k.errand == never || k.errand == writing || round >= k.rounds || k.Direct && k.errand == noting:
	case k.asked || k.errand != noting && k.due(round):
		k.take(round, k.Take)
	case !k.Direct && !time.Now().Before(k.nextCopy()):
		k.copy(round, k.Take)
	}
}

func (k *keeper) due(round int) bool {
	return work.Interval{Rounds: k.Every, Time: k.Period}.Due(round, round-1, time.Since(k.began)) ||
		k.growth > 0 && k.appended()-k.grown >= k.growth
}

// appended returns the bytes that have been appended to the journal.
func (k *keeper) appended() int64 {
	if k.Journal == nil {
		return 0
	}
	return k.Journal.Appended()
}

// copy copies the state. It takes the smaller of the last two times as the cost, since other processes
// may have used the processor during one of them.
func (k *keeper) copy(round int, take func(k int)) {
	began := time.Now()
	take(round)
	took := time.Since(began)
	k.copied = copied{round: round, appended: k.appended(), took: took,
		next: began.Add(took + copyShare*min(took, k.copied.took))}
}

// nextCopy returns the earliest time of the next copy. The gradient may wait for a copy as rarely as the worker does.
func (k *keeper) nextCopy() time.Time {
	if k.Cost == nil || k.copied.round < 0 {
		return k.copied.next
	}
	return k.copied.next.Add(copyShare * k.Cost())
}

// take copies the state for a checkpoint.
func (k *keeper) take(round int, how func(k int)) {
	k.copy(round, how)
	k.asked = false
	k.want()
}

// want lets the copy be written.
func (k *keeper) want() {
	k.began, k.grown = time.Now(), k.copied.appended
	if k.errand != noting {
		k.errand = due
	}
}

// finish takes the checkpoint after the last round, and reports whether it is settled. Until then the
// neighbours must keep the messages with which the worker could repeat its last rounds.
func (k *keeper) finish(round int) bool {
	switch {
	case k.errand == never:
		return true
	case k.last != pending || k.busy():
	case k.newest == round:
		k.last = settled
	default:
		k.last = taken
		how := k.Take
		if k.Last != nil {
			how = k.Last
		}
		k.take(round, how)
	}
	return k.last == settled
}

// write starts writing the copy if a checkpoint is due. The journal then has all messages sent before
// the copy.
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
		if n.err = k.save(n.round); n.err == nil && k.Room != nil {
			n.growth = k.Room()
		}
		k.written <- n
	}()
}

// secure writes the copy if it is newer than the newest checkpoint, and reports whether a write is
// under way.
func (k *keeper) secure() bool {
	if k.errand == resting && k.copied.round > k.newest {
		k.errand = due
	}
	k.write()
	return k.busy()
}

// busy reports whether a write is under way.
func (k *keeper) busy() bool { return k.errand == noting || k.errand == writing }

// rest notes that a write has succeeded or failed.
func (k *keeper) rest() {
	k.errand = resting
	if k.last == taken {
		k.last = settled
	}
}

func (k *keeper) save(round int) error {
	if k.Journal != nil {
		err := k.Journal.Sync(round)
		if err != nil {
			k.relieve()
			err = k.Journal.Sync(round)
		}
		if err != nil {
			return err
		}
	}
	return k.Write(round)
}

// often is the least time between two warnings about the same trouble with a disk, which may come and go.
const often = time.Minute

// tell logs when writing begins to fail and when it works again. So a full disk does not cause a line for every
// checkpoint.
func (k *keeper) tell(log *slog.Logger, n keeping) {
	switch {
	case n.err != nil && !k.failing && time.Since(k.failed) >= often:
		k.failing, k.failed = true, time.Now()
		log.Warn("checkpoint not written: the run goes on, and later ones are tried without another warning",
			"round", n.round, "err", n.err)
	case n.err == nil && k.failing:
		k.failing = false
		log.Warn("checkpoints are written again", "round", n.round)
	}
}

// enter notes that the checkpoint before a round is safe, and returns the oldest round to which the
// worker may come back. A worker at the end of its run does not go back.
func (k *keeper) enter(round int) (oldest int) {
	k.newest = round
	k.kept = append(k.kept, round)
	if counts := k.counts(); len(k.kept) > counts {
		k.kept = slices.Delete(k.kept, 0, len(k.kept)-counts)
	}
	k.oldest, k.sole = k.kept[0], false
	if k.last != pending {
		k.oldest = round
	}
	return k.oldest
}

// counts returns how many checkpoints the worker may come back to. Neighbours keep the messages since then, so older
// ones do not count, even if they are kept.
func (k *keeper) counts() int {
	if k.sole {
		return 1
	}
	return min(max(1, k.Keep), 2)
}

// close removes the journal at the end of a run, if no neighbour can need it.
func (k *keeper) close(over bool, log *slog.Logger) {
	if k.Journal == nil || !over {
		return
	}
	if err := k.Journal.Remove(); err != nil {
		log.Warn("the journal is not needed any more, but cannot be removed: remove it by hand", "why", err)
	}
}
