package node

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// Neighbours of the roster that cannot prove the secret of this run are no reason to end: others may have their keys.
func TestANeighbourWithoutAProofIsWaitedFor(t *testing.T) {
	for name, test := range map[string]struct {
		change             func(rank int, o *Options)
		counter, said, fix string
	}{
		"secret": {
			func(rank int, o *Options) { o.JoinSecret = []string{sesame, barley}[rank] },
			"refused join secret", "join secret differs", "copy the same secret file to all machines",
		},
		"run": {func(rank int, o *Options) { o.RunID = []string{"one", "another"}[rank] }, "refused run", "run differs", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := both(t, test.change)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan []error)
			go func() {
				_, errs := c.run(t, ctx, task{n: 2, dim: 100, rounds: 3})
				ended <- errs
			}()
			eventually(t, "a warning at both ends", func() bool {
				return !slices.ContainsFunc(c.nodes, func(n *Node) bool { return n.counters().Refused[test.counter] == 0 })
			})
			eventually(t, "a reason in the status of both", func() bool {
				return !slices.ContainsFunc(c.nodes, func(n *Node) bool {
					links := n.Status().Links
					return len(links) == 0 || !strings.Contains(links[0].Detail, test.said)
				})
			})
			cancel()
			for rank, err := range <-ended {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("worker %d: error %v, want that it waits", rank, err)
				}
			}
			if text := c.logs.String(); !strings.Contains(text, test.fix) {
				t.Errorf("no fix in the log: %s", text)
			}
		})
	}
}
