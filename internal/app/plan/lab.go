package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gossiptrainer/internal/lab"
	"gossiptrainer/internal/record"
)

// labGrace is how long peers may take to stop.
const labGrace = 5 * time.Second

// A labTask is how a candidate runs with real peers.
type labTask struct {
	set   []string
	flags []string // values of --until
}

// A labRun is what real peers have shown.
type labRun struct {
	rounds  int
	whole   float64 // seconds of a round, of all rounds
	steady  float64 // seconds of a round, after the first fifth
	scatter float64 // relative standard error of steady
	run     *record.Run
}

// lab runs a candidate as processes of this machine, in a folder that is removed afterwards.
func (p *planner) lab(ctx context.Context, c Candidate, task labTask) (*labRun, error) {
	dir, err := os.MkdirTemp("", "peer-plan-")
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	defer os.RemoveAll(dir)
	loaded, err := p.load(c, slices.Concat(p.limits, task.set, []string{"output.dir=" + dir, "peers=[]",
		"faults.script=[]", "checkpoint.every=0", "checkpoint.seconds=0"})...)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "run.yaml")
	const own = 0o600 // the file may hold a secret
	if err := os.WriteFile(file, loaded.Config.YAML(), own); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	args := []string{"lab", file, "--json", "--quiet"}
	for _, u := range task.flags {
		args = append(args, "--until", u)
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("plan: cannot find the path of this program: %w", err)
	}
	var out, complaints bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := lab.RunTied(ctx, cmd, labGrace); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("plan: real peers with %s: %s", c, lastError(complaints.String(), err))
	}
	var summary record.Summary
	if err := json.Unmarshal(out.Bytes(), &summary); err != nil {
		return nil, fmt.Errorf("plan: real peers with %s: their summary: %w", c, err)
	}
	return readLab(dir, &summary)
}

// readLab reads the only run in a folder.
func readLab(dir string, summary *record.Summary) (*labRun, error) {
	folders, err := filepath.Glob(filepath.Join(dir, "*", record.EventsFile))
	if err != nil || len(folders) != 1 {
		return nil, fmt.Errorf("plan: %d run folders in %s, want 1", len(folders), dir)
	}
	run, err := record.Open(filepath.Dir(folders[0]))
	if err != nil {
		return nil, err
	}
	done := &labRun{rounds: summary.Rounds, whole: summary.Time / float64(summary.Rounds), run: run}
	done.steady, done.scatter = blocks(run.Progress())
	if done.steady == 0 {
		done.steady = done.whole
	}
	return done, nil
}

// blocks returns the seconds of a round after the first fifth of the moments, and their relative standard error, from
// eight parts of equal length.
func blocks(moments []record.Moment) (seconds, scatter float64) {
	moments = moments[len(moments)/5:]
	const parts = 8
	n := len(moments) - 1
	if n < 1 {
		return 0, 0
	}
	rate := func(a, b record.Moment) float64 { return (b.Time - a.Time).Seconds() / (b.Round - a.Round) }
	seconds = rate(moments[0], moments[n])
	if n < parts {
		return seconds, 0
	}
	sum := 0.0
	for i := range parts {
		d := rate(moments[i*n/parts], moments[(i+1)*n/parts])/seconds - 1
		sum += d * d
	}
	return seconds, math.Sqrt(sum / (parts - 1) / parts)
}

// lastError returns the reason in what a command has said, or err.
func lastError(text string, err error) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if why, ok := strings.CutPrefix(lines[i], "peer: "); ok {
			return why
		}
	}
	return err.Error()
}
