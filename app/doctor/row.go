package doctor

import (
	"errors"
	"fmt"
	"strings"

	"gossiptrainer/configs"
)

// A Verdict is the outcome of a check.
type Verdict string

// Verdicts.
const (
	OK     Verdict = "ok"
	Look   Verdict = "look"   // a run works, but slower or with a risk
	Broken Verdict = "broken" // a run does not work
)

// A Row is the outcome of one check.
type Row struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Seen    string  `json:"seen"`
	Fix     string  `json:"fix,omitempty"` // never empty with another verdict than ok
	See     string  `json:"see,omitempty"` // section of the manual
}

// ok returns a row without a complaint.
func ok(check, format string, args ...any) Row {
	return Row{Check: check, Verdict: OK, Seen: fmt.Sprintf(format, args...)}
}

// complaint returns a row with a fix.
func complaint(check string, v Verdict, seen, fix string) Row {
	return Row{Check: check, Verdict: v, Seen: seen, Fix: fix}
}

// failure is a broken check whose error may have a fix of its own.
func failure(check string, err error, fix string) Row {
	text := err.Error()
	if hinted, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok && hinted.Hint() != "" {
		fix = hinted.Hint()
	}
	if wrong, ok := errors.AsType[*configs.Error](err); ok && len(wrong.Problems) > 0 {
		text = strings.ReplaceAll(text, "\n", "; ")
		if hint := wrong.Problems[0].Hint; hint != "" {
			fix = hint
		}
	}
	return complaint(check, Broken, text, fix)
}
