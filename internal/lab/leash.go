package lab

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

// A Leash is a supervised peer's connection to its supervisor. Its methods may
// be called from several goroutines.
type Leash struct {
	mu      sync.Mutex
	out     *json.Encoder
	through map[int]bool // by rank

	roster chan []Contact
	hold   chan struct{} // closed when no further round may begin
	known  chan struct{} // closed when last is set
	last   int
	ended  chan struct{} // closed when the peer is to end
	cause  error         // set before ended is closed
}

// Attach returns the leash over a supervised process's standard input and
// output. Nothing else may use them from then on.
func Attach(in io.Reader, out io.Writer) *Leash {
	l := &Leash{
		out: json.NewEncoder(out), through: map[int]bool{}, roster: make(chan []Contact, 1),
		hold: make(chan struct{}), known: make(chan struct{}), ended: make(chan struct{}),
	}
	go l.listen(in)
	return l
}

func (l *Leash) listen(in io.Reader) {
	defer close(l.ended)
	orders := json.NewDecoder(in)
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			l.cause = ErrParentGone
			return
		}
		switch {
		case o.Stop:
			l.cause = ErrStopped
			return
		case o.Hold:
			once(l.hold)
		case o.Through != nil:
			l.noteThrough(o.Through)
		case o.End > 0:
			if l.last == 0 {
				l.last = o.End
			}
			once(l.known)
		default:
			select {
			case l.roster <- o.Roster:
			default: // a second roster has no meaning
			}
		}
	}
}

func (l *Leash) noteThrough(ranks []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, rank := range ranks {
		l.through[rank] = true
	}
}

// Through reports whether a peer is known to have done its work and to be gone.
func (l *Leash) Through(rank int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.through[rank]
}

// once closes c, which no other goroutine does, if it is open.
func once(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// Context returns a context that is cancelled, with one of the errors above as
// its cause, when the peer is to end.
func (l *Leash) Context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	go func() {
		select {
		case <-l.ended:
			cancel(l.cause)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// Introduce says where this peer can be reached and waits for the roster, in
// rank order.
func (l *Leash) Introduce(ctx context.Context, self Contact) ([]Contact, error) {
	if err := l.say(notice{Ready: &self}); err != nil {
		return nil, err
	}
	select {
	case roster := <-l.roster:
		return roster, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Report passes an event on.
func (l *Leash) Report(e record.Event) error { return l.say(notice{Event: &e}) }

// Done says that this peer's work is over and waits until no other needs it.
func (l *Leash) Done() error {
	if err := l.say(notice{Done: true}); err != nil {
		return err
	}
	<-l.ended
	return nil
}

// Fail says why this peer gives up; the process should end after it.
func (l *Leash) Fail(f Failure) error { return l.say(notice{Failed: &f}) }

func (l *Leash) say(n notice) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.out.Encode(n); err != nil {
		return fmt.Errorf("lab: to the supervisor: %w", err)
	}
	return nil
}
