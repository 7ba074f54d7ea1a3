package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"syscall"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/models"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/screen"
	"gossiptrainer/app/script"
	"gossiptrainer/app/session"
	"gossiptrainer/app/setup/handover"
	"gossiptrainer/app/worker"
	"gossiptrainer/configs"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/fleet"
	"gossiptrainer/internal/sim"
	"gossiptrainer/internal/train"
	"gossiptrainer/lab/compare"
	"gossiptrainer/node"
	"gossiptrainer/node/identity"
)

// Exit codes.
const (
	exitOK       = 0
	exitOther    = 1
	exitUsage    = 2   // unknown command, flag or argument
	exitConfig   = 3   // run file or override, or its secret file
	exitNetwork  = 4   // peers could not meet, or lost each other
	exitTraining = 5   // NaN, divergence, or a violated bound
	exitData     = 6   // data missing, damaged or not the published files
	exitState    = 7   // checkpoint missing, of another run, or in use; model file of another model
	exitScript   = 8   // the user's script failed, or ended before the run
	exitCells    = 9   // some cells of a comparison failed
	exitAlone    = 10  // the run ended, and workers trained without any neighbour to its end
	exitSignal   = 128 // plus the signal's number
)

// A reportedError has already been printed or sent: the process only exits with its code.
type reportedError struct{ err error }

func (e *reportedError) Error() string { return e.err.Error() }
func (e *reportedError) Unwrap() error { return e.err }

// exitCode returns the exit code for err.
func exitCode(err error) int {
	if signal, ok := errors.AsType[*screen.SignalError](err); ok {
		if number, ok := signal.Signal.(syscall.Signal); ok {
			return exitSignal + int(number)
		}
	}
	if peer, ok := errors.AsType[*fleet.PeerError](err); ok && peer.Code > 0 {
		return peer.Code
	}
	switch {
	case err == nil:
		return exitOK
	case advice.Is[*advice.UsageError](err):
		return exitUsage
	case advice.Is[*compare.CellsError](err):
		return exitCells
	case advice.Is[*session.AloneError](err):
		return exitAlone
	case advice.Is[*configs.Error](err), advice.Is[*identity.SecretError](err):
		return exitConfig
	case advice.Is[*data.MissingError](err), advice.Is[*data.ChecksumError](err), advice.Is[*data.FormatError](err):
		return exitData
	case errors.Is(err, checkpoint.ErrNone), advice.Is[*checkpoint.DamagedError](err),
		advice.Is[*checkpoint.VersionError](err), advice.Is[*checkpoint.MismatchError](err),
		advice.Is[*worker.UsedError](err), advice.Is[*runfolder.LockedError](err), advice.Is[*models.FileError](err),
		advice.Is[*state.Error](err), advice.Is[*node.RepeatError](err):
		return exitState
	case advice.Is[*script.Error](err):
		return exitScript
	case errors.Is(err, train.ErrDiverged), advice.Is[*node.TrainingError](err), advice.Is[*sim.TrainingError](err):
		return exitTraining
	case advice.Is[*node.NetworkError](err), advice.Is[*identity.ClaimError](err), advice.Is[*node.RefusedError](err),
		advice.Is[*node.UnprovenError](err), advice.Is[*node.StoppedError](err), advice.Is[*handover.UnreachableError](err),
		advice.Is[*handover.ExpiredError](err), advice.Is[*node.SecludedError](err):
		return exitNetwork
	}
	return exitOther
}

// A complaint is an error in its printed form.
type complaint struct {
	text    string
	context []string // lines of context
	hint    string
	see     string // the section that explains the exit code, where it says more than the error
}

// complaintOf returns the printed form of an error.
func complaintOf(err error) complaint {
	c := complaint{text: "peer: " + err.Error()}
	if hinted, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		c.hint = hinted.Hint()
	}
	if peer, ok := errors.AsType[*fleet.PeerError](err); ok {
		c.context, c.hint = peer.Stderr, peer.Hint
	}
	if config, ok := errors.AsType[*configs.Error](err); ok {
		c.text, c.hint = strings.TrimRight(advice.InOurVoice(config.Detail()), "\n"), "" // it has hints of its own
	}
	if code := exitCode(err); c.hint == "" && explained(code) {
		c.see = advice.Section("exit-code-" + strconv.Itoa(code))
	}
	return c
}

// explained reports whether the section of an exit code says more than the errors with it. Those about a command line
// or a run file name the place, and a user has sent a signal.
func explained(code int) bool { return code != exitUsage && code != exitConfig && code < exitSignal }

// stopped returns the signal that ended ctx, or else err: after a signal, other errors are consequences.
func stopped(ctx context.Context, err error) error {
	if cause, ok := errors.AsType[*screen.SignalError](context.Cause(ctx)); ok {
		return cause
	}
	return err
}
