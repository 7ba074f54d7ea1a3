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
	Remedy  string  `json:"remedy,omitempty"` // never empty with another verdict than ok
	See     string  `json:"see,omitempty"`    // section of the manual
}

// ok returns a row without a complaint.
func ok(check, format string, args ...any) Row {
	return Row{Check: check, Verdict: OK, Seen: fmt.Sprintf(format, args...)}
}

// complaint returns a row with a remedy.
func complaint(check string, v Verdict, seen, remedy string) Row {
	return Row{Check: check, Verdict: v, Seen: seen, Remedy: remedy}
}

// failure is a broken check whose error may have a remedy of its own.
func failure(check string, err error, remedy string) Row {
	text := err.Error()
	if hinted, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok && hinted.Hint() != "" {
		remedy = hinted.Hint()
	}
	if wrong, ok := errors.AsType[*configs.Error](err); ok && len(wrong.Problems) > 0 {
		text = strings.ReplaceAll(text, "\n", "; ")
		if hint := wrong.Problems[0].Hint; hint != "" {
			remedy = hint
		}
	}
	return complaint(check, Broken, text, remedy)
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
