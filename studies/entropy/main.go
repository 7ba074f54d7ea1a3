// Entropy trains Fashion-MNIST for a short while with several quantizers, keeps
// some of the payloads, and writes how many bits a parameter takes after each
// entropy coder, and how long that takes, as a Markdown table.
//
//	go run ./studies/entropy -o docs/results/entropy.md
//
// It judges nothing. Times are those of the machine it runs on.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"gossiptrainer/studies/markdown"
)

func main() {
	output := flag.String("o", "", "`file` to write; standard output without it")
	rounds := flag.Int("rounds", 100, "rounds of each run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := compare(ctx, *output, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "entropy:", err)
		os.Exit(1)
	}
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
