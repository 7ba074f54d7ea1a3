package node

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gossiptrainer/internal/record"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
	"gossiptrainer/topology"
)

// A bulletin is how one worker is doing: the message of the telemetry topic.
type bulletin struct {
	Rank    int            `json:"rank"`
	Life    uint64         `json:"life"` // of the process
	Seq     uint64         `json:"seq"`  // the newest of a life counts
	Step    *record.Step   `json:"step,omitempty"`
	Status  *record.Status `json:"status,omitempty"`
	Final   *record.Final  `json:"final,omitempty"`
	HasAll  bool           `json:"has_all,omitempty"` // knows the results of all workers
	Leaving bool           `json:"leaving,omitempty"` // has seen that all have all
}

// post takes what happened to this worker into its next bulletin.
func (b *board) post(e record.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case e.Step != nil:
		b.mine.Step = e.Step
	case e.Status != nil:
		b.mine.Status = e.Status
	case e.Final != nil:
		b.mine.Final = e.Final
	}
}

// Bulletins come every second, or less often where they would take more than
// newsShare of a link: every peer passes on those of all others. Ten seconds are
// long enough, though, while they take no more than mostShare.
const (
	newsEvery     = time.Second
	newsLate      = 10 * time.Second
	newsShare     = 0.005
	mostShare     = 0.02
	bulletinBytes = 900 // of one at the socket, as gossipsub signs it
)

// newsPeriod returns the time between two bulletins of each of n peers whose
// slowest link has a rate in bits per second, 0 if it has no limit.
func newsPeriod(n int, rate float64) time.Duration {
	if rate <= 0 {
		return newsEvery
	}
	round := float64(n*bulletinBytes*8) / rate * float64(time.Second) // one bulletin of each
	rare, often := time.Duration(round/newsShare), time.Duration(round/mostShare)
	return max(newsEvery, min(rare, newsLate), often)
}

// publish repeats the bulletin for as long as the board is open.
func (b *board) publish() {
	for socket.Sleep(b.ctx, b.period) {
		b.announce()
	}
}

// announce publishes the bulletin as it is now.
func (b *board) announce() {
	if b.news == nil {
		return
	}
	b.mu.Lock()
	b.mine.Seq++
	text, err := json.Marshal(b.mine)
	b.mu.Unlock()
	if err == nil {
		err = b.news.Publish(b.ctx, text)
	}
	if err != nil && b.ctx.Err() == nil {
		b.node.log.Debug("bulletin not published", "err", err)
	}
}

func (b *board) readNews(from topology.Rank, text []byte) func() {
	var news bulletin
	if err := json.Unmarshal(text, &news); err != nil {
		return nil
	}
	wrong := news.Rank != int(from) ||
		news.Step != nil && news.Step.Rank != int(from) ||
		news.Status != nil && news.Status.Rank != int(from) ||
		news.Final != nil && news.Final.Rank != int(from)
	if wrong {
		return nil
	}
	if news.Status != nil {
		news.Status.Detail = handshake.Printable(news.Status.Detail)
	}
	return func() { b.note(from, news) }
}

// note keeps the newest bulletin of a worker and shows the observer what is
// new in it.
func (b *board) note(from topology.Rank, news bulletin) {
	b.mu.Lock()
	old := b.theirs[from]
	if news.Life == old.Life && news.Seq <= old.Seq {
		b.mu.Unlock()
		return
	}
	b.theirs[from], b.heard[from] = news, time.Now()
	if news.HasAll != old.HasAll || news.Final != nil && old.Final == nil {
		b.gained = time.Now()
	}
	close(b.changed)
	b.changed = make(chan struct{})
	b.mu.Unlock()
	if s := news.Status; s != nil && (old.Status == nil || s.State != old.Status.State || s.Detail != old.Status.Detail || s.Share != old.Status.Share) {
		b.node.observe(record.Event{Status: s})
	}
	if s := news.Step; s != nil && (old.Step == nil || s.Round > old.Step.Round) {
		b.node.observe(record.Event{Step: s})
	}
	if news.Final != nil && old.Final == nil {
		b.node.observe(record.Event{Final: news.Final})
	}
}

