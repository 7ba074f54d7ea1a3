package script

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"gossiptrainer/internal/work"
	"gossiptrainer/node"
	"gossiptrainer/topology"
)

// A hub is the run of some players on a complete graph, without a network. A worker that fails ends it, unless the run
// sheds lost workers.
type hub struct {
	children []*Child
	place    Place

	mu     sync.Mutex
	lost   []bool
	parts  map[string]map[int][]float32 // of rounds, means and broadcasts, by rank
	fresh  chan struct{}                // closed and replaced when there are more
	failed chan struct{}                // closed when the run fails
	why    error
	log    bytes.Buffer
}

// A seat is a worker's room in a hub.
type seat struct {
	*hub
	rank int
}

func (s seat) Start(context.Context, []float32) error { return nil }

func (s seat) Notify(text []byte) {
	for rank, c := range s.children {
		if rank != s.rank {
			if act := c.Notice(topology.Rank(s.rank), text); act != nil {
				act()
			}
		}
	}
}

func (s seat) Silent(rank topology.Rank) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost[rank]
}

// put adds a vector of a worker under a name.
func (h *hub) put(name string, rank int, x []float32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.parts[name] == nil {
		h.parts[name] = map[int][]float32{}
	}
	h.parts[name][rank] = slices.Clone(x)
	h.change()
}

func (h *hub) change() {
	close(h.fresh)
	h.fresh = make(chan struct{})
}

// meet waits until all workers that are not lost have put their vectors, and returns the mean.
func (h *hub) meet(ctx context.Context, name string) ([]float32, error) {
	for {
		h.mu.Lock()
		var mean []float32
		missing, count := false, float32(len(h.parts[name]))
		for rank := range h.children {
			x, here := h.parts[name][rank]
			if missing = missing || !here && !h.lost[rank]; here {
				mean = append(mean, make([]float32, len(x)-len(mean))...)
				for i, v := range x {
					mean[i] += v / count
				}
			}
		}
		fresh := h.fresh
		h.mu.Unlock()
		if !missing {
			return mean, nil
		}
		select {
		case <-fresh:
		case <-h.failed:
			return nil, h.why
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s seat) Average(ctx context.Context, call int, x []float32) ([]float32, error) {
	name := fmt.Sprint("mean ", call)
	s.put(name, s.rank, x)
	return s.meet(ctx, name)
}

func (s seat) Publish(tag string, x []float32) { s.put(tag, s.rank, x) }

func (s seat) Fetch(_ context.Context, rank topology.Rank, tag string, x []float32) error {
	if tag == node.Newest {
		y, err := s.children[rank].Newest()
		copy(x, y)
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if copy(x, s.parts[tag][int(rank)]) == 0 {
		return errors.New("no such vector")
	}
	return nil
}

// end notes that a worker has failed.
func (h *hub) end(rank int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost[rank] = true
	if !h.place.Sheds && h.why == nil {
		h.why = fmt.Errorf("worker %d: %w", rank, err)
		close(h.failed)
	}
	h.change()
}

// live is a worker: it does its rounds and ends its script.
func (h *hub) live(ctx context.Context, rank int) {
	c, x, k := h.children[rank], []float32{0}, 0
	change := &Change{From: -1} // of the vector
	fail := func(err error) {
		h.end(rank, err)
		c.Stop(ctx, err, k, x)
	}
	for ; k < h.place.Most; k++ {
		g, computed := make([]float32, len(x)), make(chan error, 1)
		go func() {
			_, err := c.Gradient(g, k, x)
			computed <- err
		}()
		var err error
		select {
		case err = <-computed:
		case <-h.failed:
			fail(h.why)
			return
		}
		if errors.Is(err, work.ErrOver) {
			break
		}
		if err != nil {
			fail(err)
			return
		}
		if told := c.Change(); told != nil {
			change = told
		}
		y := slices.Clone(x) // x is that of other calls
		for i := range g {
			y[i] -= g[i]
		}
		if h.place.Free {
			x = y
			continue
		}
		h.put(fmt.Sprint("round ", k), rank, y)
		if x, err = h.meet(ctx, fmt.Sprint("round ", k)); err == nil && k+1 == change.From {
			x, err = change.Vector(x)
		}
		if err != nil {
			fail(err)
			return
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-h.failed:
			cancel()
		case <-ctx.Done():
		}
	}()
	if _, _, err := c.Finish(ctx, k, h.place.Most, x); err != nil {
		h.end(rank, err)
	}
}

// A shared writer takes what all players print.
func (h *hub) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.Write(p)
}

// A liner passes whole lines on. Python writes a line and its end apart, so what two workers print may mix.
type liner struct {
	to    io.Writer
	mu    sync.Mutex // a worker has two streams
	begun []byte
}

func (l *liner) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = append(l.begun, p...)
	whole := bytes.LastIndexByte(l.begun, '\n') + 1
	_, err := l.to.Write(l.begun[:whole])
	l.begun = l.begun[whole:]
	return len(p), err
}

// run runs the players of a text, and returns the lines that each prints.
func (place Place) run(t *testing.T, words string) (printed [][]string, failed error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return place.runScripts(t, words, self, actor)
}

// runScripts does the same with other scripts than players.
func (place Place) runScripts(t *testing.T, words string, command ...string) (printed [][]string, failed error) {
	t.Helper()
	place.Size, place.After = strings.Count(words, "|")+1, func(k int) int { return k + 2 }
	h := &hub{place: place, lost: make([]bool, place.Size), parts: map[string]map[int][]float32{},
		fresh: make(chan struct{}), failed: make(chan struct{})}
	for range place.Size {
		c, err := Begin(t.Context(), Options{Command: append(slices.Clip(command), words), Out: &liner{to: h},
			Log: slog.New(slog.NewTextHandler(h, nil))})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		h.children = append(h.children, c)
	}
	for rank, c := range h.children {
		c.Enter(t.Context(), seat{h, rank}, func() Topic { return seat{h, rank} })
	}
	for rank, c := range h.children {
		at := place
		at.Rank = rank
		if err := c.Welcome(at, []float32{0}, nil); err != nil {
			t.Fatal(err)
		}
		if place.Checkpoints {
			c.SaveBefore(place.Rounds)
			c.AtEnd(func([]byte) error { return errors.New("a player has no state") })
		}
	}
	var workers sync.WaitGroup
	for rank := range h.children {
		workers.Go(func() { h.live(t.Context(), rank) })
	}
	workers.Wait()
	if strings.Contains(h.log.String(), "is not kept") {
		t.Errorf("log:\n%s", h.log.String())
	}
	printed = make([][]string, place.Size)
	for line := range strings.Lines(h.log.String()) {
		who, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if rank, err := strconv.Atoi(who); err == nil {
			printed[rank] = append(printed[rank], text)
		}
	}
	return printed, h.why
}
