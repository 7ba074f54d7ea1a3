package node

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"gossiptrainer/internal/record"
	"gossiptrainer/node/handshake"
)

func TestLogLinesSayWhereTheirWorkerIs(t *testing.T) {
	var text bytes.Buffer
	v := &vitals{rank: handshake.Unranked}
	log := slog.New(&placedHandler{slog.NewTextHandler(&text, nil), v}).With("run", "tulip", "peer", "abc")
	line := func() string {
		text.Reset()
		log.With("neighbour", 2).Warn("x")
		_, after, _ := strings.Cut(text.String(), "msg=x ")
		return strings.TrimSpace(after)
	}
	if got, want := line(), "run=tulip peer=abc neighbour=2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	v.settle(3)
	v.begin(40, 100)
	if got, want := line(), "run=tulip peer=abc neighbour=2 rank=3 round=40"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestANodeSaysHowItIsDoing(t *testing.T) {
	job := task{n: 3, dim: 100, rounds: 1 << 30}
	c := newCluster(t, job.n, job.dim, nil)
	if s := c.nodes[1].Status(); s.State != record.Starting || s.Rounds != 0 || len(s.Links) != 0 {
		t.Errorf("before the run: %+v", s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i, n := range c.nodes {
		w := job.worker(t, i)
		wg.Go(func() { n.Run(ctx, w) })
	}
	eventually(t, "ten rounds", func() bool { return c.nodes[1].Status().Round >= 10 })
	s := c.nodes[1].Status()
	if s.Rank != 1 || s.Peers != 3 || s.Rounds != job.rounds || s.Loss == nil ||
		s.State != record.Training || s.Peer != c.nodes[1].ID() {
		t.Errorf("%+v", s)
	}
	if l := s.Links; len(l) != 2 || l[0].Neighbour != 0 || l[1].Neighbour != 2 || !l[0].Up || l[0].Sent.Payload < 9*400 {
		t.Errorf("links: %+v", s.Links)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var again Status
	if err := json.Unmarshal(text, &again); err != nil || again.Round != s.Round || again.Links[1] != s.Links[1] {
		t.Errorf("read back %+v, %v", again, err)
	}
	cancel()
	wg.Wait()
}
