package script

import (
	"context"
	"errors"
	"time"

	"gossiptrainer/internal/bridge"
	"gossiptrainer/internal/work"
)

// An Error says that the script has failed, or has ended before the run.
type Error struct{ err error }

func (e *Error) Error() string { return e.err.Error() }
func (e *Error) Unwrap() error { return e.err }

// fate returns an error of the bridge as one of the script. A script that a signal has killed may start again with its
// worker: its error wraps work.ErrGone.
func fate(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if exit, ok := errors.AsType[*bridge.Exit](err); ok && exit.Signal != "" {
		err = &goneError{err}
	}
	return &Error{err}
}

// A goneError is the end of a script by a signal.
type goneError struct{ error }

func (e *goneError) Unwrap() []error { return []error{e.error, work.ErrGone} }

func after(d time.Duration, f func()) (stop func() bool) { return time.AfterFunc(d, f).Stop }
