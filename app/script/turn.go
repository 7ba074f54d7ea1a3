package script

import (
	"context"
	"encoding/binary"
	"errors"
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

// Gradient is a work.Gradient: the script takes the local step of round k from x to some y, and g is x − y. A script
// that has finished, or waits for others, takes none: then g is 0, or work.ErrOver says that round k does not take
// place.
func (c *Child) Gradient(g []float32, k int, x []float32) (float32, error) {
	c.turn.Lock()
	defer c.turn.Unlock()
	began := time.Now()
	late := time.AfterFunc(patience, func() { c.complain(k) })
	defer late.Stop()
	for handed := false; ; {
		v, err := c.view(k)
		switch {
		case err != nil:
			return 0, &Error{err}
		case v.Finished || v.waiting:
			switch v.verdict {
			case pace.StandIn:
				clear(g)
				return c.script.Loss(), c.standIn(v, k)
			case pace.Over:
				c.script.NoState(k)
				return 0, work.ErrOver
			case pace.Meet:
				moved, err := c.meet(v, k, x)
				if err != nil {
					return 0, err
				}
				handed = handed && !moved
				continue
			}
		case !handed:
			if err := c.script.Go(k, x); err != nil && !errors.Is(err, bridge.ErrLeft) {
				return 0, c.fate(err)
			}
			handed = true
		}
		stepped, err := c.await(v, k)
		if err != nil {
			return 0, err
		}
		if stepped {
			return c.step(g, k, x, time.Since(began)), nil
		}
	}
}

var _ work.Gradient = (*Child)(nil).Gradient

// step takes in the local step of round k.
func (c *Child) step(g []float32, k int, x []float32, took time.Duration) (loss float32) {
	loss = c.script.Direction(g, x)
	c.stepped(k)
	c.share()
	if c.saving == k {
		c.cost.Store(int64(max(0, took-c.usual)))
	} else {
		c.usual = took
	}
	spent := c.script.Spent()
	c.Late.stepped(k, spent.Out+spent.Back-c.spent)
	c.spent = spent.Out + spent.Back
	return loss
}

// standIn does round k without a step of the script. A script that waits can give its state meanwhile.
func (c *Child) standIn(v view, k int) error {
	c.Late.stepped(k, 0)
	if v.waiting && !c.keeps {
		if err := c.script.AskState(k); err != nil && !errors.Is(err, bridge.ErrLeft) {
			return c.fate(err)
		}
		return nil
	}
	c.script.NoState(k)
	return nil
}

// publish changes what is known of the script, and tells the others its state.
func (c *Child) publish(change func(p *pace.Pace) error) error {
	text, err := c.change(change)
	if err == nil {
		c.room.Load().Notify(text)
	}
	return err
}

// share tells the others the state of the script, if it is new and they need it. Nobody does while all step.
func (c *Child) share() {
	if text := c.unshared(); text != nil {
		c.room.Load().Notify(text)
	}
}

// pulse is how often a worker that waits looks for workers that are gone.
const pulse = time.Second

// await waits until the script does something, or the state of another worker changes. It reports a step, and takes in
// everything else.
func (c *Child) await(v view, k int) (stepped bool, err error) {
	acts, gone := c.script.Acts(), c.script.Gone()
	if v.Left {
		acts, gone = nil, nil
	}
	room, tick := c.room.Load(), time.NewTimer(pulse)
	defer tick.Stop()
	select {
	case act := <-acts:
		return c.took(act, k)
	case <-gone:
		select {
		case act := <-acts: // came before the end
			return c.took(act, k)
		default:
		}
		if err := c.script.Lost(); err != nil {
			return false, c.fate(err)
		}
		return c.took(bridge.Act{Kind: bridge.Leaving}, k)
	case <-v.changed:
	case <-tick.C:
		return false, c.lose()
	case <-c.stopping:
		return false, errStopping
	case <-room.ctx.Done():
		return false, context.Cause(room.ctx)
	}
	return false, nil
}

// took takes in an act of the script in its turn of round k, or after its last round.
func (c *Child) took(act bridge.Act, k int) (stepped bool, err error) {
	switch act.Kind {
	case bridge.Stepped:
		return true, nil
	case bridge.Calling:
		return false, c.called(act, k)
	case bridge.Finishing:
		c.keeps = true
		return false, c.publish(func(p *pace.Pace) error { p.Finish(); return nil })
	default:
		return false, c.publish(func(p *pace.Pace) error { p.Leave(); return nil })
	}
}

// lose counts workers that are gone as such, where the run goes on without them.
func (c *Child) lose() error {
	if !c.place.Sheds {
		return nil
	}
	room := c.room.Load()
	_, err := c.change(func(p *pace.Pace) error {
		for rank := range topology.Rank(c.place.Size) {
			if room.Silent(rank) {
				p.Lose(rank)
			}
		}
		return nil
	})
	return err
}

// complain says for what the worker waits in round k.
func (c *Child) complain(k int) {
	v, err := c.view(k)
	switch {
	case err != nil:
	case v.waiting:
		c.o.Log.Warn("the script waits in a call for other workers, which train on, or have not come to it", "call", v.Calls,
			"workers", v.missing, "round", k)
	case !v.Finished:
		c.o.Log.Warn("the script has not taken its step yet", "round", k)
	}
}

// SaveBefore asks the script for its state before round k, in which it has not begun to train.
func (c *Child) SaveBefore(k int) {
	c.turn.Lock()
	defer c.turn.Unlock()
	c.saving = k
	c.script.SaveBefore(k)
}

// State waits for the state before round k.
func (c *Child) State(k int) ([]byte, error) { return c.script.State(k) }

// AtEnd has keep called with the state of the script after its last round, for which SaveBefore has asked.
func (c *Child) AtEnd(keep func(blob []byte) error) { c.keep = keep }

// keepEnd waits for that state, if it is wanted.
func (c *Child) keepEnd(k int) {
	if c.keep == nil {
		return
	}
	blob, err := c.script.State(k)
	if err == nil {
		err = c.keep(blob)
	}
	if err != nil {
		c.o.Log.Warn("the state of the script after its last round is not kept", "why", err)
	}
}

// Ended returns what restore needs of a script that takes no step from round k on, nil for others: the rounds that it reached,
// and whether it has left.
func (c *Child) Ended(k int) []byte {
	v, err := c.view(k)
	if err != nil || !v.Finished || v.Reached > k {
		return nil
	}
	left := byte(0)
	if v.Left {
		left = 1
	}
	return append(binary.LittleEndian.AppendUint64(nil, uint64(v.Reached)), left)
}

// restore takes in what Ended has returned before a restart.
func (c *Child) restore(ended []byte) (left bool, err error) {
	if ended == nil {
		return false, nil
	}
	if len(ended) != 9 || binary.LittleEndian.Uint64(ended) > uint64(c.place.Most) {
		return false, errors.New("script: the checkpoint does not say how the script had ended")
	}
	left = ended[8] == 1
	_, err = c.change(func(p *pace.Pace) error {
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

// Cost is how much longer the last step with a state took than the one before.
func (c *Child) Cost() time.Duration { return time.Duration(c.cost.Load()) }
