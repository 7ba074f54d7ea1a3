package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"gossiptrainer/internal/record"
)

// Reasons for which a supervised peer is stopped, as context.Cause tells them.
var (
	ErrStopped    = errors.New("lab: stopped by the supervisor")
	ErrParentGone = errors.New("lab: the supervisor is gone")
)

// A Client is a supervised peer's end of the connection to its supervisor. Several goroutines may call
// its methods.
type Client struct {
	mu         sync.Mutex
	out        *json.Encoder
	finished   map[int]bool // by rank
	round      int          // begun last, −1 before the first
	asked      *int         // round for which the supervisor has asked; nil: none
	conditions Conditions
	apply      func(Conditions) // nil before Obey
	applying   sync.Mutex       // held during a call of apply

	roster chan []Contact
	leaves chan struct{} // closed when the peer must leave
	hold   chan struct{} // closed when no further round may begin
	known  chan struct{} // closed when last is set
	last   int
	ended  chan struct{} // closed when the peer must end
	cause  error         // set before ended is closed
}

// Attach returns the client over a supervised process's standard input and output. Nothing else
// may use them from then on.
func Attach(in io.Reader, out io.Writer) *Client {
	c := &Client{
		out: json.NewEncoder(out), finished: map[int]bool{}, round: -1, roster: make(chan []Contact, 1),
		leaves: make(chan struct{}),
		hold:   make(chan struct{}), known: make(chan struct{}), ended: make(chan struct{}),
	}
	go c.listen(in)
	return c
}

func (c *Client) listen(in io.Reader) {
	defer close(c.ended)
	orders := json.NewDecoder(in)
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			c.cause = ErrParentGone
			return
		}
		switch {
		case o.Stop:
			c.cause = ErrStopped
			return
		case o.Leave:
			closeOnce(c.leaves)
		case o.Hold:
			closeOnce(c.hold)
		case o.Conditions != nil:
			c.setConditions(*o.Conditions)
		case o.Tell != nil:
			c.ask(*o.Tell)
		case o.Finished != nil:
			c.noteFinished(o.Finished)
		case o.End > 0:
			if c.last == 0 {
				c.last = o.End
			}
			closeOnce(c.known)
		default:
			select {
			case c.roster <- o.Roster:
			default: // a second roster has no meaning
			}
		}
	}
}

func (c *Client) noteFinished(ranks []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rank := range ranks {
		c.finished[rank] = true
	}
}

// Finished reports whether a peer has done its work and its process has ended, as far as known.
func (c *Client) Finished(rank int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.finished[rank]
}

// setConditions stores the new conditions and applies them.
func (c *Client) setConditions(now Conditions) {
	c.mu.Lock()
	c.conditions = now
	c.mu.Unlock()
	c.applyConditions()
}

// applyConditions calls the function of Obey with the present conditions.
func (c *Client) applyConditions() {
	c.applying.Lock()
	defer c.applying.Unlock()
	c.mu.Lock()
	apply, now := c.apply, c.conditions
	c.mu.Unlock()
	if apply != nil {
		apply(now)
	}
}

// Obey makes the client call f with the conditions of a script: now, and whenever they
// change, one call at a time. f must not block for long.
func (c *Client) Obey(f func(Conditions)) {
	c.mu.Lock()
	c.apply = f
	c.mu.Unlock()
	c.applyConditions()
}

// ask stores the round for which the supervisor has asked.
func (c *Client) ask(round int) {
	c.mu.Lock()
	c.asked = &round
	c.mu.Unlock()
	c.answer()
}

// Begins notes that this peer begins a round. It tells the supervisor if that has asked.
func (c *Client) Begins(round int) {
	c.mu.Lock()
	c.round = max(c.round, round)
	c.mu.Unlock()
	c.answer()
}

// answer tells the supervisor of the begun round if that has asked for it.
func (c *Client) answer() {
	c.mu.Lock()
	round, due := c.round, c.asked != nil && c.round >= *c.asked
	if due {
		c.asked = nil
	}
	c.mu.Unlock()
	if due {
		_ = c.say(notice{Begins: &round}) // fails only if the parent is gone
	}
}

// closeOnce closes done if it is open. No other goroutine closes it.
func closeOnce(done chan struct{}) {
	select {
	case <-done:
	default:
		close(done)
	}
}

// Context returns a context that is cancelled, with one of the errors above as its cause, when the
// peer must end.
func (c *Client) Context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	go func() {
		select {
		case <-c.ended:
			cancel(c.cause)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// Introduce sends this peer's contact and waits for the roster, in rank order.
func (c *Client) Introduce(ctx context.Context, self Contact) ([]Contact, error) {
	if err := c.say(notice{Ready: &self}); err != nil {
		return nil, err
	}
	select {
	case roster := <-c.roster:
		return roster, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Leaves returns a channel that is closed when this peer must leave the run, while the others go on.
func (c *Client) Leaves() <-chan struct{} { return c.leaves }

// Seated reports the id of this peer as a member. A later one replaces it.
func (c *Client) Seated(id int) { _ = c.say(notice{Member: &id}) } // fails only if the parent is gone

// Report sends an event to the supervisor.
func (c *Client) Report(e record.Event) error { return c.say(notice{Event: &e}) }

// Done reports that this peer's work is over, and waits until no other peer needs it.
func (c *Client) Done() error {
	if err := c.say(notice{Done: true}); err != nil {
		return err
	}
	<-c.ended
	return nil
}

// Fail reports why this peer gives up; the process should end after it.
func (c *Client) Fail(f Failure) error { return c.say(notice{Failed: &f}) }

func (c *Client) say(n notice) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.out.Encode(n); err != nil {
		return fmt.Errorf("lab: to the supervisor: %w", err)
	}
	return nil
}

// Hold returns a channel that is closed when this peer may begin no further round.
func (c *Client) Hold() <-chan struct{} { return c.hold }

// Held reports how many rounds this peer has begun. It begins no other before Ended.
func (c *Client) Held(begun int) { _ = c.say(notice{Begun: &begun}) } // fails only if the parent is gone

// Ended returns a channel that is closed when Last is known.
func (c *Client) Ended() <-chan struct{} { return c.known }

// Last returns the number of rounds of the run, after Ended.
func (c *Client) Last() int { return c.last }
