package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gossiptrainer/lab/plan"
)

// A result has the predictions for a setting, and the times of real peers.
type result struct {
	setting
	proofs []plan.Proof
	others float64 // share of all cores that other programs took meanwhile
}

// measure predicts the candidates of a setting and runs them.
func (s setting) measure(ctx context.Context, program, dir string, budget time.Duration) (result, error) {
	got := result{setting: s}
	file := filepath.Join(dir, "plan.yaml")
	if err := os.WriteFile(file, []byte(s.runFile()), 0o666); err != nil {
		return got, err
	}
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "plan", file, "--algorithms", "dpsgd", "--bits", fmt.Sprint(s.bits),
		"--graphs", s.graph, "--steps", fmt.Sprint(s.steps), "--budget", budget.String(), "--prove", "--json", "-q")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &complaints
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	watch := startClock()
	err := cmd.Run()
	var made plan.Plan
	if out.Len() == 0 {
		return got, fmt.Errorf("%w: %s", err, strings.TrimSpace(complaints.String()))
	}
	if err := json.Unmarshal(out.Bytes(), &made); err != nil {
		return got, err
	}
	got.proofs = made.Proofs
	got.others = watch.others(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime())
	return got, nil
}

// String is a line for the terminal.
func (r result) String() string {
	text := fmt.Sprintf("%s; others %.0f%%", r.setting.String(), 100*r.others)
	for _, p := range r.proofs {
		text += fmt.Sprintf("; %s: %.4g ms, lab %.4g ms (%+.0f%%)", p.Candidate, 1e3*p.Predicted.Value, 1e3*p.Measured,
			100*(p.Predicted.Value/p.Measured-1))
		if p.Time != nil {
			text += fmt.Sprintf(", target %.4g s, lab %.4g s (%+.0f%%)", p.Time.Predicted.Value, p.Time.Measured,
				100*(p.Time.Predicted.Value/p.Time.Measured-1))
		}
	}
	return text
}
