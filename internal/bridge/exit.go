package bridge

import (
	"fmt"
	"strings"
)

// An Exit is the end of a script that was not as it should be.
type Exit struct {
	Rank    int    // negative: none
	Command string // as the user gave it
	Running bool   // it has closed its connection only
	Code    int    // exit code; −1: a signal ended it, or it still runs
	Signal  string // that ended it; "": none
	Slow    bool   // it did not end in time after an interrupt
	Joined  bool   // it has said HELLO
	Rounds  int    // of the run; 0: the scripts decide
	Begun   bool   // WELCOME was said
	Done    int    // rounds that were over
	Over    bool   // the peer had said END
	Raised  string // the script's own account; "": none
	Hint    string // the script's own advice; "": none
}

func (e *Exit) Error() string {
	var b strings.Builder
	if e.Rank >= 0 {
		fmt.Fprintf(&b, "worker %d: ", e.Rank)
	}
	fmt.Fprintf(&b, "the script (%s) %s%s", e.Command, e.how(), e.when())
	if advice := e.Advice(); advice != "" {
		b.WriteString(": " + advice)
	}
	return b.String()
}

// how says how the script ended.
func (e *Exit) how() string {
	switch {
	case e.Slow:
		return "did not end in time after the interrupt and was killed"
	case e.Raised != "" && e.Code > 0:
		return fmt.Sprintf("raised: %s (exit code %d)", e.Raised, e.Code)
	case e.Raised != "":
		return "raised: " + e.Raised
	case e.Running:
		return "closed its connection and goes on alone"
	case e.Signal != "":
		return fmt.Sprintf("was ended by a signal (%s)", e.Signal)
	default:
		return fmt.Sprintf("ended with exit code %d", e.Code)
	}
}

// when says how far the run was.
func (e *Exit) when() string {
	switch {
	case !e.Joined && e.Raised == "":
		return " and never called gossiptrainer.join"
	case !e.Joined:
		return " when it joined"
	case e.Over:
		return " after the end of the run"
	case !e.Begun:
		return " before the run began"
	case e.Done == 0 && e.Rounds == 0:
		return " before its first step"
	case e.Done == 0:
		return fmt.Sprintf(" before its first step, of %d rounds", e.Rounds)
	case e.Rounds == 0:
		return fmt.Sprintf(" after round %d", e.Done)
	default:
		return fmt.Sprintf(" after round %d of %d", e.Done, e.Rounds)
	}
}

// Advice says what the user can do; "": nothing that the script has not said itself.
func (e *Exit) Advice() string {
	switch {
	case e.Hint != "":
		return e.Hint
	case e.Raised != "" || e.Slow:
		return ""
	case e.Signal == "killed":
		return "a user killed it, or the system for want of memory: see the log of the system"
	case e.Code != 0 && !e.Running:
		return "its output says why"
	case !e.Joined:
		return "call gossiptrainer.join(model, optimizer) before the training loop"
	case e.Over:
		return ""
	default:
		return "keep the connection that gossiptrainer.join has made until the script ends"
	}
}
