package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"gossiptrainer/internal/app/supervise"
)

// lastResort is how long after a signal the process ends in any case: users expect an end within two seconds. A script
// may save its state meanwhile, and gets more.
const (
	lastResort       = 1900 * time.Millisecond
	lastResortScript = supervise.ScriptGrace + lastResort
)

// withSignals returns a context that the first interrupt or termination signal cancels with a *signalError. A second
// signal, or the time resort, calls giveUp with the error of that signal. giveUp must end the process and not return.
func withSignals(parent context.Context, resort func() time.Duration, giveUp func(error)) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer signal.Stop(signals)
		select {
		case s := <-signals:
			cancel(&signalError{s})
			select {
			case s = <-signals:
			case <-time.After(resort()):
			}
			giveUp(&signalError{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}
