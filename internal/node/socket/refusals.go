package socket

import (
	"log/slog"
	"maps"
	"sync"
	"time"
)

// Refusals count what was turned away, by reason, and tell a log of it. The zero value is
// ready. Its methods may be called by several goroutines.
type Refusals struct {
	mu   sync.Mutex
	by   map[string]int64
	told map[string]mention
}

// A mention is when a log was last told of a reason, and how often it had
// happened by then.
type mention struct {
	at    time.Time
	count int64
}

// quiet is how long a log is spared a reason that it has been told of:
// strangers decide how often a refusal happens.
const quiet = 30 * time.Second

// Tell counts a refusal and logs it, unless the log was told of its reason a short
// while ago: then the next line says how many there were.
func (r *Refusals) Tell(log *slog.Logger, message, reason string, args ...any) {
	r.Count(reason)
	r.mu.Lock()
	last, now := r.told[reason], time.Now()
	if !last.at.IsZero() && now.Sub(last.at) < quiet {
		r.mu.Unlock()
		return
	}
	unsaid := r.by[reason] - last.count - 1
	if r.told == nil {
		r.told = make(map[string]mention)
	}
	r.told[reason] = mention{now, r.by[reason]}
	r.mu.Unlock()
	if unsaid > 0 {
		args = append(args, "before, unsaid", unsaid)
	}
	log.Warn(message, args...)
}

// Count enters one refusal.
func (r *Refusals) Count(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = make(map[string]int64)
	}
	r.by[reason]++
}

// Read returns a copy of the counts by reason.
func (r *Refusals) Read() map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.by)
}
