// Poison trains Fashion-MNIST in the simulator while one peer of eight sends its model with all signs flipped. The
// others mix models as usual or clip them. It writes the accuracy of the honest peers as a Markdown table, with the
// settings of every row.
//
//	go run ./studies/poison -o docs/results/poison.md
//
// It judges nothing: a run that diverges becomes a cell. If the data set is missing, it prints that it is skipped. Only
// this study contains the liar; the product has no such option.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"gossiptrainer/internal/human"
	"gossiptrainer/studies/markdown"
)

func main() {
	rounds := flag.Int("rounds", 600, "rounds of each run")
	seeds := flag.Int("seeds", 2, "runs of each row, with the seeds 1, 2, ...")
	markdown.Program("poison", func(ctx context.Context, output string) error {
		return compare(ctx, output, *rounds, *seeds)
	})
}

// compare makes the runs of all rows and writes the document to output.
func compare(ctx context.Context, output string, rounds, seeds int) error {
	if rounds < 1 || seeds < 1 {
		return fmt.Errorf("%s with %s: must be at least 1 of both", human.Count(rounds, "round"), human.Count(seeds, "seed"))
	}
	var results []result
	for _, r := range rows() {
		got := result{row: r}
		for seed := 1; seed <= seeds; seed++ {
			o, err := r.run(ctx, rounds, seed)
			if err != nil {
				return fmt.Errorf("%s, %s: seed %d: %w", r.graph, r.name, seed, err)
			}
			fmt.Fprintf(os.Stderr, "%s, %s, seed %d: %+v\n", r.graph, r.name, seed, o)
			got.outcomes = append(got.outcomes, o)
		}
		results = append(results, got)
	}
	return markdown.Write(output, document(results, rounds, seeds))
}
