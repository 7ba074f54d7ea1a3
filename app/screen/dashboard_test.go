package screen

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"

	"gossiptrainer/internal/record"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func after(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

func step(rank, round int, seconds float64) record.Event {
	at := time.Duration(seconds * float64(time.Second))
	return record.Event{Step: &record.Step{
		Rank: rank, Round: round, Time: at, Loss: 1 / float64(round), Gap: 0.01 * float64(rank+1),
		Compute: 12 * time.Millisecond, Wait: 3 * time.Millisecond, Codec: 400 * time.Microsecond,
		Sent:     record.Bytes{Wire: int64(at / time.Microsecond)}, // 1 MB/s
		Received: record.Bytes{Wire: int64(at / time.Microsecond * 2)},
	}}
}

func status(rank int, state record.State, detail string, missing ...int) record.Event {
	return record.Event{Status: &record.Status{Rank: rank, State: state, Detail: detail, Missing: missing}}
}

func ringOf(n int) Run {
	return Run{Name: "ring", Method: "D-PSGD, 8-bit Moniqua", Topology: "ring of 8", Peers: n, Rounds: 100}
}

func TestBoardFollowsAPeerThroughItsStates(t *testing.T) {
	d := NewDashboard(ringOf(2), start)
	tests := []struct {
		event   record.Event
		state   record.State
		present int
	}{
		{status(0, record.Joining, "looking for others"), record.Joining, 1},
		{step(0, 1, 1), record.Training, 1},
		{status(0, record.Waiting, "", 1), record.Waiting, 1},
		{step(0, 2, 2), record.Training, 1},
		{status(0, record.Testing, ""), record.Testing, 1},
		{record.Event{Final: &record.Final{Rank: 0, Rounds: 100}}, record.Finished, 1},
		{status(1, record.Failed, "loss is NaN"), record.Finished, 1},
		{status(7, record.Failed, "a rank that is not there"), record.Finished, 1},
	}
	for i, tt := range tests {
		d.Add(tt.event, after(float64(i)))
		if got := d.peers[0].State; got != tt.state {
			t.Errorf("after event %d: state %q, want %q", i, got, tt.state)
		}
		if got := d.Present(); got != tt.present {
			t.Errorf("after event %d: %d present, want %d", i, got, tt.present)
		}
	}
}

func TestBoardIgnoresTelemetryThatWasOvertaken(t *testing.T) {
	d := NewDashboard(ringOf(1), start)
	d.Add(step(0, 9, 1), after(1))
	d.Add(step(0, 4, 0.5), after(2))
	if got := d.Round(); got != 9 {
		t.Errorf("round %d, want 9", got)
	}
}

func TestRoundIsTheSlowestPeers(t *testing.T) {
	d := NewDashboard(ringOf(3), start)
	for rank, round := range []int{30, 10, 20} {
		d.Add(step(rank, round, 1), after(1))
	}
	if got := d.Round(); got != 10 {
		t.Errorf("round %d, want 10", got)
	}
}

func TestALostPeerDoesNotCount(t *testing.T) {
	d := NewDashboard(ringOf(3), start)
	for rank := range 3 {
		d.Add(step(rank, 10, 1), after(1))
	}
	d.Add(step(0, 40, 4), after(4))
	d.Add(step(1, 30, 4), after(4))
	if d.Round() != 10 || d.Present() != 3 {
		t.Errorf("round %d of %d peers, want 10 of 3: one hangs", d.Round(), d.Present())
	}
	d.Add(status(2, record.Lost, "its process ended"), after(4))
	if d.Round() != 30 || d.Present() != 2 || d.Means().Peers != 2 {
		t.Errorf("round %d of %d peers, means of %d, want 30 of 2: one is lost", d.Round(), d.Present(), d.Means().Peers)
	}
	if got := d.Line(after(4)); !strings.Contains(got, "round=30/100") || !strings.Contains(got, "peers=2/3") {
		t.Errorf("line %q", got)
	}
	for rank := range 2 {
		d.Add(step(rank, 100, 10), after(10))
	}
	if left, ok := d.Remaining(after(10)); !ok || left != 0 || d.share() != 1 {
		t.Errorf("%v left, %v of the run is done, though the others are through", left, d.share())
	}
	d.Add(step(0, 140, 10.5), after(10.5)) // as asynchronous workers do
	if left, _ := d.Remaining(after(10.5)); left != 0 || !strings.Contains(d.Table(after(10.5), Size{80, 24}), "100 %") {
		t.Errorf("%v left of a run that is over, table %s", left, d.Table(after(10.5), Size{80, 24}))
	}
	d.Add(status(2, record.Joining, "asking for a place"), after(10))
	d.Add(step(2, 60, 11), after(11))
	if d.Round() != 60 || d.Present() != 3 {
		t.Errorf("round %d of %d peers, want 60 of 3: it is back", d.Round(), d.Present())
	}
	for rank := range 3 {
		d.Add(status(rank, record.Failed, ""), after(12))
	}
	if d.Round() != 0 || d.Present() != 0 {
		t.Errorf("round %d of %d peers, want nothing: all are gone", d.Round(), d.Present())
	}
}

// Of very many peers an even choice has rows, and the table counts all.
func TestBoardOfManyPeersKeepsAFewThousand(t *testing.T) {
	const many = 20 * mostRows
	run := ringOf(many)
	run.Here = many
	d := NewDashboard(run, start)
	waits := d.Waiting(after(60))
	if len(waits) != 1 || !strings.Contains(waits[0], fmt.Sprintf("and %d more starting", many-8)) {
		t.Errorf("before the first round: %q, want all but eight counted", waits)
	}
	for rank := range many {
		d.Add(step(rank, 7, 1), after(1))
	}
	if got := len(d.peers); got != mostRows {
		t.Errorf("%d rows, want %d", got, mostRows)
	}
	if last := d.peers[mostRows-1].number; last != many-20 {
		t.Errorf("the last row is that of peer %d, want %d", last, many-20)
	}
	if d.Round() != 7 || d.Present() != many {
		t.Errorf("round %d of %d peers, want 7 of %d", d.Round(), d.Present(), many)
	}
	d.Add(status(20, record.Lost, "kill"), after(2))
	d.Add(status(21, record.Lost, "kill"), after(2))
	if got, want := d.Present(), many-20; got != want {
		t.Errorf("%d present, want %d: one of the rows is lost", got, want)
	}
	if table := d.Table(after(2), Size{80, 10}); !strings.Contains(table, fmt.Sprintf("and %d more peers", many-1)) {
		t.Errorf("the table hides other peers than all but one:\n%s", table)
	}
}

func TestRemainingIsWithinAFifthAfterATenthOfTheRun(t *testing.T) {
	d := NewDashboard(ringOf(4), start)
	if _, ok := d.Remaining(start); ok {
		t.Error("a pace is known before the first round")
	}
	for k := 1; k <= 10; k++ {
		for rank := range 4 { // 0.5 s per round, and 30 s to get going
			d.Add(step(rank, k, float64(k)/2), after(30+float64(k)/2))
		}
	}
	left, ok := d.Remaining(after(35))
	if want := 45 * time.Second; !ok || left < want*4/5 || left > want*6/5 {
		t.Errorf("%v remain (%v), want %v within 20 %%", left, ok, want)
	}
}

// A resumed run has its pace from its own rounds, not from earlier ones.
func TestARunThatGoesOnCountsFromItsRound(t *testing.T) {
	run := ringOf(4)
	run.From = 60
	d := NewDashboard(run, start)
	if got := d.Round(); got != 60 {
		t.Errorf("before a step is heard: round %d, want 60", got)
	}
	for k := 61; k <= 70; k++ {
		for rank := range 4 { // a round a second
			d.Add(step(rank, k, float64(k)), after(float64(k-60)))
			if got := d.Round(); got < 60 {
				t.Fatalf("worker %d after its round %d: the run is in round %d", rank, k, got)
			}
		}
	}
	left, ok := d.Remaining(after(10))
	if want := 30 * time.Second; !ok || left < want*4/5 || left > want*6/5 {
		t.Errorf("%v remain (%v), want %v within 20 %%", left, ok, want)
	}
}

func TestMeterFollowsTheLastSeconds(t *testing.T) {
	var m meter
	if got := m.rate(); !math.IsNaN(got) {
		t.Errorf("rate of nothing: %g", got)
	}
	m.add(4*time.Millisecond, 4e7)
	if got := m.rate(); !math.IsNaN(got) {
		t.Errorf("rate of four milliseconds: %g", got)
	}
	m = meter{}
	m.add(time.Second, 1e6)
	if got := m.rate(); got != 8e6 {
		t.Errorf("rate of the first second: %g, want 8e6", got)
	}
	for s := 2; s <= 20; s++ { // then ten times slower
		m.add(time.Duration(s)*time.Second, 1e6+int64(s-1)*1e5)
	}
	if got := m.rate(); got < 7.9e5 || got > 8.1e5 {
		t.Errorf("rate after the change: %g, want 8e5", got)
	}
	if len(m.samples) > 5 {
		t.Errorf("%d samples kept for 3 s at one per second", len(m.samples))
	}
	m.add(20*time.Second, 3e6) // the same moment again
	if got := m.samples[len(m.samples)-1]; got.bytes != 3e6 || len(m.samples) > 5 {
		t.Errorf("a second sample of one moment: %+v", m.samples)
	}
}

func TestLongWaitsAreExplained(t *testing.T) {
	d := NewDashboard(ringOf(4), start)
	for rank := range 4 {
		d.Add(step(rank, 5, 1), after(1))
	}
	d.Add(status(0, record.Waiting, "", 1), after(2))
	d.Add(status(1, record.Waiting, "no link: connection refused", 2), after(3))
	d.Add(status(3, record.Waiting, "no link: connection refused", 2), after(3))
	want := []string{
		"peers 1 and 3 wait for peer 2: no link: connection refused",
		"peer 0 waits for peer 1",
	}
	if got := d.Waiting(after(15)); !slices.Equal(got, want) {
		t.Errorf("got %q, want the cause first: %q", got, want)
	}
	d.Add(step(1, 6, 16), after(16))
	if got := d.Waiting(after(17)); slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "1, 3") }) {
		t.Errorf("peer 1 goes on, yet %q", got)
	}
}

