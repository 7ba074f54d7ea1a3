package record

import "time"

// A History makes one record of the events of workers whose processes end and start again. A process
// counts time, bytes and messages from zero; a History continues the counts of the process before. A
// worker that returns from a checkpoint computes some rounds twice; a History keeps the first event of
// each. Only one goroutine at a time may call its methods.
type History struct {
	workers []career // by rank
}

// A career sums up all processes of one worker.
type career struct {
	before time.Duration // time of training in earlier parts of the run
	past   totals        // counts of earlier processes
	total  totals        // counts with the present process, as last reported
	round  int           // round of the latest Step
	scored int           // round of the latest Score
}

// totals are the counts that start at zero in each process.
type totals struct {
	time           time.Duration
	sent, received Bytes
	messages       Messages
	links          Links
}

// see takes the counts of a step.
func (t *totals) see(s Step) {
	t.time, t.sent, t.received, t.messages = s.Time, s.Sent, s.Received, s.Messages
}

// NewHistory returns the history of a run of some workers. It continues after the events, which are nil for a new run.
func NewHistory(workers int, events []Event) *History {
	h := &History{workers: make([]career, workers)}
	for _, e := range events {
		w := h.of(e)
		switch {
		case w == nil:
		case e.Step != nil && e.Step.Round >= w.round:
			w.round = e.Step.Round
			w.total.see(*e.Step)
		case e.Score != nil:
			w.scored = max(w.scored, e.Score.Round)
		case e.Links != nil:
			w.total.links = *e.Links
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

// Begun returns the first round that no worker has begun in the earlier parts of the run, as far as
// the record shows.
func (h *History) Begun() (round int) {
	for _, w := range h.workers {
		if w.round > 0 {
			round = max(round, w.round+1)
		}
	}
	return round
}

// Return notes that a worker has a new process, whose clock starts this long after this part of the run began.
func (h *History) Return(rank int, after time.Duration) {
	w := &h.workers[rank]
	w.past = w.total
	w.past.time = w.before + after
}

// Join returns the event of a process as one of the whole run, and whether it is new: a repeated round is not. It does
// not change e.
func (h *History) Join(e Event) (joined Event, isNew bool) {
	w := h.of(e)
	switch {
	case w == nil:
	case e.Step != nil:
		s := w.past.step(*e.Step)
		w.total.see(s)
		isNew = s.Round > w.round
		w.round = max(w.round, s.Round)
		return Event{Step: &s}, isNew
	case e.Score != nil:
		isNew = e.Score.Round > w.scored
		w.scored = max(w.scored, e.Score.Round)
		return e, isNew
	case e.Links != nil:
		l := e.Links.after(w.past.links)
		l.Time += w.past.time
		w.total.links = l
		return Event{Links: &l}, true
	case e.Final != nil:
		f := w.past.final(*e.Final)
		return Event{Final: &f}, true
	}
	return e, true
}

// of returns the worker of an event, nil where the run has none.
func (h *History) of(e Event) *career {
	if rank := e.Rank(); rank >= 0 && rank < len(h.workers) {
		return &h.workers[rank]
	}
	return nil
}

// step adds the counts of earlier processes to a step.
func (p totals) step(s Step) Step {
	parameters := s.Messages.parameters(s.Effective)
	s.Time += p.time
	s.Sent.Add(p.sent)
	s.Received.Add(p.received)
	s.Messages.Add(p.messages)
	if parameters > 0 {
		s.Effective = s.Messages.Bits(parameters)
	}
	return s
}

// final adds the counts of earlier processes to a result.
func (p totals) final(f Final) Final {
	f.Time += p.time
	f.Sent.Add(p.sent)
	f.Messages.Add(p.messages)
	return f
}
