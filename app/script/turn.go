package script

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gossiptrainer/gossip/pace"
	"gossiptrainer/internal/bridge"
	"gossiptrainer/internal/work"
	"gossiptrainer/model"
	"gossiptrainer/node/telemetry"
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
	// Topic tells all others the newest state of the script, and who is silent; nil: there are no others.
	Topic() *telemetry.Topic
}

// A meeting is the room in which scripts call, until ctx ends.
type meeting struct {
	Room
	ctx context.Context
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
	loss     float32       // the newest
	over     bool          // the scripts have ended the run
	stopping chan struct{} // closed when the worker ends because of an error
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

// patience is how long a script may take for one step, or wait for others, before the log says so.
const patience = time.Minute

// errStopping ends a wait when the worker ends because of an error.
var errStopping = errors.New("the run stops")

// gradient is a work.Gradient: the script takes the local step of round k from x to some y, and g is x − y. A script
// that has finished, or waits for others, takes none: then g is 0, or work.ErrOver says that round k does not take
// place.
func (t *turns) gradient(g []float32, k int, x []float32) (float32, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	began := time.Now()
	late := time.AfterFunc(patience, func() { t.complain(k) })
	defer late.Stop()
	if err := t.reach(k); err != nil {
		return 0, err
	}
	for handed := false; ; {
		v, err := t.states.view(k)
		switch {
		case err != nil:
			return 0, &Error{err}
		case v.Finished || v.waiting:
			switch v.verdict {
			case pace.StandIn:
				clear(g)
				return t.loss, t.standIn(v, k)
			case pace.Over:
				t.over = true
				return 0, work.ErrOver
			case pace.Meet:
				moved, err := t.meet(v, k, x)
				if err != nil {
					return 0, err
				}
				handed = handed && !moved
				continue
			}
		case !handed:
			if err := t.script.Go(k, x); err != nil && !errors.Is(err, bridge.ErrLeft) {
				return 0, fate(err)
			}
			handed = true
		}
		stepped, err := t.await(v, k, t.stopping)
		if err != nil {
			return 0, err
		}
		if stepped {
			t.step(g, k, x, time.Since(began))
			return t.loss, nil
		}
	}
}

var _ work.Gradient = (*turns)(nil).gradient

// step takes in the local step of round k.
func (t *turns) step(g []float32, k int, x []float32, took time.Duration) {
	t.loss = t.script.Direction(g, x)
	t.sketch(g, k)
	t.share()
	if t.saving == k {
		t.timing.cost.Store(int64(max(0, took-t.timing.usual)))
	} else {
		t.timing.usual = took
	}
	spent := t.script.Spent()
	t.late.stepped(k, spent.Out+spent.Back-t.timing.spent)
	t.timing.spent = spent.Out + spent.Back
}

// sketch notes the step of round k. In some rounds it tells the others a sketch of the update, and the user which
// workers make the same ones.
func (t *turns) sketch(g []float32, k int) {
	if !sketched(k) || t.place.Size == 1 {
		t.states.stepped(k, nil)
		return
	}
	made := sketchOf(g, t.place.Seed, k)
	if same := t.states.stepped(k, &made); same != nil {
		t.log.Warn("these workers make the same updates: they train on the same batches", "workers", same, "round", k)
	}
	_ = t.tell() // the next sketch tells it again
}

// standIn does round k without a step of the script, which can give its state while it waits.
func (t *turns) standIn(v view, k int) error {
	t.late.stepped(k, 0)
	if err := t.script.AskState(k); err != nil && !errors.Is(err, bridge.ErrLeft) {
		return fate(err)
	}
	return nil
}

// publish changes the state of the script, and tells it to the others.
func (t *turns) publish(change func(p *pace.Pace) error) error {
	if err := t.states.change(change); err != nil {
		return err
	}
	return t.tell()
}

// tell gives the others the state of the script.
func (t *turns) tell() error {
	text, err := t.states.text()
	if topic := t.room.Topic(); err == nil && topic != nil {
		topic.Notify(text)
	}
	return err
}

// silent reports whether a worker is gone.
func (t *turns) silent(rank topology.Rank) bool {
	topic := t.room.Topic()
	return topic != nil && topic.Silent(rank)
}

// share tells the others the state of the script, if it is new and they need it. No worker does while all step.
func (t *turns) share() {
	if t.states.unshared() {
		_ = t.tell() // the next step tells it again
	}
}

// pulse is how often a worker that waits looks for workers that are gone.
const pulse = time.Second

// await waits until the script does something, or the state of another worker changes. It reports a step, and takes in
// everything else. It fails when done is closed. An interrupted run lets the step under way end.
func (t *turns) await(v view, k int, done <-chan struct{}) (stepped bool, err error) {
	acts, gone := t.script.Acts()
	if v.Left {
		acts, gone = nil, nil
	}
	tick := time.NewTimer(pulse)
	defer tick.Stop()
	select {
	case act := <-acts:
		return t.took(act, k)
	case <-gone:
		select {
		case act := <-acts: // came before the end
			return t.took(act, k)
		default:
		}
		if err := t.script.Lost(); err != nil {
			return false, fate(err)
		}
		return t.took(bridge.Act{Kind: bridge.Leaving}, k)
	case <-v.changed:
	case <-tick.C:
		return false, t.lose()
	case <-done:
		return false, errStopping
	}
	return false, nil
}

// took takes in an act of the script in its turn of round k, or after its last round.
func (t *turns) took(act bridge.Act, k int) (stepped bool, err error) {
	switch act.Kind {
	case bridge.Stepped:
		return true, nil
	case bridge.Calling:
		return false, t.called(act, k)
	case bridge.Finishing:
		t.call.keeps = true
		return false, t.publish(func(p *pace.Pace) error { p.Finish(); return nil })
	default:
		return false, t.publish(func(p *pace.Pace) error { p.Leave(); return nil })
	}
}

// lose counts workers that are gone as such, where the run goes on without them.
func (t *turns) lose() error {
	if !t.place.Sheds {
		return nil
	}
	return t.states.change(func(p *pace.Pace) error {
		for rank := range topology.Rank(t.place.Size) {
			if t.silent(rank) {
				p.Lose(rank)
			}
		}
		return nil
	})
}

// conclude tells the script the end of the rounds, and takes part in calls until no script makes one. It calls hurry
// when the script has given its last state and ctx has ended.
func (t *turns) conclude(ctx context.Context, end bridge.End, x []float32, hurry func()) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.publish(func(p *pace.Pace) error {
		p.Finish()
		return nil
	})
	if err == nil {
		err = t.reach(end.Round)
	}
	kept := make(chan struct{})
	told := false
	defer func() {
		if told {
			<-kept
		}
	}()
	for err == nil {
		var v view
		if v, err = t.states.view(end.Round); err != nil {
			return &Error{err}
		}
		switch {
		case v.verdict == pace.Meet:
			_, err = t.meet(v, end.Round, x)
			continue
		case !told && !v.waiting && !v.Left:
			err = t.script.End(end, x)
			if errors.Is(err, bridge.ErrLeft) {
				err = nil
			} else if err == nil {
				told, t.call.keeps = true, true
				go func() {
					defer close(kept)
					t.keepEnd(end.Round)
					context.AfterFunc(ctx, hurry)
				}()
			}
		case v.Left && t.alone():
			return nil
		}
		if err == nil {
			_, err = t.await(v, end.Round, ctx.Done())
		}
	}
	return err
}

