// Quantizers trains Fashion-MNIST in the simulator by all-gather of quantized gradients, once with each quantizer and
// seed. It writes the accuracy of each as a Markdown table, with the settings of every row.
//
//	go run ./studies/quantizers -o docs/results/quantizers.md
//
// It judges nothing: a run that diverges becomes a cell. If the data set is missing, it prints that it is skipped.
package main

import (
	"context"
	"flag"
	"fmt"

	"gossiptrainer/internal/human"
	"gossiptrainer/studies/markdown"
)

func main() {
	rounds := flag.Int("rounds", 500, "rounds of each run")
	seeds := flag.Int("seeds", 3, "runs of each quantizer, with the seeds 1, 2, ...")
	markdown.Program("quantizers", func(ctx context.Context, output string) error {
		return compare(ctx, output, *rounds, *seeds)
	})
}

// compare makes the runs of all rows and writes the document to output.
func compare(ctx context.Context, output string, rounds, seeds int) error {
	if rounds < 1 || seeds < 1 {
		return fmt.Errorf("%s with %s: must be at least 1 of both", human.Count(rounds, "round"), human.Count(seeds, "seed"))
	}
	results, err := runAll(ctx, rows(), rounds, seeds)
	if err != nil {
		return err
	}
	return markdown.Write(output, document(results, rounds, seeds))
}
