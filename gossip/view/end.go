package view

import "fmt"

// A record may end the run on purpose: no exchange from its first one on takes place. All members agree on it as on
// each view, so all stop at one exchange.

// Rounds returns the rounds of a run, where every H rounds are an exchange: those of its plan, or fewer if a record of
// the log ends it. The log may be nil.
func Rounds(l *Log, plan, every int) int {
	if x, ended := End(l); ended {
		return min(plan, x*every)
	}
	return plan
}

// End returns the first exchange that does not take place, and whether a record has ended the run.
func End(l *Log) (x int, ended bool) {
	if l == nil {
		return 0, false
	}
	for v := len(l.records) - 1; v >= 0; v-- {
		if l.records[v].End {
			return l.records[v].First, true
		}
	}
	return 0, false
}

// checkEnd returns why a record cannot come after those of a log that ends the run.
func (l *Log) checkEnd(r *Record) error {
	x, ended := End(l)
	switch {
	case ended && r.End:
		return fmt.Errorf("end: the run ends at exchange %d already", x)
	case ended && r.First != x:
		return fmt.Errorf("first: %d: must be %d, where the run ends", r.First, x)
	}
	return nil
}
