package explain

import (
	"time"

	"gossiptrainer/internal/record"
)

// Facts are what a run file says of a run and its record does not.
type Facts struct {
	Workers int
	// LeastBits and MostBits bound the bits per parameter that a controller chooses; equal: it chooses none.
	LeastBits, MostBits int
	Entropy             bool // payloads are entropy coded
}

// A Record is what sentences are made from: sums of the events of a run, and some of its steps. Its size does not grow
// with the length of the run. Its methods may be called by one goroutine at a time.
type Record struct {
	facts   Facts
	keep    int      // the most steps of a worker, and accounts
	workers []worker // by rank
	views   views
}

// A worker is what sentences know of one worker.
type worker struct {
	record.Worker
	steps    *thin[record.Step]  // some of them; nil: none
	handOver bool                // it trains a script
	wrong    *thin[record.Links] // some accounts, for the time of violations; nil: none yet
	returns  []pause             // of its process
	joins    bool                // it was no founder
	first    *record.Step        // of one that joins: its clock and its rounds begin late; nil: none yet
}

// A pause is the time around the return of a worker.
type pause struct {
	after int           // the last round on record before it
	from  time.Duration // of that round
	took  time.Duration // from there to the next round on record; 0 before that is known
	until int           // that round
}

// all bounds the steps that are kept of all workers together. Beyond 4,096 workers an even choice of them keeps some.
const all = 1 << 14

// NewRecord returns the record of a run before its first event.
func NewRecord(f Facts) *Record {
	const least, most = 4, 128
	keep := min(max(all/max(f.Workers, 1), least), most)
	each := max(1, (least*f.Workers+all-1)/all)
	r := &Record{facts: f, keep: keep, workers: make([]worker, f.Workers)}
	for i := 0; i < f.Workers; i += each {
		r.workers[i].steps = &thin[record.Step]{most: keep}
	}
	return r
}

// Of returns the record of a run that is read back.
func Of(f Facts, events []record.Event) *Record {
	r := NewRecord(f)
	for _, e := range events {
		r.See(e)
	}
	return r
}

// longest bounds the rounds of a run, as records do.
const longest = 1 << 48

// See adds an event of the run. It ignores ranks and rounds that no run has.
func (r *Record) See(e record.Event) {
	if e.Status != nil && e.Status.View != nil {
		r.enter(e.Status.View)
	}
	outside := func(round int) bool { return round <= 0 || round > longest }
	if !r.has(e.Rank()) || e.Step != nil && outside(e.Step.Round) || e.Links != nil && outside(e.Links.Round) {
		return
	}
	w := &r.workers[e.Rank()]
	switch {
	case e.Step != nil:
		w.step(e.Step)
	case e.Links != nil:
		if w.wrong == nil {
			w.wrong = &thin[record.Links]{most: r.keep}
		}
		w.wrong.add(*e.Links)
	case e.Status != nil && e.Status.State == record.Returning && w.State != record.Returning:
		w.returns = append(w.returns, pause{after: w.Last.Round, from: w.Last.Time})
	}
	w.See(e)
}

// Last returns the last step of each worker that has one, by rank. A nil Record has none.
func (r *Record) Last() []record.Step {
	if r == nil {
		return nil
	}
	var last []record.Step
	for i := range r.workers {
		if step := r.workers[i].Last; step.Round > 0 && r.counts(i) {
			last = append(last, step)
		}
	}
	return last
}

func (r *Record) has(rank int) bool { return rank >= 0 && rank < len(r.workers) }

// step adds a step.
func (w *worker) step(s *record.Step) {
	if n := len(w.returns); n > 0 && w.returns[n-1].took == 0 && s.Round > w.returns[n-1].after {
		p := &w.returns[n-1]
		p.took, p.until = s.Time-p.from, s.Round
	}
	if w.steps != nil {
		w.steps.add(*s)
	}
	if w.joins && w.first == nil {
		w.first = new(*s)
	}
	w.handOver = w.handOver || s.HandOver > 0
}

// present returns the ranks of the workers that have finished rounds, apart from lost ones.
func (r *Record) present() []int {
	var ranks []int
	for i := range r.workers {
		if w := &r.workers[i]; w.rounds() > 0 && !w.Gone() && r.counts(i) {
			ranks = append(ranks, i)
		}
	}
	return ranks
}

// rounds returns the rounds that a worker has finished.
func (w *worker) rounds() int { return max(w.Last.Round, w.Account().Round) }

// round returns the last round of the run that is on record.
func (r *Record) round() (last int) {
	for i := range r.workers {
		last = max(last, r.workers[i].rounds())
	}
	return last
}

// A thin list keeps some of the values that are added, evenly over all of them.
type thin[T any] struct {
	most   int
	kept   []T
	stride int // one of stride values is kept
	seen   int
}

// all returns the values that a list keeps; nil keeps none.
func (t *thin[T]) all() []T {
	if t == nil {
		return nil
	}
	return t.kept
}

// add keeps the value, or drops it.
func (t *thin[T]) add(v T) {
	t.stride = max(t.stride, 1)
	if t.seen%t.stride == 0 {
		t.kept = append(t.kept, v)
	}
	t.seen++
	if len(t.kept) <= t.most {
		return
	}
	even := t.kept[:0]
	for i := 0; i < len(t.kept); i += 2 {
		even = append(even, t.kept[i])
	}
	t.kept = even
	t.stride *= 2
}
