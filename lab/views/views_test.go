package views

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
)

// assemble returns a small run with more settings.
func assemble(t *testing.T, set ...string) *experiment.Run {
	t.Helper()
	loaded, err := configs.Load(configs.Source{File: "ring8", Set: append([]string{
		"model.name=quadratic", "model.dim=12", "train.rounds=60", "topology.size=5", "algorithm.codec=full",
		"membership.mode=view",
	}, set...)})
	if err != nil {
		t.Fatal(err)
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// The log of a run with joins, leaves and deaths replays to its digest, for each algorithm that restarts.
func TestDrawnViewsReplay(t *testing.T) {
	for name, set := range map[string][]string{
		"dpsgd ring":     nil,
		"atc torus":      {"topology.kind=torus", "topology.rows=1", "topology.cols=5", "algorithm.order=atc"},
		"adamw one-peer": {"topology.kind=one-peer-exponential", "train.optimizer.name=adamw", "train.step_size=0.01"},
		"gt matching":    {"topology.kind=random-matching", "algorithm.name=gt"},
		"kgt base2":      {"topology.kind=base2", "algorithm.name=kgt", "algorithm.local_steps=2"},
		"moniqua ring":   {"algorithm.codec=moniqua", "algorithm.theta.rule=fixed", "algorithm.theta.value=16"},
		"d2 ring":        {"algorithm.name=d2", "topology.slack=0.8"},
		"qg ring":        {"algorithm.name=qg"},
		"decentlam ring": {"algorithm.name=decentlam"},
		"deepsqueeze":    {"algorithm.name=deepsqueeze", "algorithm.compressor.name=topk", "algorithm.compressor.k=6"},
		"choco ring":     {"algorithm.name=choco", "algorithm.compressor.name=topk", "algorithm.compressor.k=6"},
		"moniqua 1 round": {"algorithm.codec=moniqua", "algorithm.theta.rule=fixed", "algorithm.theta.value=16",
			"train.rounds=1"},
	} {
		file := filepath.Join(t.TempDir(), LogName)
		drawn, err := Draw(assemble(t, set...), Churn{Rate: 0.05, Most: 9}, file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := Replay(assemble(t, set...), filepath.Dir(file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if drawn.Digest != again.Digest || drawn.Rounds > 1 && len(drawn.Views) < 3 {
			t.Errorf("%s: %d views, digest %s, from the log %s", name, len(drawn.Views), drawn.Digest, again.Digest)
		}
		var text strings.Builder
		if err := again.Write(&text); err != nil || !strings.Contains(text.String(), again.Digest) {
			t.Errorf("%s: %q, error %v", name, text.String(), err)
		}
	}
}

func TestRunsWithoutViewsAreRefused(t *testing.T) {
	for want, set := range map[string][]string{
		"membership.mode: fixed: members do not come and go: set it to view": {"membership.mode=fixed"},
		"churn: an all-reduce needs all members":                             {"algorithm.name=allreduce"},
	} {
		_, err := Draw(assemble(t, set...), Churn{Rate: 0.1, Most: 9}, filepath.Join(t.TempDir(), LogName))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	_, err := Draw(assemble(t), Churn{Rate: 2}, "")
	if err == nil || err.Error() != "views: churn 2: must be a chance per member and exchange, 0 to 1" {
		t.Errorf("error %v", err)
	}
}

func TestLogsThatAreNotOfTheRunAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), LogName)
	for text, want := range map[string]string{
		`{"view":0,"first":0,"members":[{"id":0}]}`: "view 0 has 1 member, the run file 5: take the run file of the same run",
		`{"view":0}`: "line 1: view 0: members: 0: must be 1 to 4096",
		`{"view":0,"first":0,"members":[{"id":0}],"topology":{"name":"star","slack":1}}`: "take the run file of the same run",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Replay(assemble(t), file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := Replay(assemble(t), filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that does not exist has views")
	}
}
