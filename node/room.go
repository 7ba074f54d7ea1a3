package node

import (
	"errors"
	"time"

	"gossiptrainer/internal/budget"
	"gossiptrainer/internal/record"
)

// A worker must keep the messages that its neighbours may ask for again, and each checkpoint makes older ones needless.
// So a disk with little room asks for checkpoints: of this worker, and of its neighbours. A worker whose disk takes
// nothing more keeps some messages in memory, and then waits. It never drops a message that a neighbour may need.

const (
	// pressing is the least time between two checkpoints for the sake of neighbours.
	pressing = time.Second
	// A worker whose disk is full tries again after these times, first and at last.
	firstTry, lastTry = 250 * time.Millisecond, 2 * time.Second
	// mostHeld bounds the bytes of messages in memory that the disk does not take. There are no more than between two
	// checkpoints, so that the disk can take them later.
	mostHeld = 64 << 20
	// slow is how long training may wait for the disk before the user learns of it.
	slow = 2 * time.Second
)

// errSlow says that training waits for a checkpoint that is being written.
var errSlow = errors.New("checkpoints are not written as fast as messages are sent")

// A shortage is what a worker does while a disk has little room.
type shortage struct {
	sole   bool             // of all checkpoints only the next one counts
	only   int              // round of the newest checkpoint when older ones were last removed
	wished bool             // a neighbour with little room wants a checkpoint
	retry  <-chan time.Time // of the next try to write messages; nil: the disk has all
	pause  time.Duration    // before it
	why    error            // why the last try has failed
	news
}

// A news is what the user knows about the disk.
type news struct {
	failing bool      // that checkpoints are not written
	failed  time.Time // when that was last said
	since   time.Time // since then training waits; zero: it does not
	waits   bool      // training waits for room
	shown   bool      // in the status that it does
	said    bool      // in the log that it does
	full    time.Time // when that was last said
	slow    bool      // that the disk is slow
}

// grow sets by how many bytes the journal may grow between two checkpoints; 0: any number.
func (k *keeper) grow(growth int64) {
	k.growth = growth
	if k.Journal != nil {
		k.Journal.Limit(budget.Longest(growth))
	}
}

// hurry makes a newer state safe soon, and lets no older one count.
func (k *keeper) hurry() {
	k.sole = true
	if k.errand == resting && !k.Direct && k.copied.round > k.newest {
		k.want()
		return
	}
	k.asked = k.errand != never
}

// relieve uses the room that was set aside for this moment.
func (k *keeper) relieve() {
	if k.Relieve != nil {
		k.Relieve()
	}
}

// try writes messages that the disk has not taken. It hurries also if the disk takes them: others may have use for the
// room.
func (d *driver) try() error {
	k := d.keeper
	k.retry = nil
	if k.Journal.Held() == 0 {
		k.pause = 0
		return nil
	}
	k.relieve()
	k.why = k.Journal.Flush()
	if k.why != nil && k.pause > 0 { // the room that was set aside has not helped
		if err := d.drop(); err != nil {
			return err
		}
		k.why = k.Journal.Flush()
	}
	k.hurry()
	if k.why == nil {
		k.pause = 0
		return nil
	}
	k.pause = min(max(2*k.pause, firstTry), lastTry)
	k.retry = time.After(k.pause)
	return nil
}

// drop removes all checkpoints but the newest. Then neighbours need fewer messages, too.
func (d *driver) drop() error {
	k := d.keeper
	if k.Drop == nil || k.errand != resting || k.newest <= k.only {
		return nil
	}
	if err := k.Drop(k.newest); err != nil {
		return nil // the checkpoints stay, and are tried again
	}
	k.only, k.oldest, k.kept = k.newest, k.newest, []int{k.newest}
	return d.failed(d.core.Saved(k.newest))
}

// watch hurries if the disk does not take all messages, or if a neighbour wants it.
func (d *driver) watch() error {
	k := d.keeper
	if k.wished && time.Since(k.began) >= pressing {
		k.wished = false
		k.hurry()
	}
	if k.retry == nil && k.Journal != nil && k.Journal.Held() > 0 {
		return d.try()
	}
	return nil
}

// hindered returns why training has to wait for the disk, nil if it need not. It goes on in the round of a checkpoint
// that is being written: a script tells its state in that round. Training that has waited goes on when half of the
// messages are on disk.
func (k *keeper) hindered(round int) error {
	if k.Journal == nil || k.errand == writing && k.copied.round == round {
		return nil
	}
	most := int64(mostHeld)
	if k.growth > 0 {
		most = min(most, k.growth)
	}
	if k.waits {
		most /= 2
	}
	switch {
	case k.why != nil && k.Journal.Held() >= most:
		return k.why
	case k.errand == writing && k.growth > 0 && k.Journal.Appended()-k.grown >= k.growth:
		return errSlow
	}
	return nil
}

// proceed asks for the gradient that is due, unless training has to wait for the disk.
func (d *driver) proceed() {
	due := d.oracle.due
	if due.x == nil {
		return
	}
	if why := d.keeper.hindered(due.k); why != nil {
		d.waitForRoom(why)
		return
	}
	if !d.keeper.since.IsZero() {
		d.goOn()
	}
	d.oracle.due = job{}
	d.oracle.ask(due)
}

// waitForRoom lets training wait. The driver calls it at each event until there is room.
func (d *driver) waitForRoom(why error) {
	k := d.keeper
	if k.since.IsZero() {
		k.since = time.Now()
	}
	if errors.Is(why, errSlow) {
		return
	}
	k.waits = true
	if k.shown || time.Since(k.since) < slow {
		return
	}
	k.shown = true
	d.status(record.Waiting, "no room on its disk: "+why.Error(), nil)
	if time.Since(k.full) >= often {
		k.said, k.full = true, time.Now()
		d.log.Error("no room: training waits until the disk takes more; Ctrl-C ends the run, and --resume goes on",
			"why", why)
	}
}

// goOn lets training go on.
func (d *driver) goOn() {
	k := d.keeper
	waited := time.Since(k.since)
	switch {
	case k.said:
		d.log.Warn("there is room again: training goes on")
	case !k.waits && waited >= slow && !k.slow:
		k.slow = true
		d.log.Warn("training waits for its disk", "why", errSlow, "waited", waited.Round(time.Millisecond))
	}
	k.since, k.waits, k.shown, k.said = time.Time{}, false, false, false
}
