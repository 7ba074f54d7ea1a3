package script

import (
	"maps"
	"sync"
	"time"

	"gossiptrainer/internal/record"
)

// A Late holds the steps of a worker back until the script has logged their losses. A script logs the loss of round k
// after it has taken the local step, when the peer has begun round k+1. Several goroutines may call its methods.
type Late struct {
	mu     sync.Mutex
	next   func(record.Event)
	held   []record.Step
	losses map[int]float64       // by round, from 0: those that a later step may need
	over   map[int]time.Duration // hand-over by round
	known  int                   // the losses of all rounds below are known
}

// newLate returns a Late of a script that has logged nothing.
func newLate() *Late {
	return &Late{next: func(record.Event) {}, losses: map[int]float64{}, over: map[int]time.Duration{}}
}

// Observe wraps the receiver of the worker's events. The last receiver gets all steps that are held. Other events pass
// at once.
func (l *Late) Observe(next func(record.Event)) func(record.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = next
	return func(e record.Event) {
		if e.Step == nil {
			next(e)
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.held = append(l.held, *e.Step)
		l.release()
	}
}

// Loss takes the loss of a round, from 0.
func (l *Late) Loss(k int, loss float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.losses[k] = loss
}

// stepped notes that the script has taken step k, whose hand-over took some time. It logs no loss of an earlier round
// after that.
func (l *Late) stepped(k int, over time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over[k], l.known = over, max(l.known, k)
	l.release()
}

// Flush releases all steps: the script logs nothing more.
func (l *Late) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.held {
		l.known = max(l.known, s.Round)
	}
	l.release()
}

// release passes on the steps whose losses are known. A step of a round without a loss keeps the loss that was newest.
func (l *Late) release() {
	for len(l.held) > 0 && l.held[0].Round <= l.known {
		s := l.held[0]
		l.held = l.held[1:]
		k := s.Round - 1
		if loss, logged := l.losses[k]; logged {
			s.Loss = loss
		} else if before, logged := l.lossBefore(k); logged {
			s.Loss = before
		}
		s.HandOver = l.over[k]
		s.Compute = max(0, s.Compute-s.HandOver)
		l.forget(k)
		l.next(record.Event{Step: &s})
	}
}

// lossBefore returns the loss of the newest round before k that has one.
func (l *Late) lossBefore(k int) (loss float64, logged bool) {
	newest := -1
	for round := range l.losses {
		if round < k && round > newest {
			newest = round
		}
	}
	return l.losses[newest], newest >= 0
}

// forget drops what no later step needs: all before the newest loss up to round k.
func (l *Late) forget(k int) {
	newest := -1
	for round := range l.losses {
		if round <= k {
			newest = max(newest, round)
		}
	}
	maps.DeleteFunc(l.losses, func(round int, _ float64) bool { return round < newest })
	maps.DeleteFunc(l.over, func(round int, _ time.Duration) bool { return round <= k })
}
