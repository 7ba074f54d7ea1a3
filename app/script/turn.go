package script

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"gossiptrainer/gossip/pace"
	"gossiptrainer/internal/bridge"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

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
	t.newest.lend(moment{k, x})
	defer t.newest.back()
	for handed := false; ; {
		v, err := t.states.view(k)
		switch {
		case err != nil:
			return 0, &Error{err}
		case v.stop != "" && !v.Finished && (!handed || v.waiting || v.Paused()):
			if err := t.heed(v); err != nil {
				return 0, err
			}
			continue
		case v.Finished || v.waiting || v.Paused():
			handed = handed && !v.Paused()
			switch v.verdict {
			case pace.StandIn:
				clear(g)
				return t.loss, t.standIn(v, moment{k, x})
			case pace.Over:
				t.over = true
				t.newest.copy(moment{k, x})
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
		stepped, err := t.await(v, moment{k, x}, t.stopping)
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
	var y []float32
	t.loss, y = t.script.Direction(g, x)
	t.newest.set(moment{k + 1, y})
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

// heed finishes the worker, whose script has not the vector, because another script has stopped the run.
func (t *turns) heed(v view) error {
	t.log.Info("a script has stopped the run", "worker", v.stopper, "why", v.stop)
	return t.publish(func(p *pace.Pace) error { p.Finish(); return nil })
}

// standIn does round k without a step of the script, which can give its state while it waits.
func (t *turns) standIn(v view, now moment) error {
	k := now.k
	t.newest.copy(now)
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
	if topic := t.room.topic(); err == nil && topic != nil {
		topic.Notify(text)
	}
	return err
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
func (t *turns) await(v view, now moment, done <-chan struct{}) (stepped bool, err error) {
	acts, gone := t.script.Acts()
	if v.Left {
		acts, gone = nil, nil
		if err := t.script.Lost(); err != nil { // its exit code says that it did not end well
			return false, fate(err)
		}
	}
	tick := time.NewTimer(pulse)
	defer tick.Stop()
	select {
	case act := <-acts:
		return t.took(act, now)
	case found := <-t.newest.found:
		return false, t.answerNewest(found)
	case <-gone:
		select {
		case act := <-acts: // came before the end
			return t.took(act, now)
		default:
		}
		if err := t.script.Lost(); err != nil {
			return false, fate(err)
		}
		return t.took(bridge.Act{Kind: bridge.Leaving}, now)
	case <-v.changed:
	case <-tick.C:
		return false, t.lose()
	case <-done:
		return false, errStopping
	}
	return false, nil
}

// took takes in an act of the script in its turn of a round, or after its last one.
func (t *turns) took(act bridge.Act, now moment) (stepped bool, err error) {
	switch k := now.k; act.Kind {
	case bridge.Stepped:
		return true, nil
	case bridge.Calling:
		if act.Request.Kind == bridge.Newest {
			t.seekNewest(act.Request, now)
			return false, nil
		}
		return false, t.called(act, k)
	case bridge.Stopping:
		t.log.Info("the script of this worker has stopped the run", "why", act.Why, "round", k)
		return false, t.publish(func(p *pace.Pace) error { p.Stop(act.Why); return nil })
	case bridge.Pausing:
		return false, t.publish(func(p *pace.Pace) error { p.Pause(); return nil })
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
			if t.room.silent(rank) {
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
		p.End()
		return nil
	})
	if err == nil {
		err = t.reach(end.Round)
	}
	t.newest.set(moment{end.Round, x})
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
		case v.cuts:
			err = t.publish(func(p *pace.Pace) error { end.Cut = p.Cut(); return nil })
			continue
		case v.verdict == pace.Meet:
			_, err = t.meet(v, end.Round, x)
			continue
		case !told && !v.waiting && !v.Left && !v.Paused():
			err = t.script.End(end, x)
			if errors.Is(err, bridge.ErrLeft) {
				err = nil
			} else if err == nil {
				finished := t.call.keeps // and gives no state
				told, t.call.keeps = true, true
				err = t.states.change(func(p *pace.Pace) error { p.Told(); return nil })
				go func() {
					defer close(kept)
					if !finished {
						t.keepEnd(end.Round)
					}
					context.AfterFunc(ctx, hurry)
				}()
			}
		case v.Left && t.alone():
			return nil
		}
		if err == nil {
			_, err = t.await(v, moment{end.Round, x}, ctx.Done())
		}
	}
	return err
}

// alone reports whether no other worker needs this one in a call: each has left, or is silent.
func (t *turns) alone() bool {
	return !slices.ContainsFunc(t.states.missing(), func(rank topology.Rank) bool { return !t.room.silent(rank) })
}

// stop tells the script that the run has stopped, and takes its last state.
func (t *turns) stop(end bridge.End, x []float32) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	end.Cut = true
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
	case !v.Finished && !v.Paused():
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
	gone := errors.Is(err, bridge.ErrLeft) || errors.Is(err, bridge.ErrFinished) // a script that has ended resumes nothing
	if err != nil && !gone {
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
		ended := append(binary.LittleEndian.AppendUint64(nil, uint64(v.Reached)), left)
		return State{Ended: append(ended, v.Stop...)}, nil
	}
	if s.Blob, err = t.script.State(k); err != nil {
		if v, _ := t.states.view(k); v.Paused() {
			err = errors.New("the script has left its peer for now, so that it has no state")
		}
	}
	return s, err
}

// restore takes in what state has returned before a restart.
func (t *turns) restore(ended []byte) (left bool, err error) {
	if ended == nil {
		return false, nil
	}
	if len(ended) < 9 || len(ended) > 9+pace.MaxStop || binary.LittleEndian.Uint64(ended) > uint64(t.place.Most) {
		return false, errors.New("script: the checkpoint does not say how the script had ended")
	}
	left = ended[8] == 1
	err = t.states.change(func(p *pace.Pace) error {
		if k := int(binary.LittleEndian.Uint64(ended)); k > 0 {
			p.Step(k - 1)
		}
		p.Finish()
		if stop := string(ended[9:]); stop != "" {
			p.Stop(stop)
		}
		if left {
			p.Leave()
		}
		return nil
	})
	return left, err
}
