package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"gossiptrainer/internal/stats"
)

// A result holds the medians of a row: node updates per CPU second, or the CPU seconds of a run.
type result struct {
	row
	ours, theirs float64
}

// ratio returns how many times as fast ours is.
func (r result) ratio() float64 {
	if r.workers > 0 {
		return r.ours / r.theirs
	}
	return r.theirs / r.ours
}

// measure measures both programs of a row in turns.
func (f *field) measure(ctx context.Context, r row) (result, error) {
	var ours, theirs []float64
	for range f.turns {
		for _, side := range []struct {
			to          *[]float64
			command     func(f *field, rounds int) []string
			short, long int
		}{{&ours, r.ours, r.short, r.long}, {&theirs, r.theirs, r.theirShort, r.theirLong}} {
			long, err := cpu(ctx, side.command(f, side.long))
			if err == nil && r.workers > 0 {
				var short float64
				short, err = cpu(ctx, side.command(f, side.short))
				long = float64(r.workers*(side.long-side.short)) / (long - short)
			}
			if err != nil {
				return result{}, err
			}
			*side.to = append(*side.to, long)
		}
	}
	return result{r, stats.Median(ours), stats.Median(theirs)}, nil
}

// cpu returns the CPU seconds of a command. A program may print its own, which leave out its imports.
func cpu(ctx context.Context, words []string) (float64, error) {
	out, seconds, err := run(ctx, words)
	if text, ok := strings.CutPrefix(string(out), "cpu "); ok && err == nil {
		return strconv.ParseFloat(strings.Fields(text)[0], 64)
	}
	return seconds, err
}

// run runs a command and returns its output and CPU seconds.
func run(ctx context.Context, words []string) (out []byte, seconds float64, err error) {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1")
	var told bytes.Buffer
	cmd.Stderr = &told
	if out, err = cmd.Output(); err != nil {
		return nil, 0, fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, told.Bytes())
	}
	return out, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), nil
}

// Figures of our program alone.
type figures struct {
	sizes  []int     // of rings with the defaults
	shares []float64 // of their messages that needed a repair, by ring
	cliff  float64   // CPU of a complete graph of 33 over that of 32, for each message
}

// alone measures figures that have no rival.
func (f *field) alone(ctx context.Context) (figures, error) {
	own := figures{sizes: []int{16, 64, 256, 1024}}
	train := "train={rounds: 100, step_size: 0.05, momentum: 0, schedule: constant}"
	for _, n := range own.sizes {
		out, _, err := run(ctx, f.simulates("topology.size="+strconv.Itoa(n), "model={name: quadratic, dim: 1000}", train))
		if err != nil {
			return own, err
		}
		var got struct {
			Theta struct {
				Repaired float64 `json:"repaired"`
			} `json:"theta"`
		}
		if err := json.Unmarshal(out, &got); err != nil {
			return own, err
		}
		own.shares = append(own.shares, got.Theta.Repaired/float64(2*n*100))
	}
	var all []float64
	for range f.turns {
		each := func(n int) (float64, error) {
			_, seconds, err := run(ctx, f.simulates("topology={kind: complete, size: "+strconv.Itoa(n)+"}",
				"model={name: quadratic, dim: 10000}", train))
			return seconds / float64(n*(n-1)), err
		}
		few, err := each(32)
		if err != nil {
			return own, err
		}
		more, err := each(33)
		if err != nil {
			return own, err
		}
		all = append(all, more/few)
	}
	own.cliff = stats.Median(all)
	return own, nil
}
