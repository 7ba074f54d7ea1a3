package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/internal/record"
)

// A lab runs members as processes of this machine.
type lab struct{ program, folder string }

// newLab builds the program.
func newLab(ctx context.Context, folder string) (*lab, error) {
	l := &lab{filepath.Join(folder, "peer"), folder}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", l.program, "./cmd/peer").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build: %w: %s", err, out)
	}
	return l, nil
}

// labSettings are those of the runs in a lab, after those of all.
var labSettings = []string{
	"topology.size=6", "membership.grace=3s", "train.rounds=1200",
	"faults.script=[{at: 50, join: 1}, {at: 400, leave: 2}, {at: 700, die: 3}]",
}

// run runs a method on a graph, and compares the digest with that of the replay of the log. It returns the number of
// views.
func (l *lab) run(ctx context.Context, m method, graph string) (string, error) {
	const workers = 6
	args := []string{"lab", "ring8", "--json", "--quiet"}
	out := filepath.Join(l.folder, "runs")
	if err := os.RemoveAll(out); err != nil {
		return "", err
	}
	own := append(graphOf(m, graph, workers), "output.dir="+out)
	for _, s := range slices.Concat(settings, m.set, labSettings, own) {
		args = append(args, "--set", s)
	}
	var sum record.Summary
	if err := l.ask(ctx, &sum, args...); err != nil {
		return "", err
	}
	folders, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil || len(folders) != 1 {
		return "", fmt.Errorf("%d run folders, error %w", len(folders), err)
	}
	var replayed struct{ Digest string }
	err = l.ask(ctx, &replayed, "sim", filepath.Join(folders[0], "run.yaml"), "--views", folders[0], "--json")
	switch {
	case err != nil:
		return "", err
	case replayed.Digest != sum.Digest || sum.Digest == "":
		return "", fmt.Errorf("the digest is %.8s, and that of the replay %.8s", sum.Digest, replayed.Digest)
	}
	return strconv.Itoa(sum.Losses.Views), nil
}

// ask reads what a command prints in JSON.
func (l *lab) ask(ctx context.Context, to any, args ...string) error {
	cmd := exec.CommandContext(ctx, l.program, args...)
	var said strings.Builder
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		return fmt.Errorf("peer %s: %w: %s", strings.Join(args, " "), err, said.String())
	}
	return nil
}
