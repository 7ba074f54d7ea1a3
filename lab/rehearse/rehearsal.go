// Package rehearse lets real peers of this machine run for a short time, to see how long their work takes.
package rehearse

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/fleet"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/stats"
	"gossiptrainer/topology"
)

// grace is how long peers may take to stop.
const grace = 5 * time.Second

// A Result is what real peers have shown.
type Result struct {
	Summary record.Summary
	Run     *record.Run
}

// Run runs peers as processes of this machine, in a folder that is removed afterwards. They keep to the limits of the
// run and train with its data, without its roster, its script of faults and its checkpoints. They end after the rounds
// of the run, or at a value of --until.
func Run(ctx context.Context, cfg configs.Config, until ...string) (*Result, error) {
	dir, err := os.MkdirTemp("", "peer-rehearsal-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cfg.Output.Dir, cfg.Peers, cfg.Faults.Script = dir, nil, nil
	cfg.Checkpoint.Every, cfg.Checkpoint.Seconds = 0, 0
	file := filepath.Join(dir, "run.yaml")
	const own = 0o600 // the file may hold a secret
	if err := os.WriteFile(file, cfg.YAML(), own); err != nil {
		return nil, err
	}
	args := []string{"lab", file, "--json", "--quiet"}
	for _, u := range until {
		args = append(args, "--until", u)
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find the path of this program: %w", err)
	}
	var out, complaints bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := fleet.RunTied(ctx, cmd, grace); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, lastError(complaints.String(), err)
	}
	var done Result
	if err := json.Unmarshal(out.Bytes(), &done.Summary); err != nil {
		return nil, fmt.Errorf("their summary: %w", err)
	}
	folders, err := filepath.Glob(filepath.Join(dir, "*", record.EventsFile))
	if err != nil || len(folders) != 1 {
		return nil, fmt.Errorf("%d run folders in %s, want 1", len(folders), dir)
	}
	done.Run, err = record.Open(filepath.Dir(folders[0]))
	return &done, err
}

// lastError returns the reason in what a command has said, or err.
func lastError(text string, err error) error {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if why, ok := strings.CutPrefix(lines[i], "peer: "); ok {
			return errors.New(why)
		}
	}
	return err
}

// Round returns the usual gradient and coding of a round of a worker. They are medians over the accounts of all
// workers, so that accounts in which another program had the processors do not count. The first fifth does not count
// either. All is 0 without accounts. The time of a gradient includes work of other processes, and the processor time of
// a process includes other work. So the lesser one bounds the gradient. It is divided by the slowdown of its worker.
func (r *Result) Round(slowdown func(topology.Rank) float64) record.Spent {
	accounts := map[int][]*record.Links{}
	for _, e := range r.Run.Events {
		if e.Links != nil {
			accounts[e.Links.Rank] = append(accounts[e.Links.Rank], e.Links)
		}
	}
	var compute, codec []time.Duration
	for rank, all := range accounts {
		from := new(record.Links)
		if i := len(all) / 5; i > 0 {
			from, all = all[i], all[i+1:]
		}
		bound := perRound(from, all[len(all)-1]).CPU
		for _, to := range all {
			one := perRound(from, to)
			if bound > 0 {
				one.Compute = min(one.Compute, bound)
			}
			compute = append(compute, time.Duration(float64(one.Compute)/slowdown(topology.Rank(rank))))
			codec = append(codec, one.Codec)
			from = to
		}
	}
	return record.Spent{Compute: stats.Median(compute), Codec: stats.Median(codec)}
}

// perRound returns what a round between two accounts of a worker took.
func perRound(from, to *record.Links) record.Spent {
	a, b, n := from.Spent, to.Spent, time.Duration(max(1, to.Rounds-from.Rounds))
	return record.Spent{Compute: (b.Compute - a.Compute) / n, Codec: (b.Codec - a.Codec) / n, CPU: (b.CPU - a.CPU) / n}
}
