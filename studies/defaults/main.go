// Defaults trains the built-in glyphs on a ring of eight in the simulator with every
// algorithm, every codec or compressor, and 1, 2, 4 and 8 bits. All other settings have
// their defaults. It writes which of these runs train, diverge or are refused.
//
//	go run ./studies/defaults -o docs/results/defaults.md
//
// It fails if a run diverges although theory expects it to train and the program does not warn of it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"gossiptrainer/studies/markdown"
)

func main() {
	rounds := flag.Int("rounds", 0, "rounds of each run; 0 = as many as the preset has")
	only := flag.String("only", "", "`algorithm` to try alone")
	markdown.Program("defaults", func(ctx context.Context, output string) error {
		return try(ctx, output, *only, *rounds)
	})
}

// try makes all runs, a few at a time, and writes the document.
func try(ctx context.Context, output, only string, rounds int) error {
	lines := rows(only)
	slots := make(chan struct{}, runtime.NumCPU())
	var all sync.WaitGroup
	for i := range lines {
		for j := range lines[i].cells {
			all.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				c := &lines[i].cells[j]
				c.run(ctx, rounds)
				fmt.Fprintln(os.Stderr, lines[i].name, strings.Join(c.set, " "), c.text())
			})
		}
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := markdown.Write(output, document(lines)); err != nil {
		return err
	}
	return unexpected(lines)
}

// unexpected lists the runs that failed though theory says that they train.
func unexpected(lines []row) error {
	var failed []string
	for _, r := range lines {
		for _, c := range r.cells {
			if c.end == broken || c.end == diverged && !r.mayDiverge && !c.warned {
				failed = append(failed, fmt.Sprintf("%s (%s): %s", r.name, strings.Join(c.set, " "), c.why))
			}
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("these runs should train:\n%s", strings.Join(failed, "\n"))
	}
	return nil
}
