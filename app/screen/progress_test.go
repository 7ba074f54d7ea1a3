package screen

import (
	"testing"
	"time"

	"gossiptrainer/internal/data"
)

func TestProgressHasFewLinesWhereThereIsNoTerminal(t *testing.T) {
	o, written := asciiOutput(t)
	p := NewTaskProgress(o, InLines)
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for s := range 100 {
		p.Tell("so far", begin.Add(time.Duration(s)*time.Second))
	}
	p.Clear()
	p.End()
	if got := written(); got != "so far\nso far\nso far\n" { // after 30, 60 and 90 s
		t.Errorf("%q", got)
	}
}

func TestEachFileOfADownloadIsToldOnce(t *testing.T) {
	o, written := asciiOutput(t)
	p := NewTaskProgress(o, InLines)
	for _, at := range []data.Progress{
		{Set: "mnist", File: "a", Done: 1000, Total: 2000}, {Set: "mnist", File: "a", Done: 2000, Total: 2000},
		{Set: "mnist", File: "b", Done: 10, Total: 0},
	} {
		p.Show(at, time.Time{})
	}
	if got := written(); got != "mnist: a: 1 kB of 2 kB\nmnist: b: 10 B of unknown size\n" {
		t.Errorf("%q", got)
	}
}

func TestProgressInPlaceIsErased(t *testing.T) {
	o, written := asciiOutput(t)
	p := NewTaskProgress(o, InPlace)
	p.Tell("one", time.Time{})
	p.Tell("two", time.Time{})
	p.Clear()
	p.End() // there is no line any more
	if got := written(); got != "\r\x1b[Kone\r\x1b[Ktwo\r\x1b[K" {
		t.Errorf("%q", got)
	}
	quiet, nothing := asciiOutput(t)
	NewTaskProgress(quiet, Unseen).Tell("one", time.Time{})
	if got := nothing(); got != "" {
		t.Errorf("%q though it is not to be seen", got)
	}
}
