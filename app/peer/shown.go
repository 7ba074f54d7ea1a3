package peer

import (
	"fmt"
	"path/filepath"
	"strconv"

	"gossiptrainer/app/advice"
)

// Shown says whose scripts' output a lab shows: that of a rank, ofAll or ofNone. The files have that of all.
type Shown int

const (
	ofAll  Shown = -1
	ofNone Shown = -2
)

// Scripts are those that the peers of a lab start: one each.
type Scripts struct {
	Command []string // none for a built-in model
	Shown   Shown
}

// ParseShown reads the value of --output in a lab of size workers.
func ParseShown(text string, size int) (Shown, error) {
	switch text {
	case "all":
		return ofAll, nil
	case "none":
		return ofNone, nil
	}
	rank, err := strconv.Atoi(text)
	if err != nil || rank < 0 || rank >= size {
		return 0, advice.Usagef("--output %s: want all, none or a worker from 0 to %d", text, size-1)
	}
	return Shown(rank), nil
}

// hides reports whether the script of a worker prints unseen.
func (s Scripts) hides(rank int) bool {
	return len(s.Command) > 0 && s.Shown != ofAll && s.Shown != Shown(rank)
}

// where says which files have the output that is not shown; "": all is shown.
func (s Scripts) where(dir string, size int) string {
	if len(s.Command) == 0 || s.Shown == ofAll || s.Shown == 0 && size == 1 {
		return ""
	}
	who := "all scripts"
	if s.Shown != ofNone {
		who = fmt.Sprintf("the scripts but that of worker %d", s.Shown)
	}
	return fmt.Sprintf("the output of %s is in %s (--output all shows it)", who, outputOf(dir, "RANK"))
}

// scriptFolder returns the folder of the script of a worker, in the folder of its run.
func scriptFolder(dir, rank string) string { return filepath.Join(dir, "scripts", rank) }

// outputOf returns the file with all that the script of a worker prints.
func outputOf(dir, rank string) string { return filepath.Join(scriptFolder(dir, rank), "output") }
