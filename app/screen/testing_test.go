package screen

import (
	"strings"
	"testing"

	"gossiptrainer/internal/record"
)

func tested(rank int, share float64) record.Event {
	return record.Event{Status: &record.Status{Rank: rank, State: record.Testing, Share: share}}
}

func TestTheFinalTestHasProgressAndATimeOfItsOwn(t *testing.T) {
	d := NewDashboard(ringOf(2), start)
	for k := 1; k <= 100; k++ {
		for rank := range 2 {
			d.Add(step(rank, k, float64(k)), after(float64(k)))
		}
	}
	if got := d.Line(after(100)); strings.Contains(got, "eta=") || strings.Contains(got, "tested") {
		t.Errorf("after the last round: %q, want neither a time nor a test", got)
	}
	d.Add(tested(0, 0), after(100))
	d.Add(tested(0, 0.5), after(120))
	if got := d.Line(after(120)); !strings.HasSuffix(got, " tested=0.25 eta=1m0s") {
		t.Errorf("half of one of two tests took 20 s: %q", got)
	}
	d.Add(record.Event{Final: &record.Final{Rank: 0, Rounds: 100}}, after(140))
	d.Add(tested(1, 0.5), after(160))
	table := d.Table(after(160), Size{80, 24})
	for _, want := range []string{"tested", " 75 %", "eta 20s", "test 50%"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	d.Add(record.Event{Final: &record.Final{Rank: 1, Rounds: 100}}, after(180))
	if got := d.Line(after(180)); strings.Contains(got, "eta=") || strings.Contains(got, "tested") {
		t.Errorf("when both are done: %q", got)
	}
	d.Add(tested(record.Average, 0.25), after(190))
	d.Add(tested(record.Average, 0.5), after(200))
	if got := d.Line(after(200)); !strings.HasSuffix(got, " average_tested=0.50 eta=10s") {
		t.Errorf("half of the test of the average model took 10 s: %q", got)
	}
}

func TestATestDoesNotHideThatOthersTrain(t *testing.T) {
	d := NewDashboard(ringOf(2), start)
	for rank := range 2 {
		d.Add(step(rank, 10, 1), after(1))
		d.Add(step(rank, 50, 5), after(5))
	}
	d.Add(step(0, 100, 10), after(10))
	d.Add(tested(0, 0.5), after(12))
	if got := d.Line(after(12)); strings.Contains(got, "tested") || !strings.Contains(got, "round=50/100") {
		t.Errorf("%q, though a peer trains", got)
	}
}

func TestALineIsReadBack(t *testing.T) {
	d := NewDashboard(ringOf(2), start)
	for rank := range 2 {
		d.Add(step(rank, 25, 25), after(25))
	}
	if got, ok := ReadLine(d.Line(after(25))); !ok || got.Share != 0.25 || got.Text != "round 25/100" {
		t.Errorf("%+v (%v) of %q", got, ok, d.Line(after(25)))
	}
	for rank := range 2 {
		d.Add(step(rank, 100, 100), after(100))
		d.Add(tested(rank, 0.5), after(110))
	}
	if got, ok := ReadLine(d.Line(after(110))); !ok || got.Share != 1 || got.Text != "round 100/100, tested 50 %" {
		t.Errorf("%+v (%v) of %q", got, ok, d.Line(after(110)))
	}
	for _, other := range []string{"", "run folder: x", "round=a/b", "round=3/0", "round=-1/7", "peer 1 waits"} {
		if got, ok := ReadLine(other); ok {
			t.Errorf("%q is read as %+v", other, got)
		}
	}
}
