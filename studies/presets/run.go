package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"gossiptrainer/internal/stats"
)

// build builds the programs that have no file.
func (f *field) build(ctx context.Context) error {
	var steps [][]string
	if f.before == "" {
		tree := filepath.Join(f.dir, "tree")
		f.before = filepath.Join(f.dir, "before")
		steps = append(steps, []string{"git", "worktree", "add", "--quiet", "--detach", tree, "HEAD"},
			[]string{"go", "build", "-C", tree, "-o", f.before, "./cmd/peer"},
			[]string{"git", "worktree", "remove", "--force", tree})
	}
	if f.after == "" {
		f.after = filepath.Join(f.dir, "after")
		steps = append(steps, []string{"go", "build", "-o", f.after, "./cmd/peer"})
	}
	for _, words := range steps {
		if text, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, text)
		}
	}
	return nil
}

// measure runs a preset with both programs in turns. Every other turn begins with the other program.
func (f *field) measure(ctx context.Context, command, preset, rounds string) result {
	r := result{preset: preset, command: command}
	var before, after, ratios []float64
	for turn := range f.turns {
		sides := [2]string{f.before, f.after}
		var took [2]float64
		for i := range sides {
			side := (turn + i) % 2
			var err error
			if took[side], err = f.cpu(ctx, sides[side], f.words(command, preset, rounds)); err != nil {
				r.missing = err
				return r
			}
		}
		before, after, ratios = append(before, took[0]), append(after, took[1]), append(ratios, took[1]/took[0])
	}
	r.before, r.after, r.ratio = stats.Median(before), stats.Median(after), stats.Median(ratios)
	return r
}

// words returns the arguments of a run. rounds is a setting, or "".
func (f *field) words(command, preset, rounds string) []string {
	words := []string{command, preset, "--json", "--set", "output.dir=" + f.dir}
	if rounds != "" {
		words = append(words, "--set", rounds)
	}
	return words
}

// cpu returns the CPU seconds of a run, with those of all its processes.
func (f *field) cpu(ctx context.Context, program string, words []string) (float64, error) {
	limited, stop := context.WithTimeout(ctx, f.longest)
	defer stop()
	cmd := exec.CommandContext(limited, program, words...)
	var told bytes.Buffer
	cmd.Stderr = &told
	if err := cmd.Run(); err != nil {
		if limited.Err() != nil {
			return 0, fmt.Errorf("peer %s takes more than %v", words[0], f.longest)
		}
		lines := strings.Split(strings.TrimSpace(told.String()), "\n")
		return 0, fmt.Errorf("peer %s: %w: %s", words[0], err, lines[len(lines)-1])
	}
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), nil
}
