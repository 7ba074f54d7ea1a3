// Package signals ends a command after an interrupt or a termination signal. The first one ends it in order. The second
// one ends it at once, and so does a command that takes too long.
package signals

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// An Error ends a command after a signal.
type Error struct{ Signal os.Signal }

func (e *Error) Error() string { return "stopped by signal: " + e.Signal.String() }

// usual is how long after a signal the process ends in any case: users expect an end within two seconds.
const usual = 1900 * time.Millisecond

// A Resort is how long after a signal the process ends in any case. Its methods may be called from several goroutines.
type Resort struct{ more atomic.Int64 }

// Extend gives the command more time, as for a script that saves its state.
func (r *Resort) Extend(more time.Duration) { r.more.Store(int64(more)) }

func (r *Resort) after() <-chan time.Time { return time.After(usual + time.Duration(r.more.Load())) }

// Context returns a context that the first signal cancels with an *Error. A second signal, or the end of the resort,
// calls giveUp with the error of that signal. giveUp must end the process and not return.
func Context(parent context.Context, r *Resort, giveUp func(error)) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer signal.Stop(signals)
		select {
		case s := <-signals:
			cancel(&Error{s})
			select {
			case s = <-signals:
			case <-r.after():
			}
			giveUp(&Error{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}
