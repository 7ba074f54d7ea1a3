// Algorithms trains Fashion-MNIST once with each algorithm on eight peers in a ring. It writes the cost and the
// accuracy of each as a Markdown table, with the command of every row.
//
//	go run ./studies/algorithms -o docs/results/algorithms.md
//
// It judges nothing: a run that fails becomes a row with its exit code. Times depend on the machine and its load.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gossiptrainer/studies/markdown"
)

func main() {
	rounds := flag.Int("rounds", 0, "rounds of each run; 0 = as many as the preset has")
	markdown.Program("algorithms", func(ctx context.Context, output string) error {
		return compare(ctx, output, *rounds)
	})
}

// compare runs all rows and writes the document to output.
func compare(ctx context.Context, output string, rounds int) error {
	work, err := os.MkdirTemp("", "algorithms-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	program := filepath.Join(work, "peer")
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", program,
		"gossiptrainer/cmd/peer").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, text)
	}
	var results []result
	for i, r := range rows() {
		if rounds > 0 {
			r.settings = append(r.settings, fmt.Sprintf("train.rounds=%d", rounds))
		}
		got, err := r.run(ctx, program, filepath.Join(work, fmt.Sprint(i)))
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		fmt.Fprintln(os.Stderr, strings.Join(got.cells(), "  "))
		results = append(results, got)
	}
	return markdown.Write(output, document(results))
}
