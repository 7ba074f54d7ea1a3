package telemetry

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"gossiptrainer/internal/record"
	"gossiptrainer/node/handshake"
	"gossiptrainer/topology"
)

// known holds the newest message of this worker and of each other one.
type known struct {
	members handshake.Members

	mu      sync.Mutex
	mine    message
	theirs  map[topology.Rank]message
	heard   map[topology.Rank]time.Time
	began   time.Time
	gained  time.Time     // time of the last new result, or of the last worker to have all results
	changed chan struct{} // closed and replaced when theirs changes
}

func newKnown(members handshake.Members, process uint64) *known {
	return &known{
		members: members, mine: message{Rank: int(members.Self), Life: process},
		theirs: make(map[topology.Rank]message), heard: make(map[topology.Rank]time.Time),
		changed: make(chan struct{}), began: time.Now(),
	}
}

// post adds an event of this worker to its next message.
func (k *known) post(e record.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case e.Step != nil:
		k.mine.Step = e.Step
	case e.Status != nil:
		brief := briefStatus(*e.Status)
		k.mine.Status = &brief
	case e.Final != nil:
		k.mine.Final = e.Final
	case e.Links != nil:
		brief := e.Links.Brief(mostEdges)
		k.mine.Links = &brief
	}
}

// notify replaces the notice in the messages of this worker.
func (k *known) notify(text []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mine.Notice = slices.Clone(text)
}

// next returns the text of the next message.
func (k *known) next() ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mine.Seq++
	return json.Marshal(k.mine)
}

// note keeps the newest message of a worker and returns the new events in it.
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
	if l := news.Links; l != nil && (old.Links == nil || l.Round > old.Links.Round) {
		events = append(events, record.Event{Links: l})
	}
	if news.Final != nil && old.Final == nil {
		events = append(events, record.Event{Final: news.Final})
	}
	return events
}

func differ(a, b *record.Status) bool {
	return a.State != b.State || a.Detail != b.Detail || a.Share != b.Share
}

// ended reports whether a worker has said that it has done its rounds.
func (k *known) ended(rank topology.Rank) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	news := k.theirs[rank]
	return news.Final != nil ||
		news.Status != nil && (news.Status.State == record.Testing || news.Status.State == record.Finished)
}

// silent reports whether no message has come from a worker for a time.
func (k *known) silent(rank topology.Rank, span time.Duration) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	last, heard := k.heard[rank]
	if !heard {
		last = k.began
	}
	return time.Since(last) > span
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

// accounts returns the newest accounts of the other workers.
func (k *known) accounts() []record.Links {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []record.Links
	for _, news := range k.theirs {
		if news.Links != nil {
			all = append(all, *news.Links)
		}
	}
	return all
}

// others counts the other workers from which a message has come.
func (k *known) others() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.theirs)
}

// An outlook is the state of the collection of results.
type outlook struct {
	all     bool            // this worker has all results
	settled bool            // all workers have all results
	last    time.Time       // last time of progress, see latest
	changed <-chan struct{} // closed when more is known
}

// look returns the state of the collection, which began at begun, and enters it into the next message.
func (k *known) look(begun time.Time) outlook {
	k.mu.Lock()
	defer k.mu.Unlock()
	all, settled := k.complete()
	k.mine.HasAll, k.mine.Leaving = all, settled
	return outlook{all, settled, k.latest(begun), k.changed}
}

// complete reports whether this worker has all results, and whether all workers have.
func (k *known) complete() (all, settled bool) {
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

// latest returns the last time of progress: the begin, a new result, or a message of a worker that
// still trains.
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
