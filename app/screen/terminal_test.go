package screen

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	_ "gossiptrainer/internal/proptest"
	"gossiptrainer/internal/record"
)

// onScreen returns a display on a screen, in the foreground.
func onScreen(s *fakeScreen, peers int) *table {
	return &table{
		Dashboard: NewDashboard(ringOf(peers), start), out: s, front: func() bool { return true },
		size: func() Size { return Size{s.width, s.height} },
	}
}

// wrapped returns the rows that lines take on a terminal.
func wrapped(width int, lines ...string) []string {
	s := newScreen(width, 1)
	for _, line := range lines {
		fmt.Fprintln(s, line)
	}
	return s.text()
}

// After any events, log lines and sizes the screen shows each log line once and in order, and one table below them.
func TestOneTableStandsBelowTheLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newScreen(rapid.IntRange(40, 110).Draw(t, "width"), rapid.IntRange(12, 30).Draw(t, "height"))
		d := onScreen(s, 8)
		round := 0
		var logged []string
		resized := rapid.Bool().Draw(t, "resized")
		for now := range rapid.IntRange(1, 10).Draw(t, "frames") {
			words := func() string { return strings.Repeat("word ", rapid.IntRange(1, 30).Draw(t, "words")) }
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				for rank := range rapid.IntRange(1, 4).Draw(t, "waits") {
					d.Event(status(rank, record.Waiting, fmt.Sprint(rank, words()), (rank+1)%8))
				}
			case 1:
				round++
				for rank := range 8 {
					d.Event(step(rank, round, float64(round)))
				}
			case 2:
				for range rapid.IntRange(1, 15).Draw(t, "lines") {
					line := strings.TrimSpace(fmt.Sprint("log ", len(logged), " ", words()))
					fmt.Fprintln(d, line)
					logged = append(logged, line)
				}
			case 3:
				d.Event(record.Event{Status: &record.Status{Rank: -1, Detail: "found nobody yet " + words()}})
			case 4:
				d.Suspend()
				if !s.cursor {
					t.Fatal("no cursor while the display is suspended")
				}
				fmt.Fprintln(s, "the shell's prompt")
			case 5:
				if resized {
					s.resize(rapid.IntRange(40, 110).Draw(t, "new width"))
				}
			}
			d.draw(after(float64(now)))
		}
		d.end(after(30))
		fmt.Fprintln(d, "a last word")
		got := s.text()
		want := ansi.Strip(d.Table(after(30), Size{s.width, s.height}))
		last := wrapped(s.width, append(strings.Split(want, "\n"), "a last word")...)
		if n := len(got) - len(last); n < 0 || !slices.Equal(got[n:], last) {
			t.Fatalf("the last rows are not the table and the word:\n%s\nwant\n%s", strings.Join(got, "\n"), want)
		}
		if !s.cursor {
			t.Error("no cursor at the end")
		}
		if resized || slices.Contains(got, "the shell's prompt") {
			return // earlier tables stay above what others wrote, and folded rows are other rows
		}
		if above := got[:len(got)-len(last)]; !slices.Equal(above, wrapped(s.width, logged...)) {
			t.Fatalf("above the table stands\n%s\nwant the log:\n%s", strings.Join(above, "\n"), strings.Join(logged, "\n"))
		}
	})
}

// A terminal that becomes narrower folds the table: no rest of it stays.
func TestANarrowerTerminalKeepsOneTable(t *testing.T) {
	s := newScreen(100, 30)
	d := onScreen(s, 4)
	fmt.Fprintln(d, "a log line")
	for round, width := range []int{100, 70, 45, 90, 60} {
		s.resize(width)
		for rank := range 4 {
			d.Event(step(rank, round+1, float64(round+1)))
		}
		d.draw(after(float64(round)))
		if n := strings.Count(strings.Join(s.text(), "\n"), "STATE"); n != 1 {
			t.Fatalf("%d columns: %d tables:\n%s", width, n, strings.Join(s.text(), "\n"))
		}
	}
}

// A frame without news writes nothing, and a process in the background leaves the terminal alone.
func TestATableIsDrawnOnlyWhereItIsSeen(t *testing.T) {
	s := newScreen(80, 24)
	d := onScreen(s, 2)
	var out bytes.Buffer
	d.out = &out
	d.draw(start)
	drawn := out.Len()
	if d.draw(start); out.Len() != drawn || drawn == 0 {
		t.Errorf("%d bytes of a frame, %d of the same again", drawn, out.Len()-drawn)
	}
	d.front = func() bool { return false }
	d.Event(step(0, 1, 1))
	fmt.Fprintln(d, "a log line")
	if d.draw(after(1)); out.Len() != drawn {
		t.Errorf("in the background it wrote %q", out.String()[drawn:])
	}
	d.front = func() bool { return true }
	d.draw(after(2))
	if !strings.Contains(out.String()[drawn:], "a log line") {
		t.Errorf("the line from the background is lost: %q", out.String()[drawn:])
	}
	d.plain = true
	d.Event(step(1, 1, 1))
	drawn = out.Len()
	if d.draw(after(3)); regexp.MustCompile(`\x1b\[[0-9;]*m`).MatchString(out.String()[drawn:]) {
		t.Errorf("colours in %q", out.String()[drawn:])
	}
}

// The display redraws itself while it is open, and Close leaves the last table.
func TestTheLastTableStaysAboveWhatFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen(60, 20)
		d := onScreen(s, 1)
		d.start()
		d.Event(step(0, 99, 1))
		d.Event(record.Event{Final: &record.Final{Rank: 0, Rounds: 100}})
		d.Close()
		d.Close()
		fmt.Fprintln(d, "a last word")
		got := s.text()
		if n := len(got); n < 2 || got[n-1] != "a last word" || !strings.Contains(got[n-2], "done") ||
			!strings.Contains(strings.Join(got, "\n"), "100/100") {
			t.Errorf("%q, want the table of the end above the last word", got)
		}
	})
}

func TestANarrowTableShowsTheTimeLeft(t *testing.T) {
	d := NewDashboard(ringOf(2), start)
	for k := 1; k <= 4; k++ {
		for rank := range 2 {
			d.Add(step(rank, k, float64(k)), after(float64(k)))
		}
	}
	table := d.Table(after(4), Size{32, 24})
	if !strings.Contains(table, "eta 1m22s") || strings.Contains(table, "peers") {
		t.Errorf("table:\n%s\nwant the time left, and no peers that have no room", table)
	}
}
