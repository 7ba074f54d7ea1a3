package sim

import (
	"runtime"
	"slices"
	"time"

	"gossiptrainer/internal/record"
	"gossiptrainer/internal/wire/entropy"
)

// A thread is the working memory of a goroutine that serves events. A thread that serves alone schedules new events and
// records steps at once. Threads that serve together keep them, for simulation.collect.
type thread struct {
	sim      *simulation
	together bool
	created  []event               // in order, their sequence numbers are missing
	steps    []record.Step         // in order
	accounts map[int]*record.Links // by the index of their step; nil where there are none
	encoders map[entropy.Coder]*entropy.Encoder
	coded    []byte    // the payload that was coded last
	flights  []*flight // memory of frames that have arrived, for reuse
	pool     *pool     // of all threads, or of its own where gradients are small
}

// newThreads returns a thread for each core, for models of dim coordinates. The caller stops their pools.
func (s *simulation) newThreads(dim int) error {
	pool := newPool(dim)
	for range runtime.GOMAXPROCS(0) {
		if !pool.shared {
			pool = newPool(dim)
		}
		t := &thread{sim: s, encoders: make(map[entropy.Coder]*entropy.Encoder), pool: pool}
		s.threads = append(s.threads, t)
		for i := range s.peers {
			if err := t.learn(s.peers[i].Coding.Entropy); err != nil {
				return err
			}
		}
	}
	return nil
}

// learn makes an encoder for a coder.
func (t *thread) learn(by entropy.Coder) error {
	if t.encoders[by] != nil {
		return nil
	}
	var err error
	t.encoders[by], err = entropy.NewEncoder(by, entropy.Typical())
	return err
}

// stop ends the goroutines of the pools.
func (s *simulation) stop() {
	for _, t := range s.threads {
		t.pool.stop()
	}
}

// schedule adds an event to the queue.
func (t *thread) schedule(at time.Duration, e event) {
	e.at = at
	if t.together {
		t.created = append(t.created, e)
		return
	}
	t.sim.add(e)
}

// step records a step, and the account of its worker if there is one.
func (t *thread) step(step record.Step, account *record.Links) {
	if t.together {
		if len(t.steps) == 0 { // the other workers are likely to have one, too
			t.steps = slices.Grow(t.steps, len(t.sim.batch.workers)/len(t.sim.threads))
		}
		if account != nil {
			if t.accounts == nil {
				t.accounts = map[int]*record.Links{}
			}
			t.accounts[len(t.steps)] = account
		}
		t.steps = append(t.steps, step)
		return
	}
	t.sim.observe(step, account)
}

// flight returns memory for a frame.
func (t *thread) flight() *flight {
	last := len(t.flights) - 1
	if last < 0 {
		return new(flight)
	}
	f := t.flights[last]
	t.flights = t.flights[:last]
	return f
}

// landed takes back the memory of a frame that has arrived. It keeps no payload alive.
func (t *thread) landed(f *flight) {
	*f = flight{}
	t.flights = append(t.flights, f)
}
