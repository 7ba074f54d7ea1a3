package socket

import "time"

// An alarm lets one goroutine sleep until a time. ring ends this sleep and all later ones early; sleep
// then reports false.
type alarm interface {
	sleep(until time.Time) bool
	ring()
	stop() // releases the alarm
}

// A runtimeAlarm is a timer of the Go runtime. An idle process waits for it by whole milliseconds, and
// wakes up to one late.
type runtimeAlarm struct {
	timer *time.Timer
	rung  chan struct{}
}

func newRuntimeAlarm() alarm {
	a := runtimeAlarm{time.NewTimer(time.Hour), make(chan struct{})}
	a.timer.Stop()
	return a
}

func (a runtimeAlarm) sleep(until time.Time) bool {
	a.timer.Reset(time.Until(until))
	select {
	case <-a.timer.C:
		return true
	case <-a.rung:
		return false
	}
}

func (a runtimeAlarm) ring() { close(a.rung) }

func (a runtimeAlarm) stop() { a.timer.Stop() }
