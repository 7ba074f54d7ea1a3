package screen

import (
	"fmt"
	"sync"
	"time"
)

// A Task shows what the program does while it computes or reads: the share that is done and the time that is left.
// A task that is over soon shows nothing. Methods may be called from several goroutines.
type Task struct {
	bar   *TaskProgress
	what  string
	over  chan struct{} // closed at the end
	shows sync.WaitGroup

	mu        sync.Mutex
	done, all int64 // all is 0 as long as it is not known
	pace      pace
}

const (
	taskPatience = time.Second            // before a task shows itself
	taskInterval = 250 * time.Millisecond // between two lines in place
)

// Begin begins a task, which shows itself until its End. Other text that goes to the same output erases the task until
// it shows itself again.
func (p *TaskProgress) Begin(what string) *Task {
	t := &Task{bar: p, what: what, over: make(chan struct{}), pace: pace{began: time.Now()}}
	if p.mode != Unseen {
		t.shows.Go(t.show)
	}
	return t
}

// Reach says how much of all is done, in any unit. Nothing is known of the rest where all is 0.
func (t *Task) Reach(done, all int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done, t.all = done, all
}

// show shows the task until it is over.
func (t *Task) show() {
	tick := time.NewTicker(taskInterval)
	defer tick.Stop()
	begin := time.Now()
	for {
		select {
		case <-t.over:
			return
		case now := <-tick.C:
			if now.Sub(begin) >= taskPatience {
				t.bar.Tell(t.text(now), now)
			}
		}
	}
}

// text describes the task.
func (t *Task) text(now time.Time) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all <= 0 {
		return fmt.Sprintf("%s: %s so far, %s", t.what, now.Sub(t.pace.began).Round(time.Second), Left(Unknown))
	}
	share := min(1, float64(t.done)/float64(t.all))
	return fmt.Sprintf("%s: %.0f %%, %s", t.what, 100*share, Left(t.pace.left(share, now)))
}

// End removes the task from the terminal. It is no error to end a task twice.
func (t *Task) End() {
	t.mu.Lock()
	select {
	case <-t.over:
	default:
		close(t.over)
	}
	t.mu.Unlock()
	t.shows.Wait()
	t.bar.Clear()
}
