package screen

import "sync"

// A Job is a command that its shell may suspend, by Ctrl-Z. Its methods may be called from several goroutines.
type Job struct {
	mu    sync.Mutex
	parts []func(rest func())
}

// Add adds a part of the command that is told when the command is suspended. It must call rest, which returns when the
// command goes on.
func (j *Job) Add(part func(rest func())) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.parts = append(j.parts, part)
}

// rest calls the parts, the newest first, and then stop.
func (j *Job) rest(stop func()) {
	j.mu.Lock()
	parts := j.parts
	j.mu.Unlock()
	for _, part := range parts {
		inner := stop
		stop = func() { part(inner) }
	}
	stop()
}

// A Standstill suspends the processes that a command has started. They take its functions until it is over.
type Standstill struct {
	C    chan func() // stop all processes, call it, and let them go on
	over chan struct{}
	once sync.Once
}

// NewStandstill returns one that is not over.
func NewStandstill() *Standstill {
	return &Standstill{C: make(chan func()), over: make(chan struct{})}
}

// Part is the part of a Job that suspends the processes.
func (s *Standstill) Part(rest func()) {
	back := make(chan struct{})
	select {
	case s.C <- func() { rest(); close(back) }:
		<-back
	case <-s.over:
		rest()
	}
}

// End says that the processes have ended.
func (s *Standstill) End() { s.once.Do(func() { close(s.over) }) }
