package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"gossiptrainer/configs"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/app/checkpoints"
	"gossiptrainer/internal/app/compare"
	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/lab"
	"gossiptrainer/internal/node"
	"gossiptrainer/internal/node/identity"
	"gossiptrainer/internal/sim"
	"gossiptrainer/internal/train"
)

// Exit codes.
const (
	exitOK       = 0
	exitOther    = 1
	exitUsage    = 2   // unknown command, flag or argument
	exitConfig   = 3   // run file or override, or a secret file it names
	exitNetwork  = 4   // peers could not meet, or lost each other
	exitTraining = 5   // not a number, diverged, a bound broken
	exitData     = 6   // data missing, damaged or not the published ones
	exitState    = 7   // no checkpoint to go on from, one of something else, or one in use
	exitCells    = 9   // some cells of a comparison failed
	exitSignal   = 128 // plus the signal's number
)

// A signalError ends a command that got a signal.
type signalError struct{ signal os.Signal }

func (e *signalError) Error() string { return "stopped by signal: " + e.signal.String() }

// A reportedError has already been printed or sent: the process only has to exit with its code.
type reportedError struct{ err error }

func (e *reportedError) Error() string { return e.err.Error() }
func (e *reportedError) Unwrap() error { return e.err }

// exitCode returns what the process exits with because of err.
func exitCode(err error) int {
	if signal, ok := errors.AsType[*signalError](err); ok {
		if number, ok := signal.signal.(syscall.Signal); ok {
			return exitSignal + int(number)
		}
	}
	if peer, ok := errors.AsType[*lab.PeerError](err); ok && peer.Code > 0 {
		return peer.Code
	}
	switch {
	case err == nil:
		return exitOK
	case isA[*advice.UsageError](err):
		return exitUsage
	case isA[*compare.CellsError](err):
		return exitCells
	case isA[*configs.Error](err), isA[*identity.SecretError](err):
		return exitConfig
	case isA[*data.MissingError](err), isA[*data.ChecksumError](err), isA[*data.FormatError](err):
		return exitData
	case errors.Is(err, checkpoint.ErrNone), isA[*checkpoint.DamagedError](err), isA[*checkpoint.VersionError](err),
		isA[*checkpoint.MismatchError](err), isA[*checkpoints.UsedError](err), isA[*runfolder.LockedError](err),
		isA[*state.Error](err):
		return exitState
	case errors.Is(err, train.ErrDiverged), isA[*node.TrainingError](err), isA[*sim.TrainingError](err):
		return exitTraining
	case isA[*node.NetworkError](err), isA[*identity.ClaimError](err), isA[*node.RefusedError](err),
		isA[*node.StoppedError](err):
		return exitNetwork
	}
	return exitOther
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// A complaint is an error as it is shown.
type complaint struct {
	text    string
	context []string // lines that show what happened
	hint    string
	see     string // the section that explains the exit code
}

// describe finds the words for an error. A signal needs no explanation: a user sent it.
func describe(err error) complaint {
	c := complaint{text: "peer: " + err.Error()}
	if code := exitCode(err); code < exitSignal {
		c.see = advice.Section("exit-code-" + strconv.Itoa(code))
	}
	if hinted, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		c.hint = hinted.Hint()
	}
	if peer, ok := errors.AsType[*lab.PeerError](err); ok {
		c.context, c.hint = peer.Stderr, peer.Hint
	}
	if config, ok := errors.AsType[*configs.Error](err); ok {
		c.text, c.hint = strings.TrimRight(inOurVoice(config.Detail()), "\n"), "" // it has hints of its own
	}
	return c
}

// inOurVoice makes the lines that begin with "error: " begin as all our errors.
func inOurVoice(detail string) string {
	lines := strings.Split(detail, "\n")
	for i, line := range lines {
		if text, ok := strings.CutPrefix(line, "error: "); ok {
			lines[i] = "peer: " + text
		}
	}
	return strings.Join(lines, "\n")
}

// stopped returns the signal that ended ctx, if one did, and otherwise err: what breaks while everything is being
// stopped is a consequence.
func stopped(ctx context.Context, err error) error {
	if cause, ok := errors.AsType[*signalError](context.Cause(ctx)); ok {
		return cause
	}
	return err
}
