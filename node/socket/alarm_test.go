package socket

import (
	"testing"
	"time"
)

func TestAlarmsWakeInTimeAndWhenTheyRing(t *testing.T) {
	for name, made := range map[string]func() alarm{"of Go's": newRuntimeAlarm, "of the kernel's": newAlarm} {
		t.Run(name, func(t *testing.T) {
			a := made()
			defer a.stop()
			for _, d := range []time.Duration{-time.Second, 0, 200 * time.Microsecond, 3 * time.Millisecond} {
				until := time.Now().Add(d)
				if !a.sleep(until) || time.Now().Before(until) {
					t.Errorf("%v: woken %v too early", d, time.Until(until))
				}
			}
			woken := anHour(a)
			a.ring()
			if <-woken {
				t.Error("it rang, and an hour seemed over")
			}
			if a.sleep(time.Now().Add(time.Hour)) {
				t.Error("when it has rung nobody sleeps any more")
			}
		})
	}
}

// anHour sleeps for an hour and delivers the result of sleep.
func anHour(a alarm) <-chan bool {
	woken := make(chan bool)
	go func() { woken <- a.sleep(time.Now().Add(time.Hour)) }()
	return woken
}
