package record

import (
	"slices"
	"testing"
)

func edge(rank, peer, exchange int, weight float64) Event {
	return Event{Edge: &Edge{Rank: rank, Peer: peer, Exchange: exchange, Weight: weight}}
}

// ringOfFour is the record of a ring at its start.
func ringOfFour() []Event {
	var events []Event
	for i := range 4 {
		events = append(events, edge(i, (i+1)%4, 0, 1./3), edge(i, (i+3)%4, 0, 1./3))
	}
	return events
}

func TestViewsOfARingThatLosesAWorker(t *testing.T) {
	events := append(ringOfFour(), edge(1, 2, 7, 0), edge(3, 2, 8, 0), edge(1, 3, 8, 1./3), edge(3, 1, 8, 1./3))
	lost := func(rank int) bool { return rank == 2 }
	views, err := Views(events, 4, lost)
	if err != nil {
		t.Fatal(err)
	}
	var starts []int
	for _, v := range views {
		starts = append(starts, v.From)
		if err := v.Check(); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(starts, []int{0, 7, 8}) {
		t.Fatalf("views from %v", starts)
	}
	if w := views[2].W; w[1][3] != 1./3 || w[2][2] != 1 || w[1][2] != 0 {
		t.Errorf("last view %v", w)
	}
	if n := Lopsided(events, views, lost); n != 2 {
		t.Errorf("%d exchanges of one end, want one for each edge of the worker that was lost", n)
	}
}

func TestViewsOfAWorkerThatComesBack(t *testing.T) {
	events := append(ringOfFour(), edge(1, 2, 7, 0), edge(3, 2, 8, 0), edge(1, 3, 8, 1./3), edge(3, 1, 8, 1./3),
		edge(1, 2, 20, 1./3), edge(2, 2, 20, 0), edge(2, 1, 20, 1./3), edge(3, 2, 22, 1./3), edge(2, 3, 22, 1./3),
		edge(3, 1, 24, 0), edge(1, 3, 24, 0))
	living := func(int) bool { return false }
	views, err := Views(events, 4, living)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range views {
		if err := v.Check(); err != nil || len(v.Lopsided) > 0 {
			t.Errorf("view from %d: %v, lopsided %v", v.From, err, v.Lopsided)
		}
	}
	if last := views[len(views)-1]; last.From != 24 || last.W[1][2] != 1./3 || last.W[1][3] != 0 {
		t.Errorf("last view from %d: %v, want the ring", last.From, last.W)
	}
	if n := Lopsided(events, views, living); n != 2 {
		t.Errorf("%d exchanges of one end, want one for each edge of the worker that was lost", n)
	}
}

func TestViewsWithOneEndOff(t *testing.T) {
	events := append(ringOfFour(), edge(1, 2, 7, 0), edge(2, 1, 9, 0))
	views, err := Views(events, 4, func(int) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	if got := views[1].Lopsided; !slices.Equal(got, [][2]int{{2, 1}}) {
		t.Errorf("lopsided %v, want that only worker 2 has the edge on", got)
	}
	if n := Lopsided(events, views, func(int) bool { return false }); n != 2 {
		t.Errorf("%d exchanges of one end, want 2", n)
	}
}

func TestViewsThatAreWrong(t *testing.T) {
	living := func(int) bool { return false }
	if _, err := Views([]Event{edge(0, 4, 0, 0.5)}, 4, living); err == nil {
		t.Error("an edge to a worker that there is not: no error")
	}
	for name, events := range map[string][]Event{
		"other weight at the other end": {edge(0, 1, 0, 0.5), edge(1, 0, 0, 0.25)},
		"more than all is given away":   {edge(0, 1, 0, 0.75), edge(1, 0, 0, 0.75), edge(0, 2, 0, 0.75), edge(2, 0, 0, 0.75)},
	} {
		views, err := Views(events, 3, living)
		if err != nil {
			t.Fatal(err)
		}
		if views[0].Check() == nil {
			t.Errorf("%s: nothing wrong is found", name)
		}
	}
}
