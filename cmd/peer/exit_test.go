package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/describe"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/screen"
	"gossiptrainer/app/session"
	"gossiptrainer/configs"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/fleet"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/train"
	"gossiptrainer/lab/compare"
	"gossiptrainer/node"
	"gossiptrainer/node/identity"
)

func TestExitCodes(t *testing.T) {
	cause := errors.New("cause")
	tests := []struct {
		name string
		err  error
		want int
	}{
		{"success", nil, 0},
		{"anything else", cause, 1},
		{"usage", advice.Usagef("no such thing"), 2},
		{"run file", configs.Errorf("seed", "is wrong"), 3},
		{"a secret that others may read", &identity.SecretError{Path: "f", Err: cause}, 3},
		{"an identity that another process has", &identity.ClaimError{Path: "f", Err: cause}, 4},
		{"join", &node.NetworkError{Op: "join", Err: cause}, 4},
		{"refused", &node.RefusedError{Reason: node.OtherRun}, 4},
		{"no address", &node.SecludedError{}, 4},
		{"stopped by another", &node.StoppedError{Rank: 2, Reason: "loss is NaN"}, 4},
		{"no checkpoint", checkpoint.ErrNone, 7},
		{"a folder in use", &runfolder.LockedError{}, 7},
		{"cells of a comparison", &compare.CellsError{}, 9},
		{"workers without neighbours", session.Together(record.Summary{Alone: []record.Alone{{Rank: 1}}}), 10},
		{"workers together", session.Together(record.Summary{}), 0},
		{"diverged", train.ErrDiverged, 5},
		{"arithmetic of a worker", &node.TrainingError{Err: cause}, 5},
		{"data missing", &data.MissingError{Set: "mnist"}, 6},
		{"data damaged", &data.ChecksumError{Set: "mnist"}, 6},
		{"data of another form", &data.FormatError{Err: cause}, 6},
		{"files of data", describe.WrongFiles([]describe.File{
			{FileReport: data.FileReport{Err: &data.MissingError{Set: "mnist"}}},
		}), 6},
		{"what a peer of the lab asks for", &fleet.PeerError{Code: 6}, 6},
		{"a peer of the lab that was killed", &fleet.PeerError{Code: -1}, 1},
		{"interrupt", &screen.SignalError{Signal: os.Interrupt}, 130},
		{"termination", &screen.SignalError{Signal: syscall.SIGTERM}, 143},
		{"told already", &reportedError{advice.Usagef("x")}, 2},
	}
	for _, tt := range tests {
		if got := exitCode(tt.err); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
		if tt.err == nil {
			continue
		}
		if got := exitCode(fmt.Errorf("wrapped: %w", tt.err)); got != tt.want {
			t.Errorf("%s, wrapped: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestErrorsAreDescribedWithTheirHints(t *testing.T) {
	tests := []struct {
		name string
		err  error
		text string
		hint string
	}{
		{"plain", errors.New("sim: worker 3: stuck"), "peer: sim: worker 3: stuck", ""},
		{"with a hint", fmt.Errorf("run: %w", &data.MissingError{Set: "mnist", File: "f", Dir: "d"}),
			"peer: run: data: mnist: f: not found in d or its folder mnist", "peer data fetch mnist"},
		{"of a peer of the lab", &fleet.PeerError{Rank: 3, Round: 7, Reason: "loss is NaN", Hint: "lower train.step_size"},
			"peer: lab: peer 3 (last record: round 7): loss is NaN", "lower train.step_size"},
	}
	for _, tt := range tests {
		got := complaintOf(tt.err)
		if got.text != tt.text || got.hint != tt.hint {
			t.Errorf("%s: %q, hint %q; want %q, hint %q", tt.name, got.text, got.hint, tt.text, tt.hint)
		}
	}
}

func TestEveryExitCodeHasItsSection(t *testing.T) {
	page, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	for code := exitOther; code <= exitAlone; code++ {
		if !strings.Contains(string(page), fmt.Sprintf("\n### Exit code %d\n", code)) {
			t.Errorf("docs/troubleshooting.md has no section of exit code %d", code)
		}
	}
	for err, want := range map[error]string{
		errors.New("cause"):                       "docs/troubleshooting.md" + "#exit-code-1",
		&data.ChecksumError{}:                     "docs/troubleshooting.md" + "#exit-code-6",
		&data.MissingError{Set: "mnist"}:          "", // its hint is the fix
		advice.Usagef("no such flag"):             "",
		configs.Errorf("seed", "is wrong"):        "",
		&screen.SignalError{Signal: os.Interrupt}: "",
		&fleet.PeerError{Code: exitNetwork}:       "docs/troubleshooting.md" + "#exit-code-4",
	} {
		if got := complaintOf(err).see; got != want {
			t.Errorf("%v: see %q, want %q", err, got, want)
		}
	}
}

func TestWhatBreaksWhileStoppingIsNotTheReason(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	broken := errors.New("link lost")
	if got := stopped(ctx, broken); got != broken {
		t.Errorf("before a signal: %v", got)
	}
	cancel(&screen.SignalError{Signal: os.Interrupt})
	if got := exitCode(stopped(ctx, broken)); got != 130 {
		t.Errorf("after a signal: exit code %d, want 130", got)
	}
}
