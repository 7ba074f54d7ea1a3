package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gossiptrainer/internal/record"
	"gossiptrainer/internal/train"
)

// floatBytes are the bytes of one parameter.
const floatBytes = 4

// patience bounds the time in which an interrupted run must end its peers.
const patience = 10 * time.Second

// A result is the outcome of one run: its costs, or the reason for its failure.
type result struct {
	row
	costs
	code int    // exit code of peer
	why  string // its error, one line
}

// costs are per worker and round, except where noted.
type costs struct {
	vectors        float64       // of the model's length, held beyond model and gradient
	payload        float64       // bytes sent
	compute, codec time.Duration // with a core to itself
	all            time.Duration // mean, with all peers on one machine
	accuracy       *float64      // mean over the replicas at the end, nil without test data
}

// run makes the run in the new folder dir. A run that fails is a result. An error says that the run could not start or
// its files could not be read.
func (r row) run(ctx context.Context, program, dir string) (result, error) {
	got := result{row: r}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return got, err
	}
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, program, r.command()...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &complaints
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	if data := os.Getenv("PEER_DATA"); data != "" { // it may be relative to the current folder
		data, err := filepath.Abs(data)
		if err != nil {
			return got, err
		}
		cmd.Env = append(os.Environ(), "PEER_DATA="+data)
	}
	err := cmd.Run()
	if ctx.Err() != nil {
		return got, context.Cause(ctx)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got.code, got.why = exit.ExitCode(), complaint(complaints.String())
		return got, nil
	}
	if err != nil {
		return got, err
	}
	got.costs, err = measure(out.Bytes(), filepath.Join(dir, "runs"))
	return got, err
}

// complaint finds the error among the lines that peer printed.
func complaint(text string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "peer: ") {
			return strings.TrimSpace(line)
		}
	}
	return "no reason given"
}

// measure takes the costs from a summary and from the only run folder in runs.
func measure(summary []byte, runs string) (costs, error) {
	var s record.Summary
	if err := json.Unmarshal(summary, &s); err != nil {
		return costs{}, fmt.Errorf("summary: %w", err)
	}
	folders, err := filepath.Glob(filepath.Join(runs, "*"))
	if err != nil {
		return costs{}, err
	}
	if len(folders) != 1 {
		return costs{}, fmt.Errorf("%d run folders, want 1", len(folders))
	}
	run, err := record.Open(folders[0])
	if err != nil {
		return costs{}, err
	}
	model, err := train.Read(filepath.Join(folders[0], "peer-0.safetensors"))
	if err != nil {
		return costs{}, err
	}
	c := typical(run.Events)
	perStep := float64(s.Peers) / float64(s.Steps)
	c.vectors = float64(s.ExtraMemory) / float64(floatBytes*len(model.X))
	c.payload = float64(s.BytesPerPeer.Payload) * perStep
	c.all = time.Duration(s.Time * perStep * float64(time.Second))
	c.accuracy = s.Accuracy.Mean
	return c, nil
}

// undisturbed is a share of rounds in which a worker has a core to itself, even with many more workers than cores.
const undisturbed = 0.1

// typical returns the times of a round in which the worker has a core to itself, from the recorded rounds of all
// workers.
func typical(events []record.Event) costs {
	var compute, codec []time.Duration
	for _, e := range events {
		if e.Step != nil && e.Step.Round > 0 {
			compute = append(compute, e.Step.Compute)
			codec = append(codec, e.Step.Codec)
		}
	}
	return costs{compute: quantile(compute, undisturbed), codec: quantile(codec, undisturbed)}
}

// quantile returns the value at share p < 1 of the sorted values, or 0 if there are none.
func quantile(of []time.Duration, p float64) time.Duration {
	if len(of) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(of))[int(p*float64(len(of)))]
}