func TestWaitsThatDifferInTheirAgeAloneAreOne(t *testing.T) {
	d := NewDashboard(ringOf(3), start)
	for rank := range 3 {
		d.Add(step(rank, 5, 1), after(1))
	}
	d.Add(status(1, record.Waiting, "round 7, for 20s: worker 0: link down for 1s: no word for 15s", 0), after(20))
	d.Add(status(2, record.Waiting, "round 8, for 1m1.5s: worker 0: link down for 12s: no word for 15s", 0), after(21))
	got := d.Waiting(after(30))
	want := "peers 1 and 2 wait for peer 0: round 7, for 20s: worker 0: link down for 1s: no word for 15s"
	if !slices.Equal(got, []string{want}) {
		t.Errorf("got %q, want one line", got)
	}
	d.Add(status(2, record.Waiting, "round 8, for 70s: worker 0: connection refused", 0), after(31))
	if got := d.Waiting(after(32)); len(got) != 2 {
		t.Errorf("got %q, want a line for each reason", got)
	}
}

func TestRepeatedStatusDoesNotRestartTheWait(t *testing.T) {
	d := NewDashboard(ringOf(1), start)
	for s := range 20 {
		d.Add(status(0, record.Joining, "2 of 8 found"), after(float64(s)))
		if got := d.Waiting(after(float64(s))); s < 10 && got != nil {
			t.Errorf("explained after %d s: %q", s, got)
		}
	}
	if got, want := d.Waiting(after(20)), []string{"peer 0 joining for 20 s: 2 of 8 found"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestManyWaitsAreCounted(t *testing.T) {
	d := NewDashboard(ringOf(8), start)
	for rank := range 8 {
		d.Add(status(rank, record.Waiting, "", (rank+1)%8), start)
	}
	got := d.Waiting(after(60))
	if len(got) != maxExplained+1 || got[maxExplained] != "and 5 more waits" {
		t.Errorf("got %q", got)
	}
}

func TestNoticesOfTheRunStandUntilItBegins(t *testing.T) {
	d := NewDashboard(ringOf(2), start)
	d.Add(status(-1, record.Joining, "3 of 8 peers found"), start)
	if got := d.Waiting(after(1)); len(got) != 1 || got[0] != "3 of 8 peers found" {
		t.Errorf("before the run: %q", got)
	}
	d.Add(step(0, 1, 1), after(2))
	if got := d.Waiting(after(3)); len(got) != 0 {
		t.Errorf("during the run: %q", got)
	}
}

func TestLine(t *testing.T) {
	d := NewDashboard(ringOf(2), start)
	if got, want := d.Line(start), "round=0/100 peers=0/2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for k := 1; k <= 4; k++ {
		for rank := range 2 {
			d.Add(step(rank, k, float64(k)), after(float64(k)))
		}
	}
	if got, want := d.Line(after(4)), "round=4/100 loss=0.25 gap=0.02 out_mbit=8.0 peers=2/2 eta=1m22s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for rank := range 2 {
		silent := step(rank, 5, 5)
		silent.Step.Loss = math.NaN()
		d.Add(silent, after(5))
	}
	if got := d.Line(after(5)); strings.Contains(got, "loss") || !strings.Contains(got, "round=5/100 gap=") {
		t.Errorf("steps without a loss: got %q", got)
	}
	d.Add(step(1, 8, 6), after(6)) // worker 0 logs none
	if got, want := d.Means().Loss, 1.0/8; got != want || !strings.Contains(d.Line(after(6)), " loss=0.125 ") {
		t.Errorf("the mean loss is %g, want %g: that of the worker that logs one", got, want)
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	d := NewDashboard(ringOf(8), start)
	for rank := range 8 {
		d.Add(step(rank, 50, 10), after(10))
	}
	d.Add(status(3, record.Waiting, strings.Repeat("a long explanation ", 10), 4), after(10))
	for _, size := range []Size{{60, 24}, {72, 24}, {80, 10}, {100, 40}, {200, 50}, {20, 6}, {1, 1}} {
		lines := strings.Split(d.Table(after(30), size), "\n")
		for _, line := range lines {
			if w := lipgloss.Width(line); w > size.Width {
				t.Errorf("%v: a line of %d cells: %q", size, w, line)
			}
		}
		if size.Height >= 20 && len(lines) > size.Height {
			t.Errorf("%v: %d lines", size, len(lines))
		}
	}
}

func TestTableDropsTheLeastColumnsFirst(t *testing.T) {
	d := NewDashboard(ringOf(1), start)
	d.Add(step(0, 50, 10), after(10))
	tests := []struct {
		width     int
		want, not []string
	}{
		{120, []string{"ROUND", "LOSS", "GAP", "COMPUTE ms", "WAIT ms", "CODEC ms", "OUT Mbit/s", "IN Mbit/s"}, nil},
		{80, []string{"ROUND", "LOSS", "GAP", "COMPUTE ms", "WAIT ms", "OUT Mbit/s"}, []string{"IN Mbit/s", "CODEC ms"}},
		{60, []string{"ROUND", "LOSS", "GAP", "OUT Mbit/s"}, []string{"COMPUTE ms"}},
		{30, []string{"ROUND"}, []string{"OUT Mbit/s", "GAP"}},
	}
	for _, tt := range tests {
		table := d.Table(after(11), Size{tt.width, 24})
		for _, title := range tt.want {
			if !strings.Contains(table, title) {
				t.Errorf("width %d: no column %s", tt.width, title)
			}
		}
		for _, title := range tt.not {
			if strings.Contains(table, title) {
				t.Errorf("width %d: column %s", tt.width, title)
			}
		}
	}
}

func TestSmoothSettlesOnWhatStays(t *testing.T) {
	var s smooth
	s.add(10 * time.Millisecond)
	if s.mean != 10*time.Millisecond {
		t.Errorf("after the first: %v", s.mean)
	}
	for range 50 {
		s.add(20 * time.Millisecond)
	}
	if s.mean < 19*time.Millisecond || s.mean > 20*time.Millisecond {
		t.Errorf("after a change that stays: %v, want 20ms", s.mean)
	}
}

func TestPeersThatWereFoundArePresentBeforeTheyAreHeard(t *testing.T) {
	d := NewDashboard(ringOf(3), start)
	here := func(n int) record.Event {
		return record.Event{Status: &record.Status{Rank: -1, State: record.Joining, Here: n}}
	}
	d.Add(here(2), start)
	if got := d.Present(); got != 2 {
		t.Errorf("%d present, though 2 were found", got)
	}
	d.Add(here(3), start)
	d.Add(step(0, 1, 1), after(1)) // the other peers are silent so far
	if got := d.Present(); got != 3 {
		t.Errorf("%d present in the first round, though 3 were found", got)
	}
	if got := d.Waiting(after(30)); got != nil {
		t.Errorf("%q of peers that were found", got)
	}
	d.Add(status(2, record.Lost, ""), after(2))
	if got := d.Present(); got != 2 {
		t.Errorf("%d present, though one of 3 is lost", got)
	}
	run := ringOf(4)
	run.Here = 4
	if got := NewDashboard(run, start).Present(); got != 4 {
		t.Errorf("%d present in a simulation, want all 4", got)
	}
}

// Where members come and go, a row is there from the first event of its member to its end.
func TestRowsOfMembersComeAndGo(t *testing.T) {
	now := time.Now()
	d := NewDashboard(Run{Name: "crew", Peers: 2, Rounds: 100, Open: true}, now)
	for _, e := range []record.Event{
		{Status: &record.Status{Rank: 7, State: record.Training, Here: 3}},
		{Step: &record.Step{Rank: 7, Round: 40, Loss: 2}},
		{Step: &record.Step{Rank: 3, Round: 60, Loss: 4}},
		{Status: &record.Status{Rank: 5, State: record.Training, Here: 4}},
		{Status: &record.Status{Rank: 5, State: record.Finished}},
	} {
		d.Add(e, now)
	}
	if got, want := d.Line(now), "round=40/100 loss=3 gap=0 members=4"; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	table := d.Table(now, Size{Width: 80, Height: 20})
	if rows := strings.Split(table, "\n"); len(rows) != 6 || !strings.HasPrefix(rows[4], "   3  ") ||
		!strings.HasPrefix(rows[5], "   7  ") || !strings.Contains(rows[1], "members 4") {
		t.Errorf("want rows of the members 3 and 7:\n%s", table)
	}
}
