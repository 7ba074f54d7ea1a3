package build

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/report"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/summary"
	"gossiptrainer/internal/train"
	"gossiptrainer/topology"
)

func TestSummaryOfARun(t *testing.T) {
	r := assemble(t, append([]string{"topology.size=3"}, quick...)...)
	all := workers(t, r)
	res := drive(t, r, all, 1)
	evaluate(t, all, res)
	for i := range res.Finals {
		res.Finals[i].Sent = record.Bytes{Payload: int64(10 * i), Stream: int64(20 * i), Wire: int64(30 * i)}
		res.Finals[i].ExtraMemory = int64(i)
	}
	s := summarize(t, r, res)
	if s.Steps != 36 || s.Rate != 12 || !slices.Equal(s.PerWorker, []int{12, 12, 12}) {
		t.Errorf("%d steps, %v a second, %v by worker, want 36, 12 and 12 each", s.Steps, s.Rate, s.PerWorker)
	}
	if s.Mode != "test" || s.Run != "run" || s.Algorithm != "moniqua" || s.Bits != 8 || s.Peers != 3 || s.Rounds != 12 ||
		s.Seed != 1 || s.Version != "v0" {
		t.Errorf("heading: %+v", s)
	}
	if s.Wall != 1 || s.Time != 3 {
		t.Errorf("want 1 s wall and 3 s for the slowest, got %v and %v", s.Wall, s.Time)
	}
	if want := (record.Bytes{Payload: 10, Stream: 20, Wire: 30}); s.BytesPerPeer != want || s.ExtraMemory != 2 {
		t.Errorf("want %v and 2 bytes, got %v and %d", want, s.BytesPerPeer, s.ExtraMemory)
	}
	if want := all[0].Theta(11); s.Theta.Value != want || want <= 0 {
		t.Errorf("theta: want that of round 11, %v, got %v", want, s.Theta.Value)
	}
	if v := s.Theta.Violations; v == nil || *v == 0 || *v != s.Theta.Repaired {
		t.Errorf("theta: want violations at the start, all of them repaired, got %+v", s.Theta)
	}
	mean, least := 0.0, 1.0
	for _, f := range res.Finals {
		mean += f.Accuracy / 3
		least = min(least, f.Accuracy)
	}
	if *s.Accuracy.Mean != mean || *s.Accuracy.Min != least || s.Accuracy.AverageModel == nil {
		t.Errorf("accuracy: want mean %v and min %v, got %+v", mean, least, s.Accuracy)
	}
	if s.TrainLoss == nil || *s.TrainLoss <= 0 || s.Loss == nil || *s.Loss <= 0 || len(s.Digest) != 64 {
		t.Errorf("losses and digest: %+v", s)
	}
	if s.Consensus == nil || *s.Consensus <= 0 || *s.Consensus >= s.Theta.Value*3 {
		t.Errorf("consensus: got %v with theta %v", s.Consensus, s.Theta.Value)
	}
}

func TestConsensusIsTheLargestDistanceToTheMean(t *testing.T) {
	models := score.InMemory{{X: []float32{0, 1}}, {X: []float32{0, 3}}, {}, {X: []float32{3, 2}}}
	var mean []float32
	keep := func(part []float32) bool {
		mean = append(mean, part...)
		return true
	}
	got, err := score.Mean(models, keep)
	if err != nil || got != 2 || !slices.Equal(mean, []float32{1, 2}) {
		t.Errorf("consensus %v of the mean %v, error %v, want 2 of [1 2]", got, mean, err)
	}
	models[1].X[1] = float32(math.NaN())
	if got, _ := score.Mean(models, keep); !math.IsNaN(got) {
		t.Errorf("want NaN to show, got %v", got)
	}
}

// The mean of models in files is, bit for bit, that of the models in memory, and their distance to it is the same.
func TestModelsInFilesHaveTheSameMean(t *testing.T) {
	for _, set := range [][]string{{"model={name: mlp, hidden: [300, 200]}"}, {"model={name: resnet, depth: 8}"},
		{"model={name: resnet, depth: 8, norm: batch}"}} {
		r := assemble(t, append([]string{"topology.size=3", "data={name: glyphs}", "output.evaluate_samples=200"}, set...)...)
		random := rand.New(rand.NewPCG(1, 0))
		models, paths := make(score.InMemory, 3), []string{}
		for i := range models {
			w, err := New(r, topology.Rank(i), nil)
			if err != nil {
				t.Fatal(err)
			}
			models[i] = w.Model()
			for c := range models[i].X {
				models[i].X[c] += float32(random.NormFloat64())
			}
			for c := range models[i].Statistics {
				models[i].Statistics[c] += float32(random.Float64()) // variances stay positive
			}
			paths = append(paths, filepath.Join(t.TempDir(), "model"))
			if err := train.Write(paths[i], r.Files().Saved(models[i].X, models[i].Statistics)); err != nil {
				t.Fatal(err)
			}
		}
		files, err := r.Files().Replicas(paths)
		if err != nil {
			t.Fatal(err)
		}
		var distances [2]float64
		var means [2][]float32
		for i, all := range []score.Replicas{models, files} {
			if means[i], err = all.Collect(func(yield func([]float32) bool) {
				if distances[i], err = score.Mean(all, yield); err != nil {
					t.Error(err)
				}
			}); err != nil {
				t.Fatal(err)
			}
		}
		if distances[0] != distances[1] || distances[0] == 0 || !slices.Equal(means[0], means[1]) ||
			!slices.Equal(means[0], models.Mean()) {
			t.Errorf("%v: distances %v, or other means", set, distances)
		}
		theMeansHaveStatistics(t, r, models, files)
	}
}

