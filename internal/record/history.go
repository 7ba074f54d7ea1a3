package record

import "time"

// A History makes one record of what workers report whose processes end and start
// again. A process counts time, bytes and messages from zero, and a worker that comes
// back from a checkpoint does some rounds twice: the events of a History count on, and
// none is in it twice. Its methods must not be called at the same time.
type History struct {
	workers []lives // by rank
}

// lives is what one worker has come to in all of its processes.
type lives struct {
	before time.Duration // it has trained in earlier parts of the run
	past   totals        // of the processes that are over
	total  totals        // with the present one, as last reported
	round  int           // of the latest Step
	scored int           // of the latest Score
}

// totals are what a process counts from zero.
type totals struct {
	time           time.Duration
	sent, received Bytes
	messages       Messages
}

func totalsOf(s Step) totals {
	return totals{time: s.Time, sent: s.Sent, received: s.Received, messages: s.Messages}
}

// NewHistory returns that of a run of some workers that goes on after the events of its
// record, none for a run that begins.
func NewHistory(workers int, events []Event) *History {
	h := &History{workers: make([]lives, workers)}
	for _, e := range events {
		switch {
		case e.Step != nil && h.has(e.Step.Rank) && e.Step.Round >= h.workers[e.Step.Rank].round:
			w := &h.workers[e.Step.Rank]
			w.round, w.total = e.Step.Round, totalsOf(*e.Step)
		case e.Score != nil && h.has(e.Score.Rank):
			w := &h.workers[e.Score.Rank]
			w.scored = max(w.scored, e.Score.Round)
		}
	}
	for i := range h.workers {
		w := &h.workers[i]
		w.past, w.before = w.total, w.total.time
	}
	return h
}

// Trained returns how long the workers have trained in the earlier parts of the run.
func (h *History) Trained() (most time.Duration) {
	for _, w := range h.workers {
		most = max(most, w.before)
	}
	return most
}

// Begun returns the first round that no worker has begun in the earlier parts of the run, as
// far as rounds are on record.
func (h *History) Begun() (round int) {
	for _, w := range h.workers {
		if w.round > 0 {
			round = max(round, w.round+1)
		}
	}
	return round
}

// Return notes that a worker comes back in a new process, whose clock starts this long
// after this part of the run has begun.
func (h *History) Return(rank int, after time.Duration) {
	w := &h.workers[rank]
	w.past = w.total
	w.past.time = w.before + after
}

// Join returns an event that a process reports as one of the whole run, and whether it
// is new: a round that is done once more is not. The event itself stays as it is.
func (h *History) Join(e Event) (joined Event, isNew bool) {
	switch {
	case e.Step != nil && h.has(e.Step.Rank):
		w := &h.workers[e.Step.Rank]
		s := w.past.step(*e.Step)
		w.total = totalsOf(s)
		isNew = s.Round > w.round
		w.round = max(w.round, s.Round)
		return Event{Step: &s}, isNew
	case e.Score != nil && h.has(e.Score.Rank):
		w := &h.workers[e.Score.Rank]
		isNew = e.Score.Round > w.scored
		w.scored = max(w.scored, e.Score.Round)
		return e, isNew
	case e.Final != nil && h.has(e.Final.Rank):
		f := h.workers[e.Final.Rank].past.final(*e.Final)
		return Event{Final: &f}, true
	}
	return e, true
}

func (h *History) has(rank int) bool { return rank >= 0 && rank < len(h.workers) }

// step returns s as one of all processes of its worker.
func (p totals) step(s Step) Step {
	own := s.Messages.mean()
	s.Time += p.time
	s.Sent.Add(p.sent)
	s.Received.Add(p.received)
	s.Messages.Add(p.messages)
	if own > 0 {
		s.Effective *= s.Messages.mean() / own
	}
	return s
}

// final returns f as that of all processes of its worker.
func (p totals) final(f Final) Final {
	f.Time += p.time
	f.Sent.Add(p.sent)
	f.Messages.Add(p.messages)
	return f
}