// alone reports whether no other worker needs this one in a call: each has left, or is silent.
func (t *turns) alone() bool {
	return !slices.ContainsFunc(t.states.missing(), func(rank topology.Rank) bool { return !t.silent(rank) })
}

// stop tells the script that the run has stopped, and takes its last state.
func (t *turns) stop(end bridge.End, x []float32) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.reach(end.Round)
	if err == nil {
		err = t.script.End(end, x)
	}
	if err == nil {
		t.keepEnd(end.Round)
	}
	return err
}

// complain says for what the worker waits in round k.
func (t *turns) complain(k int) {
	v, err := t.states.view(k)
	switch {
	case err != nil:
	case v.waiting:
		t.log.Warn("the script waits in a call for other workers, which train on, or have not come to it", "call", v.Calls,
			"workers", t.states.missing(), "round", k)
	case !v.Finished:
		t.log.Warn("the script has not taken its step yet", "round", k)
	}
}

// saveBefore asks the script for its state before round k, in which it has not begun to train.
func (t *turns) saveBefore(k int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.saving = k
	t.script.SaveBefore(k)
}

// keepEnd waits for that state, if it is wanted.
func (t *turns) keepEnd(k int) {
	if t.keep == nil {
		return
	}
	blob, err := t.script.State(k)
	if err == nil {
		err = t.keep(blob)
	}
	if err != nil && !errors.Is(err, bridge.ErrFinished) {
		t.log.Warn("the state of the script after its last round is not kept", "why", err)
	}
}

// state waits for the state before round k. A script that takes no step from there on gives none. Its Ended has the
// number of rounds that it reached, and whether it has left.
func (t *turns) state(k int) (s State, err error) {
	if v, _ := t.states.view(k); v.Finished && v.Reached <= k {
		left := byte(0)
		if v.Left {
			left = 1
		}
		return State{Ended: append(binary.LittleEndian.AppendUint64(nil, uint64(v.Reached)), left)}, nil
	}
	s.Blob, err = t.script.State(k)
	return s, err
}

// restore takes in what state has returned before a restart.
func (t *turns) restore(ended []byte) (left bool, err error) {
	if ended == nil {
		return false, nil
	}
	if len(ended) != 9 || binary.LittleEndian.Uint64(ended) > uint64(t.place.Most) {
		return false, errors.New("script: the checkpoint does not say how the script had ended")
	}
	left = ended[8] == 1
	err = t.states.change(func(p *pace.Pace) error {
		if k := int(binary.LittleEndian.Uint64(ended)); k > 0 {
			p.Step(k - 1)
		}
		p.Finish()
		if left {
			p.Leave()
		}
		return nil
	})
	return left, err
}
