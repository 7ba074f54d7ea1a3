package script

import (
	"time"

	"gossiptrainer/internal/work"
)

// patience is how long a script may take for one step before the log says so.
const patience = time.Minute

// Gradient is a work.Gradient: the script takes the local step of round k from x to some y, and g is x − y.
func (c *Child) Gradient(g []float32, k int, x []float32) (float32, error) {
	c.turn.Lock()
	defer c.turn.Unlock()
	late := time.AfterFunc(patience, func() {
		c.o.Log.Warn("the script has not taken its step yet", "round", k)
	})
	defer late.Stop()
	began := time.Now()
	loss, err := c.script.Gradient(g, k, x)
	if err != nil {
		return loss, c.fate(err)
	}
	took := time.Since(began)
	if c.saving == k {
		c.cost.Store(int64(max(0, took-c.usual)))
	} else {
		c.usual = took
	}
	spent := c.script.Spent()
	c.Late.stepped(k, spent.Out+spent.Back-c.spent)
	c.spent = spent.Out + spent.Back
	return loss, nil
}

var _ work.Gradient = (*Child)(nil).Gradient

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

// Cost is how much longer the last step with a state took than the one before.
func (c *Child) Cost() time.Duration { return time.Duration(c.cost.Load()) }
