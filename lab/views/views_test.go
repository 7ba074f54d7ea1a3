package views

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/configs"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/membership"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/sim"
	"gossiptrainer/topology"
)

// assemble returns a small run with more settings.
func assemble(t testing.TB, set ...string) *experiment.Run {
	t.Helper()
	return load(t, append([]string{"model.name=quadratic", "model.dim=12", "train.rounds=60", "topology.size=5"}, set...))
}

func load(t testing.TB, set []string) *experiment.Run {
	t.Helper()
	loaded, err := configs.Load(configs.Source{File: "ring8",
		Set: append([]string{"algorithm.codec=full", "membership.mode=view"}, set...)})
	if err != nil {
		t.Fatal(err)
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// simulate returns the outcome of a run whose members come and go, and its log in a file.
func simulate(t *testing.T, run *experiment.Run, h Happening) (o *Outcome, file string) {
	t.Helper()
	o, err := Simulate(t.Context(), run, h)
	if err != nil {
		t.Fatal(err)
	}
	file = runfolder.ViewsPath(t.TempDir())
	if err := o.Save(file); err != nil {
		t.Fatal(err)
	}
	return o, file
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
		"allreduce":      {"algorithm.name=allreduce"},
		"allreduce, adamw": {"algorithm.name=allreduce", "algorithm.mean_gradients=true", "train.optimizer.name=adamw",
			"train.step_size=0.01"},
		"allgather": {"algorithm.name=allreduce", "algorithm.reduce=allgather", "algorithm.compressor.name=topk",
			"algorithm.compressor.k=6", "algorithm.error_feedback=true"},
		"server":        {"algorithm.name=allreduce", "algorithm.reduce=server", "algorithm.compressor.name=qsgd"},
		"adaptive ring": {"algorithm.codec=moniqua"},
		"adaptive, 4 bits": {"algorithm.codec=moniqua", "algorithm.bits=4", "topology.kind=one-peer-exponential",
			"algorithm.local_steps=2"},
		"adaptive gt": {"algorithm.codec=moniqua", "algorithm.name=gt", "topology.kind=random-matching"},
		"adaptive d2": {"algorithm.codec=moniqua", "algorithm.name=d2", "topology.slack=0.8"},
		"measured":    {"algorithm.codec=moniqua", "algorithm.theta.rule=measured", "train.rounds=120"},
		"certified":   {"algorithm.codec=moniqua", "algorithm.theta.rule=certified"},
		"certified, one-peer": {"algorithm.codec=moniqua", "algorithm.theta.rule=certified", "algorithm.local_steps=2",
			"topology.kind=one-peer-exponential"},
		"oland-raj": {"algorithm.codec=moniqua", "algorithm.theta={rule: fixed, value: 16}",
			"algorithm.controller={name: oland-raj, min_bits: 4, max_bits: 8}"},
		"oland-raj choco": {"algorithm.name=choco", "algorithm.compressor.name=minmax",
			"algorithm.controller={name: oland-raj, min_bits: 4, max_bits: 8}"},
		"oland-raj, adaptive": {"algorithm.codec=moniqua",
			"algorithm.controller={name: oland-raj, min_bits: 4, max_bits: 8}"},
		"d2 ring":        {"algorithm.name=d2", "topology.slack=0.8"},
		"qg ring":        {"algorithm.name=qg"},
		"decentlam ring": {"algorithm.name=decentlam"},
		"deepsqueeze":    {"algorithm.name=deepsqueeze", "algorithm.compressor.name=topk", "algorithm.compressor.k=6"},
		"choco ring":     {"algorithm.name=choco", "algorithm.compressor.name=topk", "algorithm.compressor.k=6"},
		"moniqua 1 round": {"algorithm.codec=moniqua", "algorithm.theta.rule=fixed", "algorithm.theta.value=16",
			"train.rounds=1"},
		"on slow links": {"limit={rate: 10mbit, latency: 5ms}"},
		"zstd":          {"wire.entropy=zstd", "model.dim=400"},
		"auto, moniqua": {"wire.entropy=auto", "algorithm.codec=moniqua", "limit={rate: 1mbit}", "model.dim=400"},
	} {
		t.Run(name, func(t *testing.T) {
			o, file := simulate(t, assemble(t, set...), Happening{Churn: 0.05})
			again, err := Replay(assemble(t, set...), filepath.Dir(file))
			if err != nil {
				t.Fatal(err)
			}
			digest := o.Digest()
			if hex.EncodeToString(digest[:]) != again.Digest || again.Rounds > 1 && o.Log.Len() < 3 {
				t.Errorf("%d views, digest %x, from the log %s", o.Log.Len(), digest, again.Digest)
			}
			var text strings.Builder
			if err := again.Write(&text); err != nil || !strings.Contains(text.String(), again.Digest) {
				t.Errorf("%q, error %v", text.String(), err)
			}
		})
	}
}

// Members that code their payloads send fewer bytes. Where views begin at the same exchanges, the models are the same.
func TestMembersCodePayloads(t *testing.T) {
	set := []string{"model.dim=6000", "algorithm.codec=moniqua", "algorithm.bits=3", "membership.grace=1s",
		"faults.script=[{at: 10, join: 1}, {at: 30, die: 1}, {at: 45, leave: 3}]"}
	plain, _ := simulate(t, assemble(t, set...), Happening{})
	for _, coder := range []string{"huff0", "fse", "zstd", "bzip2", "auto"} {
		o, _ := simulate(t, assemble(t, append(set, "wire.entropy="+coder)...), Happening{})
		if o.Digest() != plain.Digest() || o.Log.Len() != plain.Log.Len() || o.Log.Len() < 4 {
			t.Errorf("%s: %d views, digest %x, without a coder %x", coder, o.Log.Len(), o.Digest(), plain.Digest())
		}
		shorter := coder != "auto" // without limits of links no coder is worth its cost
		if o.Sent.Payload != plain.Sent.Payload || shorter != (o.Sent.Stream < plain.Sent.Stream*9/10) ||
			shorter != (o.Sent.Wire < plain.Sent.Wire) {
			t.Errorf("%s: %+v, without a coder %+v", coder, o.Sent, plain.Sent)
		}
	}
}

// A script lets members join, leave and die, and the log says why each view came.
func TestScriptOfMembers(t *testing.T) {
	var began []string
	set := []string{"faults.script=[{at: 10, join: 2}, {at: 20, die: 1}, {at: 30, leave: 6}, {at: 2s, join: 1}, " +
		"{at: 31, die: 1}, {at: 9m, leave: 0}]", "membership.grace=1s"}
	var steps, scores int
	o, file := simulate(t, assemble(t, append(set, "output={every: 20, evaluate: 25}")...), Happening{
		Began: func(f fault.Fault) { began = append(began, f.String()) },
		Observe: func(e record.Event) {
			if e.Step != nil {
				steps++
			} else if e.Score != nil {
				scores++
			}
		}})
	if got := strings.Join(began, ", "); got != "join 2, die 1, join 1, leave 6" {
		t.Errorf("what happened is %s", got)
	}
	if len(o.Pending) != 1 || len(o.Absent) != 1 || o.Absent[0].Kind != fault.Die {
		t.Errorf("pending %v, absent %v: want that of 9 minutes, and the second death", o.Pending, o.Absent)
	}
	var why []string
	for _, v := range membership.Told(o.Log) {
		why = append(why, v.Why)
	}
	all := strings.Join(why, "; ")
	for _, want := range []string{"machine guest 1 joins", "machine guest 2 joins", "machine guest 3 joins",
		"machine peer 1 was silent for 1", "machine guest 2 left"} {
		if !strings.Contains(all, want) {
			t.Errorf("reasons %q: want %q", all, want)
		}
	}
	if got := fmt.Sprint(o.IDs); got != "[0 2 3 4 5 7]" || steps < 10 || scores < 10 {
		t.Errorf("members %s at the end, %d steps and %d scores on record", got, steps, scores)
	}
	run, finals, err := o.Finals()
	if err != nil || len(finals) != 6 || run.N() != 6 || finals[5].Sent.Wire == 0 || o.Sent.Wire <= finals[5].Sent.Wire {
		t.Errorf("%d results of %d workers, error %v", len(finals), run.N(), err)
	}
	again, err := Replay(assemble(t, set...), file)
	if digest := o.Digest(); err != nil || again.Digest != hex.EncodeToString(digest[:]) {
		t.Errorf("digest %x, from the log %v, error %v", digest, again, err)
	}
}

// evenly lets each gradient take as long as in a run whose members come and go.
var evenly = sim.Options{Compute: func(topology.Rank, int) time.Duration { return Gradient }}

// A run in which all stay is that of a fixed set of workers.
func TestWithoutChangesAsFixed(t *testing.T) {
	for _, set := range [][]string{nil, {"topology.kind=one-peer-exponential", "algorithm.name=gt"},
		{"algorithm.codec=moniqua", "algorithm.theta={rule: fixed, value: 16}"}} {
		o, _ := simulate(t, assemble(t, set...), Happening{})
		workers, err := build.All(assemble(t, append(set, "membership.mode=fixed")...))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sim.Run(t.Context(), build.Tasks(workers), evenly); err != nil {
			t.Fatal(err)
		}
		var all [][sha256.Size]byte
		for _, w := range workers {
			all = append(all, record.Digest(w.Machine.Params()))
		}
		if got, want := o.Digest(), record.RunDigest(all); got != want || o.Log.Len() != 1 {
			t.Errorf("%v: digest %x, of a fixed run %x", set, got, want)
		}
	}
}

// The members and the agreement on views cost time beside the gradients. The metric is the ratio to a fixed run.
func BenchmarkViews(b *testing.B) {
	var views, fixed time.Duration
	for b.Loop() {
		began := time.Now()
		if _, err := Simulate(b.Context(), load(b, larger), Happening{}); err != nil {
			b.Fatal(err)
		}
		views += time.Since(began)
		began = time.Now()
		workers, err := build.All(load(b, append(larger, "membership.mode=fixed")))
		if err == nil {
			_, err = sim.Run(b.Context(), build.Tasks(workers), evenly)
		}
		if err != nil {
			b.Fatal(err)
		}
		fixed += time.Since(began)
	}
	b.ReportMetric(float64(views)/float64(fixed), "views/fixed")
}

// larger is a run with gradients that take time.
var larger = []string{"model.hidden=[256]", "train.rounds=200"}

func TestRunsWithoutViewsAreRefused(t *testing.T) {
	for want, set := range map[string][]string{
		"membership.mode: fixed: members do not come and go: set it to view": {"membership.mode=fixed"},
	} {
		_, err := Simulate(t.Context(), assemble(t, set...), Happening{Churn: 0.1})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	_, err := Simulate(t.Context(), assemble(t), Happening{Churn: 2})
	if err == nil || err.Error() != "views: churn 2: must be a chance per member and exchange, 0 to 1" {
		t.Errorf("error %v", err)
	}
}

// Where a partition leaves a majority of voters on one side, that side goes on. The others wait, and come back as
// newcomers when it is over. Without a majority all wait, and go on in the same view.
func TestPartitions(t *testing.T) {
	for _, test := range []struct {
		name, sides string
		views       int // at least
		ids         string
		waited      string
	}{
		{"5 against 3", "[[0, 1, 2, 3, 4], [5, 6, 7]]", 3, "[0 1 2 3 4 8 9 10]", "5 6 7"},
		{"4 against 4", "[[1, 3, 5, 7], [0, 2, 4, 6]]", 3, "[0 2 4 6 8 9 10 11]", "1"},
		{"3 parts", "[[0, 3, 6], [1, 4, 7], [2, 5]]", 1, "[0 1 2 3 4 5 6 7]", "0"},
	} {
		set := []string{"topology.size=8", "membership.grace=1s", "train.rounds=500",
			"faults.script=[{at: 20, partition: " + test.sides + ", for: 5s}]"}
		var waited []string
		o, file := simulate(t, assemble(t, set...), Happening{Waits: func(id view.ID, waits bool) {
			if name := fmt.Sprint(id); waits && !slices.Contains(waited, name) {
				waited = append(waited, name)
			}
		}})
		slices.Sort(waited)
		if o.Log.Len() < test.views || fmt.Sprint(o.IDs) != test.ids || o.Time < 15*time.Second && test.views == 1 {
			t.Errorf("%s: %d views, members %v at the end after %v, want at least %d and %s", test.name, o.Log.Len(), o.IDs,
				o.Time, test.views, test.ids)
		}
		for _, want := range strings.Fields(test.waited) {
			if !slices.Contains(waited, want) {
				t.Errorf("%s: %v waited, not %s", test.name, waited, want)
			}
		}
		again, err := Replay(assemble(t, set...), file)
		if digest := o.Digest(); err != nil || again.Digest != hex.EncodeToString(digest[:]) {
			t.Errorf("%s: digest %x, from the log %v, error %v", test.name, digest, again, err)
		}
	}
}

// A process that stands still for less than the grace holds the others up. After more it is taken for dead.
// A slow one and a lost link only cost time.
func TestFaultsThatEnd(t *testing.T) {
	for script, want := range map[string]string{
		"[{at: 20, hang: 1, for: 600ms}]":                                    "[0 1 2 3 4]",
		"[{at: 20, hang: 1, for: 5s}]":                                       "[0 2 3 4 5]",
		"[{at: 20, slow: 2, by: 4}]":                                         "[0 1 2 3 4]",
		"[{at: 20, cut: [1, 2], for: 700ms}]":                                "[0 1 2 3 4]",
		"[{at: 500ms, hang: 4, for: 3s}, {at: 20, slow: 2, by: 2, for: 1s}]": "[0 1 2 3 5]",
	} {
		set := []string{"membership.grace=1s", "train.rounds=300", "faults.script=" + script}
		o, file := simulate(t, assemble(t, set...), Happening{})
		if got := fmt.Sprint(o.IDs); got != want || o.Time <= 6*time.Second {
			t.Errorf("%s: members %s at the end after %v, want %s after more than 6 s", script, got, o.Time, want)
		}
		again, err := Replay(assemble(t, set...), file)
		if digest := o.Digest(); err != nil || again.Digest != hex.EncodeToString(digest[:]) {
			t.Errorf("%s: digest %x, from the log %v, error %v", script, digest, again, err)
		}
	}
}

// When nothing moves any more the error says what members wait for.
func TestMembersThatWaitForEver(t *testing.T) {
	for want, set := range map[string][]string{
		"nothing moves since exchange 1": {"membership.min=4", "faults.script=[{at: 9, die: 0}, {at: 9, leave: 1}]"},
		"too many voters, or all who have a message, died in the same moment: take fewer deaths": {
			"faults.script=[{at: 9, die: 0}, {at: 9, die: 1}, {at: 9, die: 2}]"},
	} {
		_, err := Simulate(t.Context(), assemble(t, set...), Happening{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestLogsThatAreNotOfTheRunAreRefused(t *testing.T) {
	file := runfolder.ViewsPath(t.TempDir())
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
