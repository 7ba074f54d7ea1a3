package screen

import (
	"fmt"
	"time"

	"golang.org/x/term"

	"gossiptrainer/internal/data"
	"gossiptrainer/internal/human"
)

// A TaskProgress shows the progress of a task: in place on a terminal, in lines elsewhere.
type TaskProgress struct {
	out  *Output
	mode Mode
	last time.Time // a line was written

	file string // of the download
	pace pace   // of its bytes
}

// NewTaskProgress returns one that shows itself at out.
func NewTaskProgress(out *Output, mode Mode) *TaskProgress {
	return &TaskProgress{out: out, mode: mode}
}

// A Mode says how a progress is shown.
type Mode int

// The modes.
const (
	InLines Mode = iota // in few lines of its own
	InPlace             // over the last one, on a terminal with escape codes
	Unseen              // not at all
)

// Show tells how far a download is at time now. Where there is no terminal it tells of each file once.
func (p *TaskProgress) Show(at data.Progress, now time.Time) {
	share := float64(at.Done) / float64(max(1, at.Total))
	first := at.File != p.file
	if first {
		p.file, p.pace = at.File, pace{began: now, from: share}
	}
	text := fmt.Sprintf("%s: %s: %s of %s", at.Set, at.File, human.Size(at.Done), size(at.Total))
	if at.Total > 0 && !first {
		text += ", " + Left(p.pace.left(share, now))
	}
	p.write(text, first)
}

// seldom is the time between two lines about a long task.
const seldom = 30 * time.Second

// Tell shows a text. Where there is no terminal it does so seldom.
func (p *TaskProgress) Tell(text string, now time.Time) {
	if p.last.IsZero() {
		p.last = now
	}
	due := now.Sub(p.last) >= seldom
	if due {
		p.last = now
	}
	p.write(text, due)
}

// write puts a text in place of the last one, or in a line of its own if that is due.
func (p *TaskProgress) write(text string, due bool) {
	switch {
	case p.mode == Unseen:
	case p.mode == InPlace:
		if width, _, err := term.GetSize(int(p.out.Fd())); err == nil {
			text = text[:min(len(text), max(0, width-1))] // only the last row of a longer one would be erased
		}
		p.out.replace(text)
	case due:
		fmt.Fprintln(p.out, text)
	}
}

// End ends the line on the terminal.
func (p *TaskProgress) End() {
	if p.mode == InPlace {
		p.out.close("\n")
	}
}

// Clear removes the line from the terminal.
func (p *TaskProgress) Clear() {
	if p.mode == InPlace {
		p.out.close(erased)
	}
}

func size(total int64) string {
	if total <= 0 {
		return "unknown size"
	}
	return human.Size(total)
}
