package build

import (
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/machine"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/work"
	"gossiptrainer/model"
)

// quadratics returns a run of a few workers on quadratics that evaluates every 10 rounds.
func quadratics(t *testing.T, set ...string) *experiment.Run {
	t.Helper()
	base := []string{"topology.size=3", "model={name: quadratic, dim: 4}", "output.evaluate=10"}
	loaded, err := configs.Load(configs.Source{Set: append(base, set...)})
	if err != nil {
		t.Fatal(err)
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestRoundsWithAnEvaluation(t *testing.T) {
	run, none := quadratics(t), quadratics(t, "output.evaluate=0")
	var rounds []int
	for k := range 31 {
		if run.Scorer().Due(k) {
			rounds = append(rounds, k)
		}
		if none.Scorer().Due(k) {
			t.Errorf("round %d is evaluated although output.evaluate is 0", k)
		}
	}
	if want := []int{10, 20, 30}; !slices.Equal(rounds, want) {
		t.Errorf("rounds %v are evaluated, want %v", rounds, want)
	}
}

func TestAReplicaIsScoredBeforeItsGradient(t *testing.T) {
	run := quadratics(t)
	var told []string
	broken := errors.New("no test set")
	w := &Worker{Task: &work.Task{Rank: 2}, later: later{scorer: run.Scorer()}}
	w.later.score = func(x []float32, rows score.Rows, _ func(done, all int)) (model.Score, error) {
		if rows != score.Sample {
			t.Error("a replica is scored on all rows while the run goes on")
		}
		told = append(told, "score")
		if x[0] < 0 {
			return model.Score{}, broken
		}
		return model.Score{Loss: float64(x[0])}, nil
	}
	next := func([]float32, int, []float32) (float32, error) {
		told = append(told, "gradient")
		return 7, nil
	}
	var scores []record.Score
	gradient := Scored(w, next, func(e record.Event) { scores = append(scores, *e.Score) })
	for _, k := range []int{9, 10} {
		if loss, err := gradient(nil, k, []float32{5}); loss != 7 || err != nil {
			t.Errorf("round %d: loss %v, error %v", k, loss, err)
		}
	}
	if want := []string{"gradient", "score", "gradient"}; !slices.Equal(told, want) {
		t.Errorf("calls %v, want %v", told, want)
	}
	if want := []record.Score{{Rank: 2, Round: 10, Loss: 5}}; !slices.Equal(scores, want) {
		t.Errorf("scores %+v, want %+v", scores, want)
	}
	if _, err := gradient(nil, 20, []float32{-1}); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the evaluation", err)
	}
}

func TestAsynchronousWorkersHaveNoMean(t *testing.T) {
	run := quadratics(t, "algorithm={name: adpsgd, codec: full}")
	a := run.Scorer().NewAverager(func(e record.Event) { t.Errorf("score %+v", e.Score) })
	gradient := a.Watched(0, func([]float32, int, []float32) (float32, error) { return 0, nil })
	for range run.N() {
		if _, err := gradient(nil, 10, make([]float32, run.Dim())); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Conclude(score.InMemory{{X: make([]float32, run.Dim())}}, 25); err != nil {
		t.Fatal(err)
	}
}

// A limit of samples holds for replicas and their mean. The same ones are taken every time, and the result names how
// many.
func TestEvaluationsCanBeLimited(t *testing.T) {
	r := assemble(t, append(slices.Clone(quick), "output.evaluate_samples=50")...)
	all := workers(t, r)
	x := all[0].Machine.Params()
	own, err := all[3].Evaluate(x, nil)
	if err != nil {
		t.Fatal(err)
	}
	mean, err := r.Scorer().Evaluate(x)
	if err != nil {
		t.Fatal(err)
	}
	if own.Samples != 50 || own != mean {
		t.Errorf("worker 3 scores %+v, the mean %+v, want the same of 50 samples", own, mean)
	}
	rows, err := r.Data().Rows(3)
	if err != nil || rows.Test != 50 || rows.Train < 1000 {
		t.Errorf("rows %+v, error %v", rows, err)
	}
	whole, err := assemble(t, quick...).Scorer().Evaluate(x)
	if err != nil || whole.Samples <= 50 {
		t.Errorf("without a limit: %+v, error %v", whole, err)
	}
}

// While a run goes on a replica is scored on a sample, and its final model on all rows. The mean takes all of them.
func TestReplicasAreScoredOnASample(t *testing.T) {
	r := assemble(t, append(slices.Clone(quick), "output={evaluate: 5, replica_samples: 40}")...)
	w := workers(t, r)[0]
	x := w.Machine.Params()
	during, err := w.later.score(x, score.Sample, nil)
	if err != nil {
		t.Fatal(err)
	}
	mean, err := r.Scorer().Evaluate(x)
	if err != nil {
		t.Fatal(err)
	}
	end, err := w.Evaluate(x, nil)
	if err != nil || during.Samples != 40 || end != mean || end.Samples <= 40 {
		t.Errorf("during the run %+v, at its end %+v, the mean %+v, error %v", during, end, mean, err)
	}
	fewer := assemble(t, append(slices.Clone(quick), "output={evaluate_samples: 30, replica_samples: 40}")...)
	if got, err := workers(t, fewer)[0].later.score(x, score.Sample, nil); err != nil || got.Samples != 30 {
		t.Errorf("%d samples, error %v, want the 30 of all evaluations", got.Samples, err)
	}
	all := assemble(t, append(slices.Clone(quick), "output={replica_samples: 0}")...)
	if got, err := workers(t, all)[0].later.score(x, score.Sample, nil); err != nil || got != end {
		t.Errorf("scores %+v, error %v, want %+v of all rows", got, err, end)
	}
}

// The score of a model is the same, bit for bit, on every number of cores, with running statistics too.
func TestCoresDoNotChangeAScore(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for name, set := range map[string][]string{
		"mlp":                {"model={name: mlp, hidden: [20]}", "train.batch=7"},
		"running statistics": {"model={name: resnet, depth: 8, norm: batch}", "train.batch=9", "output.evaluate_samples=60"},
	} {
		t.Run(name, func(t *testing.T) {
			r := assemble(t, append(slices.Clone(set), "train.rounds=12")...)
			w := workers(t, r)[1]
			x := w.Machine.Params()
			if _, err := w.Gradient(make([]float32, len(x)), 0, x); err != nil {
				t.Fatal(err)
			}
			t.Setenv("GOMAXPROCS", "1")
			want, err := w.Evaluate(x, nil)
			if err != nil {
				t.Fatal(err)
			}
			whole, classes, err := r.Scorer().Score(x, w.Model().Statistics, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv("GOMAXPROCS", "")
			if lanes := r.Scorer().Lanes(machine.FreeCores()); lanes != 4 {
				t.Fatalf("%d lanes, want 4", lanes)
			}
			last := 0
			got, err := w.Evaluate(x, func(done, all int) {
				if done <= last && done < all || all != want.Samples {
					t.Errorf("told %d of %d after %d", done, all, last)
				}
				last = done
			})
			if err != nil || got != want || last != want.Samples {
				t.Errorf("four cores: %+v of %d samples, error %v; one core: %+v", got, last, err, want)
			}
			got, counts, err := r.Scorer().Score(x, w.Model().Statistics, nil)
			right := 0
			for i, row := range counts {
				right += row[i]
			}
			if err != nil || got != whole || !reflect.DeepEqual(counts, classes) ||
				float64(right) != math.Round(whole.Accuracy*float64(whole.Samples)) {
				t.Errorf("by class: %+v, error %v, counts\n%v, want %+v and\n%v", got, err, counts, whole, classes)
			}
		})
	}
}

func TestCoresWithoutMemoryDoNotHelp(t *testing.T) {
	r := assemble(t, "model={name: resnet, depth: 20, norm: group}", "train.batch=500")
	if lanes := r.Scorer().Lanes(8); lanes != 1 {
		t.Errorf("%d lanes with %d MB for each, want 1", lanes, r.Scorer().Memory>>20)
	}
	small := assemble(t, quick...)
	if lanes := small.Scorer().Lanes(8); lanes != 8 {
		t.Errorf("%d lanes with %d kB for each, want 8", lanes, small.Scorer().Memory>>10)
	}
}
