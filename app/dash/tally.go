package dash

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"gossiptrainer/app/status"
	"gossiptrainer/internal/explain"
	"gossiptrainer/internal/record"
)

// A tally is what the dash knows of a run: sums of the events of its record, and the latest answers of its processes.
// Its size does not grow with the record. It has neither clock nor files.
type tally struct {
	version int64 // grows with each batch of changes
	plan    plan
	running bool

	beat    record.Pace
	curve   *curve
	scores  scores
	workers []*worker
	edges   map[[2]int]*edge
	shown   map[[2]int]shownEdge
	events  events
	members memberships
	now     point

	record *explain.Record
	said   []explain.Sentence
	saidAt int64 // version of the last change
	heard  bool  // there were events since the last sentences
}

// A shownEdge is an edge as the page has it.
type shownEdge struct {
	Edge
	changed int64
}

func newTally(p plan) *tally {
	t := &tally{version: 2, plan: p, beat: record.Pace{Workers: p.workers}, curve: newCurve(mostPoints),
		record: explain.NewRecord(p.facts), said: []explain.Sentence{},
		scores: scores{most: mostPoints}, edges: map[[2]int]*edge{}, shown: map[[2]int]shownEdge{}}
	t.grow(p.workers)
	for _, e := range p.edges {
		t.edges[[2]int{e.a, e.b}] = newEdge(e.a, e.b, e.weight)
	}
	for ends, limit := range p.limits {
		if e := t.edges[ends]; e != nil {
			e.limit = limit
		}
	}
	return t
}

// mostWorkers bounds the workers of which the dash keeps something.
const mostWorkers = 1 << 12

// grow makes room for some workers.
func (t *tally) grow(workers int) {
	for len(t.workers) < min(workers, mostWorkers) {
		t.workers = append(t.workers, newWorker(max(leastPoints, min(ownPoints, allPoints/max(1, workers)))))
	}
}

// worker returns the worker of a rank, nil where there is none.
func (t *tally) worker(rank int) *worker {
	if rank >= 0 && (t.plan.workers == 0 || t.plan.open) {
		t.grow(rank + 1)
	}
	if rank < 0 || rank >= len(t.workers) {
		return nil
	}
	return t.workers[rank]
}

// see takes an event of the record.
func (t *tally) see(e record.Event) {
	t.record.See(e)
	t.heard = true
	w := t.worker(e.Rank())
	switch {
	case e.Score != nil:
		if t.scores.see(*e.Score, t.now, t.present(), t.version) && e.Score.Rank == record.Average {
			t.note(Event{Round: e.Score.Round, Kind: scoreEvent, Severity: explain.Note,
				Text: "the mean model" + results(e.Score.Loss, e.Score.Accuracy)})
		}
		return
	case w == nil:
		return
	case e.Status != nil && e.Status.View != nil:
		t.enter(*e.Status.View)
		t.hear(w)
		return
	case e.Edge != nil:
		t.edge(*e.Edge)
		return
	case e.Status != nil:
		if e, news := eventOf(w, *e.Status); news {
			t.note(e)
		}
	case e.Links != nil:
		t.account(*e.Links)
	case e.Final != nil:
		t.final(*e.Final)
	}
	w.see(e, t.version)
	t.hear(w)
	if !t.members.has(e.Rank()) {
		return
	}
	if moment, ok := t.beat.See(e); ok {
		t.now = pointOf(moment, t.version)
		t.curve.add(t.now)
	}
}

// hear notes that the record has something of a worker's own.
func (t *tally) hear(w *worker) {
	if w.heard {
		return
	}
	if w.heard = true; t.members.changed > 0 {
		t.recount()
	}
}

func (t *tally) note(e Event) { t.events.add(e, t.now, t.version) }

func (t *tally) final(f record.Final) {
	if len(t.scores.list) > 0 { // the curve of the workers ends with their results
		t.scores.see(record.Score{Rank: f.Rank, Round: f.Rounds, Loss: f.Loss, Accuracy: f.Accuracy}, t.now,
			t.present(), t.version)
	}
	t.note(Event{Rank: &f.Rank, Round: f.Rounds, Kind: finalEvent, Severity: explain.Note,
		Text: fmt.Sprintf("worker %d is done after %d rounds%s", f.Rank, f.Rounds, results(f.Loss, f.Accuracy))})
}

// present counts the workers that are not lost; of members those whose results the record has.
func (t *tally) present() (n int) {
	for id, w := range t.workers {
		if !w.Gone() && (t.members.changed == 0 || w.heard && t.members.has(id)) {
			n++
		}
	}
	return n
}

