package node

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestASecretIsAskedForWhereThereIsARosterToo(t *testing.T) {
	c := both(t, func(rank int, o *Options) { o.JoinSecret = []string{sesame, barley}[rank] })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan []error)
	go func() {
		_, errs := c.run(t, ctx, task{n: 2, dim: 100, rounds: 3})
		ended <- errs
	}()
	eventually(t, "a warning at both ends", func() bool {
		return !slices.ContainsFunc(c.nodes, func(n *Node) bool { return n.Counters().Refused["refused join secret"] == 0 })
	})
	eventually(t, "a reason in the status of both", func() bool {
		return !slices.ContainsFunc(c.nodes, func(n *Node) bool {
			links := n.Status().Links
			return len(links) == 0 || !strings.Contains(links[0].Detail, "join secret differs")
		})
	})
	cancel()
	for rank, err := range <-ended {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("worker %d: error %v, want that it waits for a neighbour with its secret", rank, err)
		}
	}
	if text := c.logs.String(); !strings.Contains(text, "copy the same secret file to all machines") {
		t.Errorf("no remedy in the log: %s", text)
	}
}
