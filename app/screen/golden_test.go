package screen

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"gossiptrainer/internal/record"
)

var update = flag.Bool("update", false, "write the tables in testdata")

// eight is a dashboard of eight peers, one of which is slow and one away.
func eight() *Dashboard {
	d := NewDashboard(ringOf(8), start)
	for rank := range 8 {
		e := step(rank, 50, 10)
		e.Step.Theta, e.Step.Bits = 0.05, 8
		last := map[int]int{1: 45, 3: 47}[rank]
		d.Add(e, after(10))
		d.Add(record.Event{Links: &record.Links{Rank: rank, Round: 50, Rounds: 50, Time: 10 * time.Second,
			Links: []record.Link{{Peer: 2, Last: last}, {Peer: 7, Last: 50 - last}}}}, after(10))
	}
	d.Add(status(5, record.Waiting, "round 50, for 20s: worker 4: link down for 4s: dial tcp 192.0.2.7:4001: no route to "+
		"host", 4), after(10))
	d.Add(status(4, record.Returning, ""), after(10))
	return d
}

// The tables of usual widths are those in testdata, and no line is wider than the terminal.
func TestTables(t *testing.T) {
	for _, width := range []int{60, 80, 120, 200} {
		table := ansi.Strip(eight().Table(after(30), Size{width, 24}))
		var lines []string
		for line := range strings.SplitSeq(table, "\n") {
			if w := lipgloss.Width(line); w > width {
				t.Errorf("%d columns: a line of %d: %q", width, w, line)
			}
			lines = append(lines, strings.TrimRight(line, " "))
		}
		got, name := strings.Join(lines, "\n")+"\n", filepath.Join("testdata", fmt.Sprintf("table-%d.txt", width))
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs:\n%s\nwant\n%s\ngo test ./app/screen -run Tables -update writes it", name, got, want)
		}
	}
}
