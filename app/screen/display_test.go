package screen

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gossiptrainer/internal/record"
)

func TestPlainPrintsALinePerIntervalAndNoEscapeCodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		d := Plain(&out, ringOf(1))
		for k := 1; k <= 12; k++ {
			d.Event(step(0, k, float64(k)))
			time.Sleep(time.Second)
		}
		fmt.Fprintln(d, "a log line")
		d.Close()
		fmt.Fprintln(d, "a last word")
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 5 || !strings.HasPrefix(lines[0], "round=1/") ||
			!strings.HasPrefix(lines[1], "round=5/") && !strings.HasPrefix(lines[1], "round=6/") ||
			lines[3] != "a log line" || lines[4] != "a last word" {
			t.Errorf("got %q", lines)
		}
		if strings.Contains(out.String(), "\x1b") {
			t.Error("escape codes in plain output")
		}
	})
}

func TestPlainExplainsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		d := Plain(&out, ringOf(2))
		d.Event(step(0, 1, 1))
		d.Event(step(1, 1, 1))
		d.Event(status(0, record.Waiting, "connection refused", 1))
		time.Sleep(6 * time.Second)
		d.Close()
		if want := "peer 0 waits for peer 1: connection refused\n"; !strings.Contains(out.String(), want) {
			t.Errorf("got %q, want it to contain %q", out.String(), want)
		}
	})
}

func TestSilentShowsLogLinesAlone(t *testing.T) {
	var out bytes.Buffer
	d := Silent(&out)
	d.Event(step(0, 1, 1))
	fmt.Fprintln(d, "word")
	d.Close()
	if out.String() != "word\n" {
		t.Errorf("got %q", out.String())
	}
}

func TestPlainExplainsAWaitOnceAndRemindsOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		d := Plain(&out, ringOf(2))
		d.Event(step(0, 1, 1))
		d.Event(step(1, 1, 1))
		for s := 10; s <= 90; s += 10 { // as a driver repeats it
			d.Event(status(0, record.Waiting, fmt.Sprintf("round 1, for %ds: worker 1: no route", s), 1))
			time.Sleep(10 * time.Second)
		}
		d.Event(status(0, record.Waiting, "round 1, for 100s: worker 1: connection refused", 1))
		time.Sleep(10 * time.Second)
		d.Close()
		if n := strings.Count(out.String(), "no route"); n != 2 {
			t.Errorf("%d lines of one wait of 90 s, want one and a reminder:\n%s", n, out.String())
		}
		if n := strings.Count(out.String(), "connection refused"); n != 1 {
			t.Errorf("%d lines of another cause, want one:\n%s", n, out.String())
		}
		if n := strings.Count(out.String(), "round=1/100"); n > 2 {
			t.Errorf("the same line stands there %d times:\n%s", n, out.String())
		}
	})
}

func TestPlainSaysOnceWhoIsHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		d := Plain(&out, ringOf(3))
		for range 3 {
			d.Event(record.Event{Status: &record.Status{Rank: -1, State: record.Joining, Detail: "2 of 3 peers are here",
				Here: 2}})
			time.Sleep(10 * time.Second)
		}
		d.Close()
		if want := "round=0/100 peers=2/3\n2 of 3 peers are here\n"; out.String() != want {
			t.Errorf("got\n%swant\n%s", out.String(), want)
		}
	})
}
