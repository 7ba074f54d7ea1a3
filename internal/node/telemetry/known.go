package telemetry

import (
	"encoding/json"
	"sync"
	"time"

	"gossiptrainer/internal/node/handshake"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

// known is what a worker knows of itself and of the others, the newest message of each.
type known struct {
	members handshake.Members

	mu      sync.Mutex
	mine    message
	theirs  map[topology.Rank]message
	heard   map[topology.Rank]time.Time
	gained  time.Time     // when the last result, or the last that has all, became known
	changed chan struct{} // closed and replaced when theirs changes
}

func newKnown(members handshake.Members, process uint64) *known {
	return &known{
		members: members, mine: message{Rank: int(members.Self), Life: process},
		theirs: make(map[topology.Rank]message), heard: make(map[topology.Rank]time.Time),
		changed: make(chan struct{}),
	}
}

// post takes what happened to this worker into its next message.
func (k *known) post(e record.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case e.Step != nil:
		k.mine.Step = e.Step
	case e.Status != nil:
		k.mine.Status = e.Status
	case e.Final != nil:
		k.mine.Final = e.Final
	}
}

// next returns the text of the next message.
func (k *known) next() ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mine.Seq++
	return json.Marshal(k.mine)
}

// note keeps the newest message of a worker and returns its news.
func (k *known) note(from topology.Rank, news message) []record.Event {
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.theirs[from]
	if news.Life == old.Life && news.Seq <= old.Seq {
		return nil
	}
	k.theirs[from], k.heard[from] = news, time.Now()
	if news.HasAll != old.HasAll || news.Final != nil && old.Final == nil {
		k.gained = time.Now()
	}
	close(k.changed)
	k.changed = make(chan struct{})
	var events []record.Event
	if s := news.Status; s != nil && (old.Status == nil || differ(s, old.Status)) {
		events = append(events, record.Event{Status: s})
	}
	if s := news.Step; s != nil && (old.Step == nil || s.Round > old.Step.Round) {
		events = append(events, record.Event{Step: s})
	}
	if news.Final != nil && old.Final == nil {
		events = append(events, record.Event{Final: news.Final})
	}
	return events
}

func differ(a, b *record.Status) bool {
	return a.State != b.State || a.Detail != b.Detail || a.Share != b.Share
}

// ended reports whether a worker has told that it is through with its rounds.
func (k *known) ended(rank topology.Rank) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	news := k.theirs[rank]
	return news.Final != nil ||
		news.Status != nil && (news.Status.State == record.Testing || news.Status.State == record.Finished)
}

// finals returns the results known so far, in rank order.
func (k *known) finals() []record.Final {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []record.Final
	for i := range k.members.IDs {
		news := k.theirs[topology.Rank(i)]
		if topology.Rank(i) == k.members.Self {
			news = k.mine
		}
		if news.Final != nil {
			out = append(out, *news.Final)
		}
	}
	return out
}

// others counts the other workers that have been heard of.
func (k *known) others() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.theirs)
}

// An outlook is what a worker that collects results goes by.
type outlook struct {
	all     bool            // this worker has all results
	settled bool            // and so have all others
	last    time.Time       // the last time there was reason to go on waiting
	changed <-chan struct{} // closed when more is known
}

// look enters into the next message what this worker has, and returns it. It began to
// collect at begun.
func (k *known) look(begun time.Time) outlook {
	k.mu.Lock()
	defer k.mu.Unlock()
	all, settled := k.standing()
	k.mine.HasAll, k.mine.Leaving = all, settled
	return outlook{all, settled, k.latest(begun), k.changed}
}

// standing says whether this worker has all results, and whether all have.
func (k *known) standing() (all, settled bool) {
	all, settled = true, true
	left := false
	for i := range k.members.IDs {
		if topology.Rank(i) == k.members.Self {
			continue
		}
		news := k.theirs[topology.Rank(i)]
		all = all && news.Final != nil
		settled = settled && news.HasAll
		left = left || news.Leaving
	}
	return all, all && (settled || left)
}

// latest returns the last time there was reason to go on waiting.
func (k *known) latest(begun time.Time) time.Time {
	last := begun
	if k.gained.After(last) {
		last = k.gained
	}
	for rank, news := range k.theirs {
		if at := k.heard[rank]; news.Final == nil && at.After(last) {
			last = at
		}
	}
	return last
}
