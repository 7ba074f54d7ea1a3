package sim

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"gossiptrainer/topology"
)

// Events of one time are a batch. No event of a batch depends on one of another worker: a frame or a record that
// one causes is an event or a call after the batch. So threads serve the workers of a large batch side by side. Each
// worker's events keep their order, and afterwards new events and records get the order that one thread gives them.

// least is the number of events below which waking the other threads takes longer than the events.
const least = 64

// stretch is the number of workers that a thread takes at a time.
const stretch = 16

// A batch is a set of events of one time, by worker.
type batch struct {
	events  []event
	next    []int32         // by event: the next one of the same worker, or −1
	heads   []int32         // by worker of the run: its first event, or −1
	tails   []int32         // by worker of the run: its last event so far
	workers []topology.Rank // with events, in order of their first one
	results []result        // by event
}

// A result says which new events and steps of a thread an event has caused.
type result struct {
	thread         *thread
	created, steps span // of the thread's
	err            error
}

// A span is a range of indices.
type span struct{ from, to int32 }

// arrange sorts events by worker, in a run of n workers.
func (w *batch) arrange(events []event, n int) {
	if len(w.heads) < n {
		w.heads, w.tails = make([]int32, n), make([]int32, n)
		for i := range w.heads {
			w.heads[i] = -1
		}
	}
	if cap(w.next) < len(events) {
		w.next, w.results = make([]int32, len(events)), make([]result, len(events))
	}
	w.events, w.next, w.results, w.workers = events, w.next[:len(events)], w.results[:len(events)], w.workers[:0]
	for i := range events {
		rank := events[i].worker
		if w.next[i] = -1; w.heads[rank] < 0 {
			w.heads[rank] = int32(i)
			w.workers = append(w.workers, rank)
		} else {
			w.next[w.tails[rank]] = int32(i)
		}
		w.tails[rank] = int32(i)
	}
}

// clear forgets the events.
func (w *batch) clear() {
	for _, rank := range w.workers {
		w.heads[rank] = -1
	}
	clear(w.results)
	w.events = nil
}

// alone reports whether one thread serves all events. A condition for the end is checked before every event, faults
// change more than one worker, inputs are kept in order, and workers share processors.
func (s *simulation) alone() bool {
	return s.script != nil || s.cores != nil || s.opt.Ending.Until != nil || s.keeper.at > 0
}

// serve lets all events of a batch happen.
func (s *simulation) serve(ctx context.Context, events []event) error {
	if len(events) >= least && len(s.threads) > 1 && !s.alone() {
		return s.serveTogether(ctx, events)
	}
	for i := range events {
		if err := s.end(); err != nil {
			return err
		}
		s.events++
		if err := s.handle(s.threads[0], &events[i]); err != nil {
			return err
		}
	}
	return nil
}

// serveTogether lets all threads serve a batch.
func (s *simulation) serveTogether(ctx context.Context, events []event) error {
	if err := s.end(); err != nil {
		return err
	}
	w := &s.batch
	w.arrange(events, len(s.peers))
	defer w.clear()
	var all sync.WaitGroup
	var taken atomic.Int64
	for _, t := range s.threads[1:] {
		all.Go(func() { s.share(ctx, t, &taken) })
	}
	s.share(ctx, s.threads[0], &taken)
	all.Wait()
	if err := s.stopped(ctx); err != nil {
		return err
	}
	s.events += len(events)
	return s.collect()
}

// share serves workers of the batch until none is left.
func (s *simulation) share(ctx context.Context, t *thread, taken *atomic.Int64) {
	w := &s.batch
	t.together = true
	t.created = slices.Grow(t.created, len(w.events)/len(s.threads))
	defer func() { t.together = false }()
	for ctx.Err() == nil {
		from := int(taken.Add(stretch)) - stretch
		if from >= len(w.workers) {
			return
		}
		for _, rank := range w.workers[from:min(from+stretch, len(w.workers))] {
			for i := w.heads[rank]; i >= 0; i = w.next[i] {
				r := &w.results[i]
				r.thread, r.created.from, r.steps.from = t, int32(len(t.created)), int32(len(t.steps))
				r.err = s.handle(t, &w.events[i])
				r.created.to, r.steps.to = int32(len(t.created)), int32(len(t.steps))
				if r.err != nil {
					break
				}
			}
		}
	}
}

// collect adds the new events and steps of a batch in the order of the events that have caused them. It returns the
// first error.
func (s *simulation) collect() error {
	defer func() {
		for _, t := range s.threads {
			clear(t.created)
			clear(t.accounts)
			t.created, t.steps = t.created[:0], t.steps[:0]
		}
	}()
	created := 0
	for _, t := range s.threads {
		created += len(t.created)
	}
	if created >= least {
		s.queue.expect(created)
	}
	for i := range s.batch.results {
		r := &s.batch.results[i]
		for _, e := range r.thread.created[r.created.from:r.created.to] {
			s.add(e)
		}
		for i := r.steps.from; i < r.steps.to; i++ {
			s.observe(r.thread.steps[i], r.thread.accounts[int(i)])
		}
		if r.err != nil {
			return r.err
		}
	}
	return nil
}
