package script

import (
	"bytes"
	"encoding/json"
	"sync"

	"gossiptrainer/gossip/pace"
	"gossiptrainer/topology"
)

// A crew is what a worker knows of the scripts of all workers, its own included.
type crew struct {
	lock    sync.Mutex
	pace    *pace.Pace    // nil before begin
	size    int           // workers
	most    int           // rounds
	changed chan struct{} // closed and replaced when the state of another worker is new
	shared  int           // steps that the others have been told of
	broken  error         // why the calls of the scripts do not fit
}

// begin sets the place of the worker.
func (c *crew) begin(p Place) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.pace, c.size, c.most = pace.New(topology.Rank(p.Rank), p.Size, p.Free), p.Size, p.Most
	c.changed = make(chan struct{})
}

// hear returns what to do with the state of another worker's script, nil if no script can be in it.
func (c *crew) hear(from topology.Rank, text []byte) func() {
	var s pace.State
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	c.lock.Lock()
	size, most := c.size, c.most
	c.lock.Unlock()
	if d.Decode(&s) != nil || s.Check(size, most) != nil {
		return nil
	}
	return func() {
		c.lock.Lock()
		defer c.lock.Unlock()
		if err := c.pace.Heard(from, s); err != nil && c.broken == nil {
			c.broken = err
		}
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

// change changes what this worker knows, and returns the state of its script for the others.
func (c *crew) change(f func(p *pace.Pace) error) (text []byte, err error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if err := f(c.pace); err != nil {
		return nil, err
	}
	c.shared = c.pace.Own().Reached
	return json.Marshal(c.pace.Own())
}

// unshared returns the state of the script, nil if the others know it or do not need it.
func (c *crew) unshared() []byte {
	c.lock.Lock()
	own := c.pace.Own()
	needed := c.pace.Watched() && own.Reached > c.shared
	c.lock.Unlock()
	if !needed {
		return nil
	}
	text, err := c.change(func(*pace.Pace) error { return nil })
	if err != nil {
		return nil
	}
	return text
}

// A view is what a worker knows at the boundary of a round.
type view struct {
	pace.State                 // of its own script
	waiting    bool            // the script waits in a call
	verdict    pace.Verdict    // where the script takes no step
	call       int             // of the verdict Meet
	missing    []topology.Rank // for whom the script waits, or who has not left
	changed    <-chan struct{} // closed when this may have changed
}

func (c *crew) view(k int) (v view, err error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	v = view{State: c.pace.Own(), waiting: c.pace.Waiting(), missing: c.pace.Missing(), changed: c.changed}
	v.verdict, v.call = c.pace.Next(k)
	return v, c.broken
}

// parts returns the contributions of the workers to a call, by rank, and its kind.
func (c *crew) parts(call int) (kind pace.Kind, parts map[topology.Rank]pace.Call) {
	c.lock.Lock()
	defer c.lock.Unlock()
	parts = c.pace.Calls(call)
	for _, p := range parts {
		kind = p.Kind
	}
	return kind, parts
}

// stepped notes a step of round k.
func (c *crew) stepped(k int) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.pace.Step(k)
}
