//go:build unix

package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"gossiptrainer/configs"
	"gossiptrainer/test/strangers/outsider"
)

// ghosts is how many strangers haunt a run.
const ghosts = 12

// haunt lets strangers annoy the peers of a run until ctx ends.
func haunt(ctx context.Context, run string) error {
	var wg sync.WaitGroup
	var played atomic.Int64
	for range ghosts {
		o, err := outsider.New("/ip4/0.0.0.0/tcp/0", &played)
		if err != nil {
			return err
		}
		defer o.Host.Close()
		wg.Go(func() { o.Haunt(ctx, configs.RunID(run)) })
	}
	wg.Wait()
	fmt.Printf("%d plays for callers, of %d\n", played.Load(), len(outsider.Plays()))
	return nil
}