// theMeansHaveStatistics checks the running statistics of the mean of models, and that summaries score it with them.
func theMeansHaveStatistics(t *testing.T, r *experiment.Run, models score.InMemory, files score.Replicas) {
	t.Helper()
	want := make([]float32, len(models[0].Statistics))
	for c := range want {
		want[c] = float32((float64(models[0].Statistics[c]) + float64(models[1].Statistics[c]) +
			float64(models[2].Statistics[c])) / 3)
	}
	scored, _, err := r.Scorer().Score(models.Mean(), want, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, all := range []score.Replicas{models, files} {
		if got, err := score.MeanStatistics(all); err != nil || !slices.Equal(got, want) {
			t.Errorf("%T: other statistics of the mean, error %v", all, err)
		}
		s, err := summary.Summarize(r, summary.Results{Models: all})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Accuracy.AverageModel; got == nil || *got != scored.Accuracy {
			t.Errorf("%T: accuracy of the mean is %v, want %v", all, got, scored.Accuracy)
		}
	}
	if len(want) == 0 {
		return
	}
	if _, err := r.Scorer().Evaluate(models.Mean()); err == nil || !strings.Contains(err.Error(), "running statistics") {
		t.Errorf("a model without its statistics: error %v", err)
	}
}

// A model file of other shapes is refused by name, and so is one without its end.
func TestUnusableModelsInFilesAreRefused(t *testing.T) {
	r := assemble(t, "topology.size=2", "data={name: glyphs}", "model={name: mlp, hidden: [30]}")
	path := filepath.Join(t.TempDir(), "model")
	if err := train.Write(path, train.Saved{X: make([]float32, 8)}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Files().Replicas([]string{path}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v of another model, want one with its path", err)
	}
	if err := train.Write(path, r.Files().Saved(make([]float32, r.Dim()), nil)); err != nil {
		t.Fatal(err)
	}
	all, err := r.Files().Replicas([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 2000); err != nil {
		t.Fatal(err)
	}
	x := make([]float32, r.Dim())
	if err := all.Read(x, 0, 0); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v of a file without its end, want one with its path", err)
	}
}

func TestWhatIsNotKnownIsNull(t *testing.T) {
	r := assemble(t, append([]string{"topology.size=2", "algorithm.name=allreduce"}, undrawn...)...)
	all := workers(t, r)
	res := drive(t, r, all, 1)
	evaluate(t, all, res)
	res.Models.(score.InMemory)[1].X = nil
	s := summarize(t, r, res)
	if s.Algorithm != "allreduce" || s.Bits != 32 || s.Theta.Value != 0 || s.Digest == "" {
		t.Errorf("got %+v", s)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if want := `"accuracy":{"mean":null,"min":null,"average_model":null},"consensus_linf":null`; !strings.Contains(string(text), want) {
		t.Errorf("want %s in %s", want, text)
	}
	res.Finals = res.Finals[:1]
	if s := summarize(t, r, res); s.Digest != "" {
		t.Errorf("a digest of one result out of two: %s", s.Digest)
	}
	if s := summarize(t, r, summary.Results{Mode: "lab", Wall: time.Second}); s.Rounds != 0 || s.Loss != nil {
		t.Errorf("without results: %+v", s)
	}
}

func TestADigestThatIsNoneIsRefused(t *testing.T) {
	r := assemble(t, append([]string{"topology.size=2"}, quick...)...)
	good := strings.Repeat("0", 64)
	for name, finals := range map[string][]record.Final{
		"short":       {{Rank: 0, Digest: good}, {Rank: 1, Digest: "00"}},
		"no hex":      {{Rank: 0, Digest: good}, {Rank: 1, Digest: strings.Repeat("x", 64)}},
		"rank twice":  {{Rank: 0, Digest: good}, {Rank: 0, Digest: good}},
		"rank beyond": {{Rank: 0, Digest: good}, {Rank: 2, Digest: good}},
	} {
		if s, err := summary.Summarize(r, summary.Results{Finals: finals}); err == nil {
			t.Errorf("%s: accepted as %s", name, s.Digest)
		}
	}
}

// A summary says first which workers trained by themselves.
func TestASummarySaysWhoWasAlone(t *testing.T) {
	r := assemble(t, append([]string{"topology.size=2", "faults.on_lost_neighbor=reweight"}, quick...)...)
	edge := func(exchange int, weight float64) record.Event {
		return record.Event{Edge: &record.Edge{Rank: 1, Peer: 0, Exchange: exchange, Weight: weight}}
	}
	res := summary.Results{Mode: "run", Finals: []record.Final{{Rank: 1, Rounds: 90, Digest: strings.Repeat("0", 64)}},
		Edges: []record.Event{edge(0, 0.5), edge(40, 0)}}
	s := summarize(t, r, res)
	if want := []record.Alone{{Rank: 1, Since: 40}}; !slices.Equal(s.Alone, want) {
		t.Errorf("alone %+v, want %+v", s.Alone, want)
	}
	var text bytes.Buffer
	if err := report.WriteSummary(&text, &s); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(text.String(), "alone          worker 1 trained without any neighbour since round 40") {
		t.Errorf("the table does not begin with it:\n%s", text.String())
	}
}

// After a loss under the policy reweight the summary names the lost workers and their rounds, and has the digest of the
// remaining ones.
func TestASummarySaysWhoIsGone(t *testing.T) {
	r := assemble(t, append([]string{"topology.size=4", "faults.on_lost_neighbor=reweight"}, quick...)...)
	var finals []record.Final
	for _, rank := range []int{0, 1, 3} {
		digest := fmt.Sprintf("%064x", rank+1)
		finals = append(finals, record.Final{Rank: rank, Rounds: 90, Digest: digest, Loss: 1, Accuracy: 0.5})
	}
	res := summary.Results{Mode: "run", Finals: finals, Last: []record.Step{{Rank: 2, Round: 40}, {Rank: 3, Round: 80}}}
	s := summarize(t, r, res)
	if want := []record.Gone{{Rank: 2, Since: 40}}; !slices.Equal(s.Gone, want) {
		t.Errorf("gone %+v, want %+v", s.Gone, want)
	}
	res.Edges = []record.Event{{Edge: &record.Edge{Rank: 1, Peer: 2, Exchange: 56}}}
	if s := summarize(t, r, res); !slices.Equal(s.Gone, []record.Gone{{Rank: 2, Since: 56}}) || s.Losses != nil {
		t.Errorf("with this peer's edges: gone %+v, losses %+v", s.Gone, s.Losses)
	}
	if s.Rounds != 90 || s.Steps != 3*90+40 || !slices.Equal(s.PerWorker, []int{90, 90, 40, 90}) {
		t.Errorf("%d rounds, %d steps, per worker %v", s.Rounds, s.Steps, s.PerWorker)
	}
	var left [][sha256.Size]byte
	for _, f := range finals {
		raw, _ := hex.DecodeString(f.Digest)
		left = append(left, [sha256.Size]byte(raw))
	}
	want := record.RunDigest(left)
	if s.Digest != hex.EncodeToString(want[:]) {
		t.Errorf("digest %s, want that of those that are left", s.Digest)
	}
	var text bytes.Buffer
	if err := report.WriteSummary(&text, &s); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"gone           peer 2, since round 40", ", of the 3 peers that are left"} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("%q is not in the table:\n%s", line, text.String())
		}
	}
	all := append(finals, record.Final{Rank: 2, Rounds: 90, Digest: strings.Repeat("0", 64)})
	if s := summarize(t, r, summary.Results{Mode: "run", Finals: all}); s.Gone != nil || s.Steps != 4*90 {
		t.Errorf("with all results: gone %+v, %d steps", s.Gone, s.Steps)
	}
}

// Under the policy wait a result is missing where a peer ended during the test of its model.
func TestASummarySaysWhoseResultIsMissing(t *testing.T) {
	r := assemble(t, append([]string{"topology.size=3"}, quick...)...)
	finals := []record.Final{
		{Rank: 0, Rounds: 90, Digest: strings.Repeat("0", 64)}, {Rank: 2, Rounds: 90, Digest: strings.Repeat("1", 64)},
	}
	s := summarize(t, r, summary.Results{Mode: "run", Finals: finals, Last: []record.Step{{Rank: 1, Round: 90}}})
	if !slices.Equal(s.Missing, []int{1}) || s.Gone != nil || s.Digest != "" || s.Steps != 3*90 {
		t.Errorf("missing %v, gone %v, digest %q, %d steps", s.Missing, s.Gone, s.Digest, s.Steps)
	}
	var text bytes.Buffer
	if err := report.WriteSummary(&text, &s); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"no result      peer 1 ended before it told it",
		"none without the results of all peers"} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("%q is not in the table:\n%s", line, text.String())
		}
	}
}
