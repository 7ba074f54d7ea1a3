package live

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"gossiptrainer/internal/record"
)

// A tape is a terminal that keeps the text written to it.
type tape struct{ bytes.Buffer }

func (*tape) Close() error { return nil }
func (*tape) Fd() uintptr  { return ^uintptr(0) }

func TestTheLastTableStaysAboveWhatFollows(t *testing.T) {
	in, keys, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer keys.Close()
	var out tape
	d := newTerminal(in, &out, ringOf(1), tea.WithWindowSize(60, 20))
	d.program.Send(tea.WindowSizeMsg{Width: 60, Height: 20}) // the first one may come after the end
	d.Event(step(0, 99, 1))
	d.Event(record.Event{Final: &record.Final{Rank: 0, Rounds: 100}})
	d.Close()
	fmt.Fprintln(d, "a last word")

	text := out.String()
	row := strings.LastIndex(text, "done")
	word := strings.LastIndex(text, "a last word")
	if row < 0 || word < row {
		t.Fatalf("the last row is at %d and the word after it at %d of %q", row, word, text)
	}
	if !strings.Contains(text, "100/100") {
		t.Errorf("the table is not of the end of the run: %q", text)
	}
	if up := regexp.MustCompile(`\x1b\[[0-9]*A|\x1bM`).FindString(text[row:]); up != "" {
		t.Errorf("the cursor goes back into the table by %q: %q", up, text[row:])
	}
	if !strings.Contains(text[row:word], "\n") {
		t.Errorf("the word does not begin a line of its own: %q", text[row:])
	}
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
