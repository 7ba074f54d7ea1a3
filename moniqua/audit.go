package moniqua

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"sync"

	"gossiptrainer/algos"
	"gossiptrainer/gossip/state"
	"gossiptrainer/topology"
)

// Without verification a run cannot see on the wire that a message was recovered wrongly. If all workers are in one
// process, as in a simulation, an audit compares their indices directly. It changes no message and no mix, and counts
// how often θ was too small.

// An Audit counts the messages that the workers of one process recover wrongly. The workers of a run without
// verification share it. It is safe for concurrent use: the order of calls changes no count, because a sender is at
// most one round ahead of its receivers.
type Audit struct {
	mu    sync.Mutex
	sent  map[topology.Rank][]piece // of each sender, by seed and first
	wrong map[topology.Rank]int64
}

// An audited is a piece of a sender: the seed distinguishes the links of AD-PSGD.
type audited struct {
	seed  uint64
	from  topology.Rank
	first int // the coordinate with which the piece begins
}

// A piece has its hashes of two rounds, the newest first.
type piece struct {
	audited
	last [2]sealed
}

func (p piece) compare(b audited) int {
	return cmp.Or(cmp.Compare(p.seed, b.seed), cmp.Compare(p.first, b.first))
}

// A sealed is the index hash of a round.
type sealed struct {
	k    int
	hash uint64
}

// NewAudit returns an empty audit.
func NewAudit() *Audit {
	return &Audit{sent: map[topology.Rank][]piece{}, wrong: map[topology.Rank]int64{}}
}

// Wrong returns the number of messages that worker rank has recovered wrongly and used.
func (a *Audit) Wrong(rank topology.Rank) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.wrong[rank]
}

// Of returns the count of a worker as a part of its state. The hashes are not part of it: a worker that resumes encodes
// its message again.
func (a *Audit) Of(rank topology.Rank) state.Keeper { return wrongs{a, rank} }

// A wrongs is the count of one worker.
type wrongs struct {
	audit *Audit
	rank  topology.Rank
}

// State shows the count.
func (w wrongs) State(v *state.Visit) {
	w.audit.mu.Lock()
	defer w.audit.mu.Unlock()
	n := w.audit.wrong[w.rank]
	state.Int(v, "wrong", &n, 0, math.MaxInt64)
	w.audit.wrong[w.rank] = n
}

// All returns the count of a worker and the hashes of its last messages, for a run in which all workers go on at one
// moment.
func (a *Audit) All(rank topology.Rank) state.Keeper { return hashes{a, rank} }

// hashes are those of the last messages of a worker, with its count.
type hashes wrongs

// State shows the count and the hashes.
func (h hashes) State(v *state.Visit) {
	wrongs(h).State(v)
	h.audit.mu.Lock()
	defer h.audit.mu.Unlock()
	own := h.audit.sent[h.rank]
	state.Items(v, "sender", &own, func(name string, sender *piece) {
		sender.from = h.rank
		state.Int(v, name+".seed", &sender.seed, 0, math.MaxUint64)
		state.Int(v, name+".first", &sender.first, 0, math.MaxInt)
		for i := range sender.last {
			number := name + "." + strconv.Itoa(i)
			state.Int(v, number+".round", &sender.last[i].k, 0, math.MaxInt)
			state.Int(v, number+".hash", &sender.last[i].hash, 0, math.MaxUint64)
		}
	})
	h.audit.sent[h.rank] = own
}

// enter keeps the hash of the indices that a worker has encoded for round k, beside the hash of the round before.
func (a *Audit) enter(sender audited, k int, hash uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	own := a.sent[sender.from]
	i, found := slices.BinarySearchFunc(own, sender, piece.compare)
	if !found {
		own = slices.Insert(own, i, piece{audited: sender})
		a.sent[sender.from] = own
	}
	own[i].last = [2]sealed{{k, hash}, own[i].last[0]}
}

// of returns the hashes of a piece.
func (a *Audit) of(sender audited) (last [2]sealed) {
	own := a.sent[sender.from]
	if i, found := slices.BinarySearchFunc(own, sender, piece.compare); found {
		last = own[i].last
	}
	return last
}

// compare counts the messages of a round that the worker with model x recovers wrongly. v is its working memory.
func (a *Audit) compare(sender audited, v *verification, r *round, x []float32, in []algos.Message) error {
	v.start(in)
	if err := v.recover(r, x, in); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for j, m := range in {
		for _, sent := range a.of(audited{sender.seed, m.From, sender.first}) {
			if sent.k == r.k && sent.hash != 0 && sent.hash != v.theirs[j].Sum() && v.distrust(m.From, r.k) {
				a.wrong[sender.from]++
			}
		}
	}
	return nil
}
