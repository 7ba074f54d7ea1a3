package join

import (
	"testing"
	"testing/synctest"
	"time"
)

type closer func() error

func (c closer) Close() error { return c() }

// The end of a discovery that does not end holds no run up.
func TestDiscoveryIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		began := time.Now()
		closeSoon(closer(func() error { <-over; return nil }))
		if took := time.Since(began); took != mostClosing {
			t.Errorf("waited %v, want %v", took, mostClosing)
		}
		close(over)
		began = time.Now()
		closed := false
		closeSoon(closer(func() error { closed = true; return nil }))
		if took := time.Since(began); took != 0 || !closed {
			t.Errorf("waited %v, closed %v: want no wait", took, closed)
		}
	})
}
