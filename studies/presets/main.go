// Presets measures what a change costs or saves: it runs every preset with two programs, before and after the change.
// It writes a Markdown table of ratios of CPU seconds.
//
//	go run ./studies/presets -before FILE -after FILE -o docs/results/presets.md
//
// Without files it builds the last commit, and the working tree.
//
// Both programs run `peer sim` and `peer lab` in turns, for a few rounds, and a row has medians. A preset whose runs
// take too long, or fail, is named below the table. It judges nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/studies/markdown"
)

func main() {
	var p programs
	flag.StringVar(&p.before, "before", "", "`file` of the program before the change; without it, that of the last commit")
	flag.StringVar(&p.after, "after", "", "`file` of the program after the change; without it, that of the working tree")
	turns := flag.Int("turns", 3, "runs of each program")
	rounds := flag.Int("rounds", 4, "rounds of a run; a preset with faults keeps its own")
	longest := flag.Duration("longest", 15*time.Second, "time of a run; a preset that takes longer is left out")
	markdown.Program("presets", func(ctx context.Context, output string) error {
		return compare(ctx, output, &field{programs: p, turns: max(1, *turns), rounds: *rounds, longest: *longest})
	})
}

// programs are the files of both programs.
type programs struct{ before, after string }

// A field is how the programs run.
type field struct {
	programs
	turns, rounds int
	longest       time.Duration
	dir           string // of runs
}

// A result is the CPU seconds of both programs, medians of all turns.
type result struct {
	preset, command string
	before, after   float64
	ratio           float64 // median over the turns: after, divided by before
	missing         error   // why there are none
}

// compare measures all presets and writes the document to output.
func compare(ctx context.Context, output string, f *field) (err error) {
	if f.dir, err = os.MkdirTemp("", "presets"); err != nil {
		return err
	}
	defer os.RemoveAll(f.dir)
	if err := f.build(ctx); err != nil {
		return err
	}
	var all []result
	for _, preset := range configs.Presets() {
		rounds, err := f.length(preset.Name)
		if err != nil {
			all = append(all, result{preset: preset.Name, missing: err})
			continue
		}
		for _, command := range []string{"sim", "lab"} {
			r := f.measure(ctx, command, preset.Name, rounds)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			fmt.Fprintf(os.Stderr, "%s %s: %.3g\n", command, preset.Name, r.ratio)
			if all = append(all, r); r.missing != nil {
				break
			}
		}
	}
	return markdown.Write(output, document(all, f))
}

// length returns the setting of the rounds of a preset, "" where faults need its own.
func (f *field) length(preset string) (string, error) {
	loaded, err := configs.Load(configs.Source{File: preset})
	switch {
	case err != nil:
		return "", err
	case loaded.Config.External():
		return "", errors.New("it trains a script of the user")
	case len(loaded.Config.Faults.Script) > 0:
		return "", nil
	}
	return fmt.Sprintf("train.rounds=%d", f.rounds), nil
}
