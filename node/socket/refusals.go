package socket

import (
	"log/slog"
	"maps"
	"sync"
	"time"
)

// Refusals count refused connections, peers and frames by reason, and log some. The zero value is
// ready. Several goroutines may call its methods.
type Refusals struct {
	mu   sync.Mutex
	by   map[string]int64
	told map[string]mention
}

// A mention is the last log line of a reason: its time, and the count then.
type mention struct {
	at    time.Time
	count int64
}

// quiet is the least time between two log lines of one reason: strangers could otherwise fill the log.
const quiet = 30 * time.Second

// Tell counts a refusal and logs it, unless the log has a recent line of its reason. The next line
// then gives the number since.
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

// TellOnce counts a refusal and logs the first of its reason only.
func (r *Refusals) TellOnce(log *slog.Logger, message, reason string, args ...any) {
	r.mu.Lock()
	_, told := r.told[reason]
	r.mu.Unlock()
	if told {
		r.Count(reason)
		return
	}
	r.Tell(log, message, reason, args...)
}

// Count counts one refusal.
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