// edge takes a change of an edge. A run begins with one for each of its edges, which is no news.
func (t *tally) edge(e record.Edge) {
	if t.worker(e.Peer) == nil {
		return
	}
	if e.Exchange > 0 {
		t.note(eventOfEdge(e))
	}
	if e.Rank == e.Peer {
		return
	}
	at := t.between(e.Rank, e.Peer)
	if e.Weight > 0 {
		at.weight = e.Weight
	}
	at.ends[side(e.Rank, e.Peer)].off = e.Weight == 0
}

// account takes a worker's account of its time and its edges.
func (t *tally) account(l record.Links) {
	for _, link := range l.Links {
		if other := t.worker(link.Peer); other != nil && link.Peer != l.Rank {
			end := &t.between(l.Rank, link.Peer).ends[side(l.Rank, link.Peer)]
			if moves(end.over, link.Path) {
				t.note(eventOfPath(l.Rank, l.Round, link))
			}
			end.record(link, l.Time)
			other.changed = t.version // how often it is waited for
		}
	}
}

// waited returns for each worker the share of the rounds of its neighbours that waited for it last, NaN where none has
// told.
func (t *tally) waited() []float64 {
	shares, rounds := make([]float64, len(t.workers)), make([]float64, len(t.workers))
	for _, w := range t.workers {
		for _, link := range w.Account().Links {
			if t.worker(link.Peer) != nil {
				shares[link.Peer] += float64(link.Last)
				rounds[link.Peer] += float64(w.Account().Rounds)
			}
		}
	}
	for rank := range shares {
		shares[rank] /= rounds[rank]
	}
	return shares
}

// explain makes the sentences again if there were events, and reports whether they changed.
func (t *tally) explain() bool {
	if !t.heard {
		return false
	}
	t.heard = false
	said := explain.Sentences(t.record)
	if len(said) == len(t.said) && (len(said) == 0 || reflect.DeepEqual(said, t.said)) {
		return false
	}
	t.said, t.saidAt = append([]explain.Sentence{}, said...), t.version
	return true
}

// between returns the edge between two workers.
func (t *tally) between(i, j int) *edge {
	ends := [2]int{min(i, j), max(i, j)}
	if t.edges[ends] == nil {
		t.edges[ends] = newEdge(i, j, math.Inf(1))
	}
	return t.edges[ends]
}

// side returns which end of its edge to other a worker is: 0 for the smaller rank.
func side(rank, other int) int {
	if rank < other {
		return 0
	}
	return 1
}

// look takes the answers of the processes of the run.
func (t *tally) look(answers []status.Answer, now time.Time) {
	byRank := map[int]*status.Answer{}
	for i := range answers {
		if t.plan.open && answers[i].State == record.Joining { // it has no id yet
			continue
		}
		byRank[answers[i].Rank] = &answers[i]
	}
	for rank, w := range t.workers {
		a := byRank[rank]
		if w.take(a, now) {
			w.changed = t.version
		}
		if a == nil {
			for _, e := range t.edges {
				if e.a == rank || e.b == rank {
					e.ends[side(rank, e.a+e.b-rank)].gone()
				}
			}
			continue
		}
		if t.plan.open {
			t.hears(rank, a)
			continue
		}
		for _, link := range a.Links {
			if t.worker(link.Neighbour) != nil && link.Neighbour != rank {
				t.between(rank, link.Neighbour).ends[side(rank, link.Neighbour)].take(link, now)
			}
		}
	}
}

// settle ends a batch of changes: it notes which edges look different now. The next batch has the next version.
func (t *tally) settle() {
	degrees := make([]int, len(t.workers))
	for _, e := range t.edges {
		degrees[e.a]++
		degrees[e.b]++
	}
	for ends, e := range t.edges {
		now := e.show(t.workers, degrees, t.plan.uplink, t.running)
		if before, ok := t.shown[ends]; !ok || before.Edge != now {
			t.shown[ends] = shownEdge{now, t.version}
		}
	}
	t.version++
}

// peersSince returns the workers that changed after a version.
func (t *tally) peersSince(version int64) []Peer {
	all, waited := []Peer{}, t.waited()
	for rank, w := range t.workers {
		if t.plan.open && w.State == "" { // an id that no view of the record has
			continue
		}
		if w.changed > version || version == 0 {
			all = append(all, w.show(rank, waited[rank]))
		}
	}
	return all
}

// edgesSince returns the edges that changed after a version.
func (t *tally) edgesSince(version int64) []Edge {
	all := []Edge{}
	if t.members.changed > version { // the page forgets the edges of the view before
		version = 0
	}
	for _, e := range t.shown {
		if e.changed > version || version == 0 {
			all = append(all, e.Edge)
		}
	}
	slices.SortFunc(all, byEnds)
	return all
}
