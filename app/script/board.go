package script

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"gossiptrainer/gossip/pace"
	views "gossiptrainer/gossip/view"
	"gossiptrainer/internal/vec"
	"gossiptrainer/node/hall"
)

// These are the things that members ask each other for their scripts.
const (
	askHello  = "hello"  // nothing, at once
	askStart  = "start"  // the vector with which the founders begin
	askBegin  = "begin"  // nothing, when all founders have it
	askPart   = "part"   // the part of a call
	askNewest = "newest" // the newest vector, with its round
	askGone   = "gone"   // nothing, when the script has ended after the run
)

// A part is what a member gives to a call.
type part struct {
	Kind  pace.Kind `json:"kind,omitempty"`
	Op    string    `json:"op,omitempty"`
	Root  int       `json:"root,omitempty"`
	Ranks []int     `json:"ranks,omitempty"`
	// Ended says that the script makes no such call. After the last round the member gives its model all the same.
	Ended bool   `json:"ended,omitempty"`
	raw   []byte // values of a reduce, bytes of a broadcast's root, or the model for a mean
}

// agrees reports whether two scripts make the same call.
func (p part) agrees(q part) bool {
	return p.Kind == q.Kind && p.Op == q.Op && p.Root == q.Root && slices.Equal(p.Ranks, q.Ranks) &&
		(p.Kind != pace.Reduce || len(p.raw) == len(q.raw))
}

// encode returns the part as bytes: the length of a JSON text as u32, the text, and the raw bytes.
func (p part) encode() ([]byte, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(text)+len(p.raw)), uint32(len(text)))
	return append(append(b, text...), p.raw...), nil
}

var errPart = errors.New("malformed part of a call")

// decodePart reads a part of another member.
func decodePart(b []byte) (p part, err error) {
	if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
		return p, errPart
	}
	end := 4 + binary.LittleEndian.Uint32(b)
	if err := json.Unmarshal(b[4:end], &p); err != nil {
		return p, errPart
	}
	p.raw = b[end:]
	return p, nil
}

// A callKey names a call: those of one round are counted from 0. A newcomer has not made those of earlier rounds.
type callKey struct{ round, call int }

// keptCalls is how many calls of this script others may still ask for: none is more than one call ahead of another.
const keptCalls = 2

// A board is what a member knows of its script that others may ask for. Several goroutines may call its methods.
type board struct {
	lock    sync.Mutex
	changed chan struct{} // closed and replaced at each change
	start   []float32     // of the founders
	fetched map[string]bool
	begun   bool // all founders have the start
	id      views.ID
	round   int // that the script is in, -1 before the first; one that takes no further step stays in its last
	last    int // rounds of the run
	parts   map[callKey][]byte
	order   []callKey // of parts
	idle    bool      // the script takes no further step
	final   []float32 // after the last round; nil before
	left    bool      // the script has ended
	gone    map[string]bool
	dead    map[views.ID]bool
	newest  newest
}

func newBoard(rounds int) *board {
	return &board{changed: make(chan struct{}), fetched: map[string]bool{}, round: -1, last: rounds,
		parts: map[callKey][]byte{}, gone: map[string]bool{}, dead: map[views.ID]bool{}}
}

// change changes the board, and wakes those that wait.
func (b *board) change(f func()) {
	b.lock.Lock()
	defer b.lock.Unlock()
	f()
	close(b.changed)
	b.changed = make(chan struct{})
}

// wait calls f, with the lock held, until it reports that there is something, or ctx ends.
func (b *board) wait(ctx context.Context, f func() bool) error {
	for {
		b.lock.Lock()
		there, changed := f(), b.changed
		b.lock.Unlock()
		if there {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// until returns a context that ends when f, called with the lock held, reports that there is something.
func (b *board) until(parent context.Context, f func() bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	go func() {
		if b.wait(ctx, f) == nil {
			cancel()
		}
	}()
	return ctx, cancel
}

// put enters the part of a call.
func (b *board) put(k callKey, part []byte) {
	b.change(func() {
		b.parts[k], b.order = part, append(b.order, k)
		if len(b.order) > keptCalls {
			delete(b.parts, b.order[0])
			b.order = b.order[1:]
		}
	})
}

// give is a hall.Give.
func (b *board) give(ctx context.Context, from string, r hall.Request) (body []byte, err error) {
	switch r.What {
	case askHello:
		return nil, nil
	case askStart:
		err = b.wait(ctx, func() bool { return b.start != nil })
		return vec.AppendLE(nil, b.start), err
	case askBegin:
		b.change(func() { b.fetched[from] = true })
		return nil, b.wait(ctx, func() bool { return b.begun })
	case askNewest:
		y, err := b.newest.get()
		if err != nil {
			return nil, &hall.AbsentError{Why: err.Error()}
		}
		return vec.AppendLE(nil, y), nil
	case askGone:
		b.change(func() { b.gone[from] = true })
		return nil, b.wait(ctx, func() bool { return b.left })
	case askPart:
		var found error
		err = b.wait(ctx, func() (there bool) {
			body, there, found = b.part(r)
			return there || found != nil
		})
		if err == nil {
			err = found
		}
		return body, err
	}
	return nil, &hall.AbsentError{Why: fmt.Sprintf("no script gives %q", r.What)}
}

// part returns the part of a call, if it is known. The lock is held.
func (b *board) part(r hall.Request) (body []byte, there bool, err error) {
	ended := func(model []float32) ([]byte, bool, error) {
		body, err := part{Ended: true, raw: vec.AppendLE(nil, model)}.encode()
		return body, true, err
	}
	if body, there := b.parts[callKey{r.Round, r.Call}]; there && b.id == r.To {
		return body, true, nil
	}
	switch {
	case b.round >= 0 && b.id != r.To: // it was taken for dead, and is back
		return ended(nil)
	case r.Round == b.last && b.final != nil && b.left:
		return ended(b.final)
	case r.Round < b.round:
		return nil, false, &hall.AbsentError{Why: fmt.Sprintf("its script is in round %d, and has made no such call in "+
			"round %d", b.round, r.Round)}
	case r.Round < b.last && b.idle:
		return ended(nil)
	}
	return nil, false, nil
}
