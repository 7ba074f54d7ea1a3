// Faults plays scripts of faults in the simulator, thousands of faults a minute, and writes a Markdown table. The table
// shows how soon other workers notice a fault and how soon all train again. It also shows whether the run ends with the
// digest of the run without faults.
//
//	go run ./studies/faults -o docs/results/faults-sim.md
//
// The program fails if a digest differs. Package test/chaos plays faults on real processes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"gossiptrainer/studies/markdown"
)

func main() {
	times := flag.Int("times", 100, "faults of each row but the last")
	many := flag.Int("many", 1000, "faults of the last row, on a ring of 64")
	seed := flag.Uint64("seed", 1, "draws whom a fault strikes, and when")
	markdown.Program("faults", func(ctx context.Context, output string) error {
		return play(ctx, output, *times, *many, *seed)
	})
}

// play plays the scripts of all rows and writes the document to output.
func play(ctx context.Context, output string, times, many int, seed uint64) error {
	if times < 1 || many < 1 {
		return fmt.Errorf("%d and %d faults: must be at least 1 of both", times, many)
	}
	var results []result
	var wrong []string
	for _, r := range rows(times, many) {
		got, err := r.run(ctx, seed)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		fmt.Fprintln(os.Stderr, strings.Join(got.cells(), ", "))
		if !got.same {
			wrong = append(wrong, r.name)
		}
		results = append(results, got)
	}
	if err := markdown.Write(output, document(results, times, many, seed)); err != nil {
		return err
	}
	if wrong != nil {
		return fmt.Errorf("the digest is another one after the faults of %s", strings.Join(wrong, ", "))
	}
	return nil
}
