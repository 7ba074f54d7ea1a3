package bridge

import (
	"fmt"
	"strings"
)

// An Exit is the end of a script that was not as it should be.
type Exit struct {
	Rank    int    // negative: none
	Command string // as the user gave it
	Code    int    // exit code; −1: a signal ended it, or it still runs
	Signal  string // that ended it; "": none
	Joined  bool   // it has said HELLO
	Rounds  int    // of the run; 0 before WELCOME
	Done    int    // rounds for which it has taken its step
	Raised  string // the script's own account; "": none
	Advice  string // what to do; "": nothing helps
}

func (e *Exit) Error() string {
	var b strings.Builder
	if e.Rank >= 0 {
		fmt.Fprintf(&b, "worker %d: ", e.Rank)
	}
	fmt.Fprintf(&b, "the script %q ended", e.Command)
	return b.String()
}

// Early reports whether the script ended before the run did.
func (e *Exit) Early() bool { return e.Done < e.Rounds }
