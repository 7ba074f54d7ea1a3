package fleet

import (
	"fmt"
	"os/exec"
	"strings"
	"time"

	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/record"
)

// DefaultGrace is how long peers have between the order to stop and being killed. A signal must
// end the whole run within 2 s; the remaining 0.5 s are for killing and for the last output.
const DefaultGrace = 1500 * time.Millisecond

// Options describe the peers to supervise. Run calls Event and Log from one goroutine at a time. They
// must not block for long, since peers wait meanwhile.
type Options struct {
	// Peers is the number of processes, at least 1.
	Peers int
	// Command returns the command that starts the peer of a rank, 0..Peers−1. Peers that join later have the ranks from
	// Peers on. life counts the starts of that peer from 0. Run sets its Stdin, Stdout, Stderr and
	// SysProcAttr. The process must Attach to its standard input and output.
	Command func(rank, life int) *exec.Cmd
	// Restarts is how often in a minute Run restarts a peer whose process has died. It does not
	// restart a peer that has reported why it gives up. The next death ends the run.
	Restarts int
	// Expendable reports whether the run goes on without a peer after this failure. That peer is not
	// started again. Nil: the run never goes on. A run fails if no peer is left, or if a peer ends
	// before all are ready.
	Expendable func(Failure) bool
	// End, when closed, ends the run before its rounds are over. All peers then end with the same
	// round and report their results. Nil: never.
	End <-chan struct{}
	// Still delivers functions during which all processes stand still. Nil: none.
	Still <-chan func()
	// Script holds faults for the peers. It alone decides when killed peers start again, not Restarts.
	// Lasted is the time that earlier parts of the run have taken.
	Script []fault.Fault
	Lasted time.Duration
	// Missed is called at the end of the run for each fault whose moment the run did not reach.
	// lasted is how long the run has taken. May be nil.
	Missed func(f fault.Fault, lasted time.Duration)
	// Absent is called for a fault of a member that is not there. May be nil.
	Absent func(f fault.Fault)
	// History joins the reports of all lives of a peer; nil: the run begins now.
	History *record.History
	// Event receives the events of the whole run, in the order of arrival.
	Event func(record.Event)
	// Log receives the lines that a peer writes on its standard error.
	Log func(rank int, line string)
	// Grace is the time from the order to stop to the kill; 0 = DefaultGrace.
	Grace time.Duration
}

// A PeerError names the peer that ended a run, and the reason.
type PeerError struct {
	Rank   int
	Unmet  bool     // it ended before all were ready
	Round  int      // rounds it had finished, as last reported
	Reason string   // from the peer, or the end of its process
	Hint   string   // advice of the peer; may be empty
	Code   int      // the exit code the peer asks for, or its process's; −1 if killed by a signal
	Stderr []string // the last lines of its log
}

func (e *PeerError) Error() string {
	where := "no record yet"
	switch {
	case e.Unmet:
		where = "not all peers had met"
	case e.Round > 0:
		where = fmt.Sprintf("last record: round %d", e.Round)
	}
	// A reason that begins with its own "lab: " would name the package twice.
	return fmt.Sprintf("lab: peer %d (%s): %s", e.Rank, where, strings.TrimPrefix(e.Reason, "lab: "))
}
