// Entropy trains Fashion-MNIST for a short while with several quantizers and keeps some of the payloads. It writes a
// Markdown table of the bits per parameter after each entropy coder, and of the coding times.
//
//	go run ./studies/entropy -o docs/results/entropy.md
//
// It judges nothing, and prints that it is skipped if the data set is missing. Times are those of the machine on which
// it runs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"gossiptrainer/studies/markdown"
)

func main() {
	rounds := flag.Int("rounds", 100, "rounds of each run")
	markdown.Program("entropy", func(ctx context.Context, output string) error {
		return compare(ctx, output, *rounds)
	})
}

// compare measures all rows and writes the document to output.
func compare(ctx context.Context, output string, rounds int) error {
	var results []result
	for _, r := range rows() {
		got, err := r.measure(ctx, rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		fmt.Fprintln(os.Stderr, r.name)
		results = append(results, got...)
	}
	return markdown.Write(output, document(results, rounds))
}
