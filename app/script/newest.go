package script

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"gossiptrainer/internal/bridge"
	"gossiptrainer/internal/vec"
	"gossiptrainer/node"
	"gossiptrainer/topology"
)

// A script may ask for the mean of the newest models of workers, without waiting for their scripts. Each worker gives
// others what it has: the vector of the boundary at which it is, or the one after its own step where it waits for
// neighbours. So nothing is copied while scripts step.

// newest is the newest vector of this worker, and the answer to the question of its script. Several goroutines may call
// its methods.
type newest struct {
	mu    sync.Mutex
	now   moment
	lent  bool      // now.x is that of the call of gradient under way
	spare []float32 // for copies
	found chan found
}

// A moment is the boundary before round k, where the worker has the vector x.
type moment struct {
	k int
	x []float32
}

// lend sets the newest vector until it is given back or replaced.
func (n *newest) lend(now moment) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now, n.lent = now, true
}

// back ends a loan.
func (n *newest) back() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lent {
		n.now.x, n.lent = nil, false
	}
}

// set sets the newest vector, which stays as it is until the next one is set or lent.
func (n *newest) set(now moment) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now, n.lent, n.spare = now, false, nil
}

// copy sets the newest vector to a copy, for a round without a step.
func (n *newest) copy(now moment) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.spare = append(n.spare[:0], now.x...)
	n.now, n.lent = moment{now.k, n.spare}, false
}

// stamped returns a copy of x, and the number of the round in two more elements.
func (m moment) stamped() []float32 {
	y := append(make([]float32, 0, len(m.x)+2), m.x...)
	return append(y, math.Float32frombits(uint32(m.k)), math.Float32frombits(uint32(m.k>>32)))
}

// roundOf returns the round in a stamped vector.
func roundOf(y []float32) int {
	n := len(y)
	return int(math.Float32bits(y[n-1]))<<32 | int(math.Float32bits(y[n-2]))
}

var errNone = errors.New("the worker has begun no round yet")

// get returns a copy of the newest vector, with its round.
func (n *newest) get() ([]float32, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.now.x == nil {
		return nil, errNone
	}
	return n.now.stamped(), nil
}

// found is the mean of the newest models that came in time.
type found struct {
	result bridge.Result
	raw    []byte // none: no model came
}

// seekNewest asks for the newest models of workers. The answer comes to t.newest.found.
func (t *turns) seekNewest(r bridge.Request, now moment) {
	ranks := r.Ranks
	if len(ranks) == 0 {
		for rank := range t.place.Size {
			ranks = append(ranks, rank)
		}
	}
	m := &total{result: bridge.Result{Kind: r.Kind, Round: now.k, Rounds: map[int]int{}, Missing: map[int]string{}},
		of: make([]float64, len(now.x))}
	if slices.Contains(ranks, t.place.Rank) {
		m.add(t.place.Rank, now.stamped())
	}
	go func() {
		ctx, cancel := context.WithTimeout(t.room.ctx, time.Duration(r.Seconds*float64(time.Second)))
		defer cancel()
		var all sync.WaitGroup
		seats := make(chan struct{}, mostAtOnce)
		for _, rank := range ranks {
			if rank == t.place.Rank {
				continue
			}
			all.Go(func() {
				seats <- struct{}{}
				defer func() { <-seats }()
				t.fetchNewest(ctx, rank, m)
			})
		}
		all.Wait()
		t.newest.found <- m.mean()
	}()
}

// mostAtOnce bounds the vectors that come at once, for which there is memory.
const mostAtOnce = 4

// fetchNewest adds the newest model of another worker to m. If none comes, it notes why.
func (t *turns) fetchNewest(ctx context.Context, rank int, m *total) {
	y, why := make([]float32, len(m.of)+2), ""
	if t.room.silent(topology.Rank(rank)) {
		why = "it is silent"
	} else if err := t.room.Fetch(ctx, topology.Rank(rank), node.Newest, y); ctx.Err() != nil {
		why = "it has not answered in time"
	} else if err != nil {
		why = "it does not answer"
	}
	if why == "" {
		m.add(rank, y)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.result.Missing[rank] = why
}

// A total is the sum of models.
type total struct {
	mu     sync.Mutex
	result bridge.Result
	of     []float64
}

// add adds a stamped vector.
func (m *total) add(rank int, y []float32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.result.Rounds[rank] = roundOf(y)
	for i := range m.of {
		m.of[i] += float64(y[i])
	}
}

func (m *total) mean() found {
	count := len(m.result.Rounds)
	if count == 0 {
		return found{m.result, nil}
	}
	x := make([]float32, len(m.of))
	for i, v := range m.of {
		x[i] = float32(v / float64(count))
	}
	return found{m.result, vec.AppendLE(nil, x)}
}

// answerNewest gives the script the mean.
func (t *turns) answerNewest(f found) error {
	if err := t.script.Answer(0, f.result, f.raw); err != nil && !errors.Is(err, bridge.ErrLeft) {
		return fate(err)
	}
	return nil
}