// ended reports whether a worker has told that it is through with its rounds.
func (b *board) ended(rank topology.Rank) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	news := b.theirs[rank]
	return news.Final != nil || news.Status != nil && (news.Status.State == record.Testing || news.Status.State == record.Finished)
}

func (b *board) finals() []record.Final {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []record.Final
	for i := range b.roster.IDs {
		news := b.theirs[topology.Rank(i)]
		if topology.Rank(i) == b.roster.Self {
			news = b.mine
		}
		if news.Final != nil {
			out = append(out, *news.Final)
		}
	}
	return out
}

// Say tells the others, and the observer, what this worker is doing after Run.
func (n *Node) Say(s record.Status) {
	s.Rank = n.me.Rank
	e := record.Event{Status: &s}
	n.observe(e)
	n.mu.Lock()
	b := n.board
	n.mu.Unlock()
	if b != nil {
		b.post(e)
	}
}

// Finish tells all workers this one's result and collects theirs, until all
// have all of them, or until those that lack have been silent for 5 seconds, on
// slow links longer.
// It fails if another worker stopped the run, or ctx ended.
func (n *Node) Finish(ctx context.Context, f record.Final) ([]record.Final, error) {
	n.mu.Lock()
	b := n.board
	n.mu.Unlock()
	if b == nil {
		return nil, fmt.Errorf("node: finish: worker %d has not run", f.Rank)
	}
	status := record.Event{Status: &record.Status{Rank: f.Rank, State: record.Finished}}
	for _, e := range []record.Event{{Final: &f}, status} {
		n.observe(e)
		b.post(e)
	}
	b.announce()
	err := b.collect(ctx)
	return b.finals(), err
}

// silence is how long nothing may be gained at the end of a run, from workers
// that have told their result or have fallen silent: some periods of the news.
func (b *board) silence() time.Duration { return max(5*time.Second, 3*b.period) }

// collect waits until everybody has everything. The first to see that leaves,
// and says so: what it has seen is true for all, so they leave as well.
func (b *board) collect(ctx context.Context) error {
	last, told := time.Now(), false
	for {
		b.mu.Lock()
		all, settled := b.standing()
		last = b.latest(last)
		changed := b.changed
		b.mine.HasAll, b.mine.Leaving = all, settled
		b.mu.Unlock()
		if all && !told || settled {
			told = true
			b.announce()
		}
		if settled {
			if b.news != nil {
				socket.Sleep(ctx, flushTime)
			}
			return nil
		}
		quiet := time.NewTimer(time.Until(last.Add(b.silence())))
		select {
		case <-changed:
		case <-quiet.C:
			b.node.log.Warn("some workers have not told their result", "known", len(b.finals()), "of", len(b.roster.IDs))
			return nil
		case err := <-b.stopped:
			return err
		case <-ctx.Done():
			return fmt.Errorf("node: finish: %w", context.Cause(ctx))
		}
		quiet.Stop()
	}
}

// standing says whether this worker has all results, and whether all have.
func (b *board) standing() (all, settled bool) {
	all, settled = true, true
	left := false
	for i := range b.roster.IDs {
		news := b.theirs[topology.Rank(i)]
		if topology.Rank(i) == b.roster.Self {
			continue
		}
		all = all && news.Final != nil
		settled = settled && news.HasAll
		left = left || news.Leaving
	}
	return all, all && (settled || left)
}

// latest returns the last time there was reason to go on waiting.
func (b *board) latest(begun time.Time) time.Time {
	last := begun
	if b.gained.After(last) {
		last = b.gained
	}
	for rank, news := range b.theirs {
		if at := b.heard[rank]; news.Final == nil && at.After(last) {
			last = at
		}
	}
	return last
}
