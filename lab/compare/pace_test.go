package compare

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gossiptrainer/app/screen"
	"gossiptrainer/configs"
)

func TestPaceTakesCellsThatAreAlike(t *testing.T) {
	cell := func(label, network string, seed uint64) configs.Cell {
		return configs.Cell{Label: label, Network: network, Seed: seed}
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	after := func(s int) time.Time { return now.Add(time.Duration(s) * time.Second) }
	check := func(when string, at time.Time, p *pace, want time.Duration) {
		t.Helper()
		if got, ok := p.left(at); !ok || got != want {
			t.Errorf("%s: %v (%v), want %v", when, got, ok, want)
		}
	}
	p := &pace{jobs: 1}
	p.rest = []configs.Cell{cell("A", "slow", 1), cell("B", "fast", 1), cell("A", "slow", 2), cell("B", "slow", 1)}
	r := p.begin("", p.rest[:1], now)
	if got, ok := p.left(after(10)); ok {
		t.Errorf("%v though nothing is known", got)
	}
	p.tell(r, screen.Progress{}, now)
	p.tell(r, screen.Progress{Share: 0.25}, now)
	check("a quarter of the first of 4 cells in 10 s", after(10), p, (30+3*40)*time.Second)
	p.end(r, after(40))
	r = p.begin("", p.rest[:1], after(40))
	check("40 s and nothing of the second", after(40), p, 3*40*time.Second)
	p.tell(r, screen.Progress{}, now)
	p.tell(r, screen.Progress{Share: 0.5}, now)
	check("half of the second in 2 s", after(42), p, (2+40+40)*time.Second)
	p.end(r, after(44))
	r = p.begin("", p.rest[:1], after(44))
	check("the same as the first", after(54), p, (30+40)*time.Second)
	p.end(r, after(84))
	r = p.begin("", p.rest[:1], after(84))
	check("the last one takes longer than it should", after(184), p, 0)
	p.end(r, after(184))
	if left, _ := p.left(after(184)); left != 0 {
		t.Errorf("%v left of nothing", left)
	}
}

func TestPaceOfCellsThatRunTogether(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := &pace{jobs: 1, rest: []configs.Cell{{Label: "A"}, {Label: "A"}, {Label: "B"}}}
	r := p.begin("", p.rest[:2], now)
	p.tell(r, screen.Progress{}, now)
	p.tell(r, screen.Progress{Share: 0.5}, now)
	if got, _ := p.left(now.Add(10 * time.Second)); got != 20*time.Second {
		t.Errorf("%v, want 10 s for the two that run and 10 s for one", got)
	}
}

// Cells side by side share the time, and a cell that goes on has done a part before.
func TestPaceOfCellsSideBySide(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := &pace{jobs: 2, rest: []configs.Cell{{Label: "A"}, {Label: "B"}, {Label: "A"}, {Label: "B"}}}
	a, b := p.begin("A 1", p.rest[:1], now), p.begin("B 1", p.rest[:1], now)
	p.tell(a, screen.Progress{Text: "a"}, now)
	p.tell(b, screen.Progress{Share: 0.5, Text: "b"}, now.Add(4*time.Second)) // it has read its checkpoint
	later := now.Add(10 * time.Second)
	p.tell(a, screen.Progress{Share: 0.25, Text: "a"}, later)
	p.tell(b, screen.Progress{Share: 0.75, Text: "b"}, later)
	if got, _ := p.left(later); got != 50*time.Second {
		t.Errorf("%v, want half of 30 s, 6 s, 40 s and 24 s", got)
	}
	if got, want := p.line(later), "A 1: a, 30s; B 1: b, 6s, about 50s left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The first records after a checkpoint come at any time, so they tell no speed.
func TestAShortStretchTellsNoSpeed(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := &pace{jobs: 1, rest: []configs.Cell{{Label: "A"}}}
	r := p.begin("A 1", p.rest[:1], now)
	p.tell(r, screen.Progress{Share: 0.5, Text: "round 500/1000"}, now)
	p.tell(r, screen.Progress{Share: 0.504, Text: "round 504/1000"}, now.Add(20*time.Second))
	if got, want := p.line(now.Add(20*time.Second)), "round 504/1000, ? left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.tell(r, screen.Progress{Share: 0.75, Text: "round 750/1000"}, now.Add(20*time.Second))
	if got, _ := p.left(now.Add(20 * time.Second)); got != 20*time.Second {
		t.Errorf("%v, want 20 s, as long as the same share took", got)
	}
}

func TestAListenerReadsLinesHoweverTheyAreCut(t *testing.T) {
	var heard []screen.Progress
	l := &listener{tell: func(s screen.Progress) { heard = append(heard, s) }}
	for _, b := range []byte("run folder: x\nround=3/6 loss=1\nwarning\nround=6/6 peers=2/2\nround=") {
		fmt.Fprintf(l, "%c", b)
	}
	want := []screen.Progress{{Text: "round 3/6", Share: 0.5}, {Text: "round 6/6", Share: 1}}
	if !slices.Equal(heard, want) {
		t.Errorf("heard %+v, want %+v", heard, want)
	}
}
