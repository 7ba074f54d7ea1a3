package checkpoint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gossiptrainer/internal/settings"
)

// A Difference is a setting that has changed since a checkpoint was written.
type Difference = settings.Difference

// A MismatchError says that a checkpoint belongs to another worker, run or run file.
type MismatchError struct {
	Path        string
	What        string // the run, the rank, or the settings
	Then, Now   string // of run and rank
	Differences []Difference
}

func (e *MismatchError) Error() string {
	if len(e.Differences) == 0 {
		return fmt.Sprintf("checkpoint %s: of %s %s, not of %s", e.Path, e.What, e.Then, e.Now)
	}
	var text []string
	for _, d := range e.Differences {
		text = append(text, fmt.Sprintf("%s was %s and is %s", d.Key, cmp.Or(d.Then, "not set"), cmp.Or(d.Now, "not set")))
	}
	return fmt.Sprintf("checkpoint %s: of other settings: %s", e.Path, strings.Join(text, "; "))
}

// Hint tells the user how to proceed.
func (e *MismatchError) Hint() string {
	if len(e.Differences) == 0 {
		return "name the folder of this run, or start the run again without --resume"
	}
	for _, d := range e.Differences {
		if !strings.HasPrefix(d.Key, "script.") {
			return "set them back to go on, or start the run again without --resume"
		}
	}
	return "the script must train the tensors of the checkpoint before it calls join: unfreeze them there to go on, or " +
		"start the run again without --resume"
}

// Check returns a *MismatchError unless the checkpoint has the run, rank and settings of
// want. It accepts the differences for which legal returns true, and ignores the round.
func (f *Found) Check(want Manifest, legal func(Difference) bool) error {
	switch {
	case f.Run != want.Run:
		return &MismatchError{Path: f.Path, What: "run", Then: f.Run, Now: want.Run}
	case f.Rank != want.Rank:
		return &MismatchError{Path: f.Path, What: "rank", Then: fmt.Sprint(f.Rank), Now: fmt.Sprint(want.Rank)}
	}
	differ := differences(f.Settings, want.Settings)
	if differ = slices.DeleteFunc(differ, legal); len(differ) > 0 {
		return &MismatchError{Path: f.Path, What: "settings", Differences: differ}
	}
	return nil
}

// differences returns the changed settings in the order of their keys.
func differences(then, now []Section) []Difference {
	return settings.Differences(byName(then), byName(now))
}

func byName(sections []Section) map[string]json.RawMessage {
	all := make(map[string]json.RawMessage, len(sections))
	for _, s := range sections {
		all[s.Name] = s.JSON
	}
	return all
}
