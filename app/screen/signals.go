package screen

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// A SignalError ends a command after a signal.
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string { return "stopped by signal: " + e.Signal.String() }

// usual is how long after a signal the process ends in any case: users expect an end within two seconds.
const usual = 1900 * time.Millisecond

// A Resort is how long after a signal the process ends in any case. Its methods may be called from several goroutines.
type Resort struct{ more atomic.Int64 }

// Extend gives the command more time, as for a script that saves its state.
func (r *Resort) Extend(more time.Duration) { r.more.Store(int64(more)) }

func (r *Resort) after() <-chan time.Time { return time.After(usual + time.Duration(r.more.Load())) }

// SignalContext returns a context that the first signal cancels with an *SignalError. A second signal, or the end of
// the resort, calls giveUp with the error of that signal. giveUp must end the process and not return.
//
// A hangup counts unless it is ignored, as under nohup. It never gives up: the kernel and the shell both send one when
// a terminal closes, also to a command that ends already.
func SignalContext(parent context.Context, r *Resort, giveUp func(error)) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		defer signal.Stop(signals)
		select {
		case s := <-signals:
			ignoreBrokenPipes()
			cancel(&SignalError{s})
			giveUp(&SignalError{await(signals, r.after(), s)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// await waits for a signal after the first one, or for the end of the resort, and returns the signal that counts.
func await(signals <-chan os.Signal, late <-chan time.Time, first os.Signal) os.Signal {
	for {
		select {
		case s := <-signals:
			if s != syscall.SIGHUP {
				return s
			}
		case <-late:
			return first
		}
	}
}
