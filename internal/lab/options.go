package lab

import (
	"fmt"
	"os/exec"
	"strings"
	"time"

	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/record"
)

// DefaultGrace is how long peers have between the order to stop and being
// killed. A signal must end the whole run within 2 s; this leaves the rest of
// them for killing and for the caller's last words.
const DefaultGrace = 1500 * time.Millisecond

// Options say what to supervise. Event and Log are called by one goroutine at a
// time and must not block for long: peers wait meanwhile.
type Options struct {
	// Peers is the number of processes, at least 1.
	Peers int
	// Command returns the command that starts the peer of a rank, 0..Peers−1, for
	// the life'th time, from 0 on. Run sets its Stdin, Stdout, Stderr and
	// SysProcAttr. The process must Attach to its standard input and output.
	Command func(rank, life int) *exec.Cmd
	// Restarts is how often in a minute a peer is started anew whose process has
	// died, of a signal or of itself. One that said why it gives up is not. At the
	// next death, or the first one if it is 0, the run ends.
	Restarts int
	// Spares says whether the run goes on without a peer that ended so, which is not
	// started anew; nil: never. A run without any peer left has failed, and so has one
	// in which a peer ends before all have met: nobody can go on without it then.
	Spares func(Failure) bool
	// End ends the run before its rounds are over, when it is closed: with a round that
	// all peers have, and with their results. Nil: never.
	End <-chan struct{}
	// Script is played on the peers: those that it kills are started again as it says,
	// whatever Restarts is. Lasted is how long earlier parts of the run have taken.
	Script []fault.Fault
	Lasted time.Duration
	// Missed hears of each fault whose moment the run did not reach, at its end, and how
	// long the run has lasted; nil: nobody does.
	Missed func(f fault.Fault, lasted time.Duration)
	// History joins what the lives of a peer report; nil: the run begins now.
	History *record.History
	// Event receives the events of the whole run, in the order of arrival.
	Event func(record.Event)
	// Log receives the lines that a peer writes on its standard error.
	Log func(rank int, line string)
	// Grace is the time from the order to stop to the kill; 0 = DefaultGrace.
	Grace time.Duration
}

// A PeerError says which peer ended a run, and how.
type PeerError struct {
	Rank   int
	Unmet  bool     // it ended before all were ready
	Round  int      // rounds it had finished, as last on record
	Reason string   // what the peer said of itself, or how its process ended
	Hint   string   // what the peer advises; may be empty
	Code   int      // the exit code the peer asks for, or its process's; −1 if killed by a signal
	Stderr []string // its last words, at most a few lines
}

func (e *PeerError) Error() string {
	where := "before its first record"
	switch {
	case e.Unmet:
		where = "before all peers had met"
	case e.Round > 0:
		where = fmt.Sprintf("after round %d", e.Round)
	}
	// A reason that begins with its own "lab: " would name the package twice.
	return fmt.Sprintf("lab: peer %d: %s: %s", e.Rank, where, strings.TrimPrefix(e.Reason, "lab: "))
}
