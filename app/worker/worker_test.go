package worker

import (
	"context"
	"log/slog"
	"math"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/configs"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/node"
)

func smallRun(t *testing.T, set ...string) *experiment.Run {
	t.Helper()
	base := []string{"topology.size=3", "model={name: quadratic, dim: 4}", "train={rounds: 10}"}
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

func TestASlowWorkerTakesItsFactor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gradient := func([]float32, int, []float32) (float32, error) {
			time.Sleep(time.Second)
			return 3, nil
		}
		took := func(ctx context.Context, factor float64) time.Duration {
			began := time.Now()
			if loss, err := slowed(ctx, gradient, factor)(nil, 0, nil); loss != 3 || err != nil {
				t.Errorf("loss %v, error %v", loss, err)
			}
			return time.Since(began)
		}
		for factor, want := range map[float64]time.Duration{1: time.Second, 2.5: 2500 * time.Millisecond} {
			if got := took(t.Context(), factor); got != want {
				t.Errorf("%v times as slow: %v, want %v", factor, got, want)
			}
		}
		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		if got := took(stopped, 100); got != time.Second {
			t.Errorf("a run that is stopped waits for %v", got)
		}
	})
}

func TestPoliciesOfALostNeighbour(t *testing.T) {
	policies := map[string]node.LostPolicy{"wait": node.Wait, "stop": node.Fail, "reweight": node.Reweight}
	for setting, want := range policies {
		run := smallRun(t, "faults.on_lost_neighbor="+setting)
		if got := LostPolicy(run); got != want {
			t.Errorf("%s: policy %v, want %v", setting, got, want)
		}
	}
}

func TestAResultIsCompletedAndSaved(t *testing.T) {
	run := smallRun(t)
	w, err := build.New(run, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := runfolder.Make(withDir(run.Config(), t.TempDir()), time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	saver := &runfolder.Saver{Log: slog.New(slog.DiscardHandler)}
	results := Results{Dir: folder.Dir, Saver: saver}
	final := w.Final(record.Final{Rounds: 10})
	if err := results.Complete(&final, run, w, nil); err != nil {
		t.Fatal(err)
	}
	want, err := run.Scorer().Evaluate(w.Machine.Params())
	if err != nil || final.Loss != want.Loss || final.Bits != 8 || final.Rank != 1 {
		t.Errorf("result %+v, error %v; want a loss of %v and 8 bits", final, err, want.Loss)
	}
	models, err := Models(folder, run, []record.Final{final})
	if err != nil {
		t.Fatal(err)
	}
	n, length := models.Size()
	x := make([]float32, length)
	if err := models.Read(x, 0, 0); err != nil || n != 1 || !slices.Equal(x, w.Machine.Params()) {
		t.Errorf("%d models, the first %v, error %v; want that of worker 1 alone", n, x, err)
	}
	w.Machine.Params()[0] = float32(math.NaN())
	missing := Results{Dir: t.TempDir(), Saver: saver}
	if err := missing.Complete(&final, run, w, nil); err == nil {
		t.Error("a model that has diverged is a result")
	}
	if entries, err := os.ReadDir(missing.Dir); err != nil || len(entries) > 0 {
		t.Errorf("a model that has diverged is saved: %v, error %v", entries, err)
	}
}

func withDir(cfg configs.Config, dir string) configs.Config {
	cfg.Output.Dir = dir
	return cfg
}
