// Controllers trains Fashion-MNIST in the simulator on a network of 10 MB/s, once with each way to choose the bits. It
// writes the accuracy over time and the cost of choosing as Markdown and a picture.
//
//	go run ./studies/controllers -o docs/results/controllers.md
//
// It judges nothing: a run that diverges becomes a row. If the data set is missing, it prints that it is skipped.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gossiptrainer/studies/markdown"
)

func main() {
	rounds := flag.Int("rounds", 600, "rounds of each run")
	every := flag.Int("every", 20, "rounds between evaluations")
	compute := flag.Duration("compute", 0, "virtual `time` of a gradient; 0 = measured once")
	markdown.Program("controllers", func(ctx context.Context, output string) error {
		return compare(ctx, output, plan{rounds: *rounds, every: *every, compute: *compute})
	})
}

// A plan holds the settings that all runs share.
type plan struct {
	rounds, every int
	compute       time.Duration
}

// compare makes the runs of all rows and writes the document and its picture.
func compare(ctx context.Context, output string, p plan) error {
	if p.rounds < 1 || p.every < 1 || p.compute < 0 {
		return fmt.Errorf("%d rounds, scores every %d, gradients of %v: must be at least 1, 1 and 0", p.rounds, p.every,
			p.compute)
	}
	measured := p.compute == 0
	if measured {
		var err error
		if p.compute, err = measureGradient(p); err != nil {
			return err
		}
	}
	var results []result
	for _, r := range rows() {
		got, err := r.run(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %d scores, %s\n", r.name, len(got.scores), got.why)
		results = append(results, got)
	}
	spent, err := controllerCosts(p)
	if err != nil {
		return err
	}
	if output == "" {
		_, err := os.Stdout.WriteString(document(results, p, measured, spent, ""))
		return err
	}
	if err := os.MkdirAll(filepath.Dir(output), 0o777); err != nil {
		return err
	}
	picture := strings.TrimSuffix(output, filepath.Ext(output)) + ".png"
	if err := sketch(picture, results); err != nil {
		return err
	}
	return os.WriteFile(output, []byte(document(results, p, measured, spent, filepath.Base(picture))), 0o666)
}
