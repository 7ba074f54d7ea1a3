// Plan draws settings of runs at random and compares what "peer plan" predicts with what real peers do: the time of a
// round, and the time to a target. It writes a Markdown table.
//
//	go run ./studies/plan -o docs/results/plan.md
//
// Each prediction and its run with real peers follow each other directly, because other programs disturb both. The load
// of the machine is in the table. The program judges nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"gossiptrainer/studies/markdown"
)

func main() {
	count := flag.Int("settings", 20, "settings to draw")
	seed := flag.Uint64("seed", 1, "draws the settings")
	budget := flag.Duration("budget", 15*time.Second, "simulations of each setting")
	markdown.Program("plan", func(ctx context.Context, output string) error {
		return study(ctx, output, draws(*seed, *count), *budget)
	})
}

// study predicts and runs all settings, and writes the document.
func study(ctx context.Context, output string, all []setting, budget time.Duration) error {
	dir, err := os.MkdirTemp("", "studies-plan-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "peer")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/peer")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build peer: %w", err)
	}
	var results []result
	for i, s := range all {
		began := time.Now()
		got, err := s.measure(ctx, program, dir, budget)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("setting %d: %w", i+1, err)
		}
		results = append(results, got)
		fmt.Fprintf(os.Stderr, "%d of %d, %.0f s: %s\n", i+1, len(all), time.Since(began).Seconds(), got)
		if output != "" { // so that an interrupted study leaves a page
			if err := markdown.Write(output, document(results, len(all))); err != nil {
				return err
			}
		}
	}
	if output != "" {
		return nil
	}
	return markdown.Write(output, document(results, len(all)))
}
