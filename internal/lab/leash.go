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
	round   int          // begun last, −1 before the first
	asked   *int         // round of which the supervisor wants to hear; nil: of none
	under   Conditions
	obey    func(Conditions) // nil: nobody does yet
	obeying sync.Mutex       // one call at a time

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
		out: json.NewEncoder(out), through: map[int]bool{}, round: -1, roster: make(chan []Contact, 1),
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
		case o.Conditions != nil:
			l.condition(*o.Conditions)
		case o.Tell != nil:
			l.ask(*o.Tell)
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

// condition takes in the conditions that hold from now on.
func (l *Leash) condition(c Conditions) {
	l.mu.Lock()
	l.under = c
	l.mu.Unlock()
	l.submit()
}

// submit makes the peer obey the present conditions.
func (l *Leash) submit() {
	l.obeying.Lock()
	defer l.obeying.Unlock()
	l.mu.Lock()
	obey, under := l.obey, l.under
	l.mu.Unlock()
	if obey != nil {
		obey(under)
	}
}

// Obey makes the leash call f with the conditions of a script: now, and whenever they
// change, one call at a time. f must not block for long.
func (l *Leash) Obey(f func(Conditions)) {
	l.mu.Lock()
	l.obey = f
	l.mu.Unlock()
	l.submit()
}

// ask notes of which round the supervisor wants to hear.
func (l *Leash) ask(round int) {
	l.mu.Lock()
	l.asked = &round
	l.mu.Unlock()
	l.answer()
}

// Begins notes that this peer begins a round, and tells the supervisor if it has asked.
func (l *Leash) Begins(round int) {
	l.mu.Lock()
	l.round = max(l.round, round)
	l.mu.Unlock()
	l.answer()
}

// answer tells the supervisor of the round that it has asked for, if that has begun.
func (l *Leash) answer() {
	l.mu.Lock()
	round, due := l.round, l.asked != nil && l.round >= *l.asked
	if due {
		l.asked = nil
	}
	l.mu.Unlock()
	if due {
		_ = l.say(notice{Begins: &round}) // fails only if the parent is gone
	}
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

// Hold returns a channel that is closed when this peer may begin no further round.
func (l *Leash) Hold() <-chan struct{} { return l.hold }

// Held says how many rounds this peer has begun, of those that it will begin until
// Ended.
func (l *Leash) Held(begun int) { _ = l.say(notice{Begun: &begun}) } // fails only if the parent is gone

// Ended returns a channel that is closed when Last is known.
func (l *Leash) Ended() <-chan struct{} { return l.known }

// Last returns how many rounds the run has, after Ended.
func (l *Leash) Last() int { return l.last }
