package bench

import (
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/build"
)

func TestFiguresAreRatiosOfMediansAndOfShortestTimes(t *testing.T) {
	work := sample{60, 20, 30, 90, 40}
	reference := sample{10, 5, 8, 20, 9}
	if got, want := work.over(reference), (Figure{Median: 40.0 / 9, Best: 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := work.over(sample{0}); got.Best != 20 {
		t.Errorf("over a reference that takes no time: %+v", got)
	}
	if !slices.Equal(work, sample{60, 20, 30, 90, 40}) {
		t.Errorf("the times were put in order: %v", work)
	}
}

// whole returns a watch which fails the test unless it hears of more each time, and in the end of all.
func whole(t *testing.T) func(done, all int64) {
	last, of := int64(0), int64(1)
	t.Cleanup(func() {
		if last != of {
			t.Errorf("%d of %d was done in the end", last, of)
		}
	})
	return func(done, all int64) {
		if done <= last || done > all {
			t.Errorf("%d of %d after %d", done, all, last)
		}
		last, of = done, all
	}
}

func TestWorkIsMeasuredInTurns(t *testing.T) {
	var order strings.Builder
	does := func(name string) func() error {
		return func() error { order.WriteString(name); return nil }
	}
	samples, err := inTurns(3, []func() error{does("a"), does("b")}, func() { order.WriteString("|") })
	if err != nil || order.String() != "ab|ab|ab|" || len(samples) != 2 || len(samples[0]) != 3 || len(samples[1]) != 3 {
		t.Errorf("%q, samples %v, error %v", order.String(), samples, err)
	}
	broken := errors.New("broken")
	if _, err := inTurns(3, []func() error{does("a"), func() error { return broken }}, func() {}); !errors.Is(err,
		broken) {
		t.Errorf("error %v", err)
	}
}

func TestMixingInTurnsLeavesTheModelAsItWas(t *testing.T) {
	b, err := newCodecBench(1000, 8)
	if err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(b.models[0])
	mix := b.mix(b.plain, b.sent, 3, 1.0/1024)
	for turn := range 2 {
		if err := mix(); err != nil {
			t.Fatal(err)
		}
		if same := slices.Equal(before, b.models[0]); same && turn == 0 {
			t.Error("nothing was mixed")
		}
	}
	for i, x := range b.models[0] {
		if d := x - before[i]; d > 1e-5 || d < -1e-5 {
			t.Fatalf("coordinate %d: %v became %v", i, before[i], x)
		}
	}
}

func TestEveryWidthAndSizeHasARow(t *testing.T) {
	r, err := Codec([]int{100, 300}, []int{8, 1}, 3, whole(t))
	if err != nil {
		t.Fatal(err)
	}
	var got [][2]int
	for _, row := range r.Rows {
		got = append(got, [2]int{row.Coordinates, row.Bits})
		if row.Encode.Best <= 0 || row.Mix3.Best <= 0 || row.Checked.Best <= 0 || row.Copy <= 0 {
			t.Errorf("%+v: something takes no time", row)
		}
	}
	if want := [][2]int{{100, 8}, {100, 1}, {300, 8}, {300, 1}}; !slices.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
	wantRows(t, r.Write, 2+1+4)
}

func TestEveryCompressorIsMeasured(t *testing.T) {
	r, err := Compressors(512, 128, 2, whole(t))
	if err != nil || len(r.Rows) != len(benchedCompressors()) {
		t.Fatalf("%d rows, error %v", len(r.Rows), err)
	}
	for _, row := range r.Rows {
		if row.Compressing <= 0 || row.Adding <= 0 || row.Encode.Best <= 0 {
			t.Errorf("%+v: something takes no time", row)
		}
	}
	wantRows(t, r.Write, 2+1+len(r.Rows))
}

func TestSimulatedRoundsAreMeasured(t *testing.T) {
	task, err := newSimTask("4x50", 8, 3)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Sim(t.Context(), []SimTask{task}, 2, whole(t))
	if err != nil {
		t.Fatal(err)
	}
	row := r.Rows[0]
	if row.Workers != 4 || row.Coordinates != 50 || row.Rate <= 0 || row.Events < row.Rate || row.OverGrads.Best <= 0 {
		t.Errorf("%+v", row)
	}
	wantRows(t, r.Write, 2+1+1)
}

// A worker of 1000 coordinates has a model, momentum and an optimum, 4 kB each. Beside them it has messages and repairs
// of two rounds, and its share of machines and events. A stack has no messages: it has the model of another round and
// the indices, 4 kB each. How many buffers are in use depends on the scheduler: the least of three measurements counts.
func TestMemoryOfSimulatedWorkers(t *testing.T) {
	for _, test := range []struct {
		task SimTask
		most int64 // bytes of a worker
	}{{SimTask{2000, 100, 8, 2}, 5700}, {SimTask{2000, 100, 32, 2}, 4500}, {SimTask{500, 1000, 8, 2}, 24_500}} {
		bytes := int64(math.MaxInt64)
		for range 3 {
			one, err := test.task.memory(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			bytes = min(bytes, one)
		}
		if each := bytes / int64(test.task.Workers); each > test.most {
			t.Errorf("%+v: %d bytes a worker, want at most %d", test.task, each, test.most)
		} else {
			t.Logf("%+v: %d bytes a worker", test.task, each)
		}
	}
}

func TestSizesOfSimulationsMayHaveBits(t *testing.T) {
	got, err := NewSimTasks([]string{"10x20", "300000x1000x8"}, []int{32, 4}, 50)
	want := []SimTask{{10, 20, 32, 50}, {10, 20, 4, 50}, {300000, 1000, 8, 2}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, error %v, want %v", got, err, want)
	}
	for _, size := range []string{"4x5xten", "4x5x0", "4x5x6x7", "x5x6"} {
		if _, err := NewSimTasks([]string{size}, []int{8}, 3); err == nil {
			t.Errorf("%q: no error", size)
		}
	}
}

func TestSizesOfSimulationsAreChecked(t *testing.T) {
	for _, size := range []string{"", "4", "2x10", "4x0", "x", "4x5x6", "four x five"} {
		_, err := newSimTask(size, 8, 3)
		if _, ok := errors.AsType[*advice.UsageError](err); !ok {
			t.Errorf("%q: error %v", size, err)
		}
	}
}

func TestGradientsAreMeasured(t *testing.T) {
	loaded, err := configs.Load(configs.Source{Set: []string{"model={name: quadratic, dim: 50}", "name=small"}})
	if err != nil {
		t.Fatal(err)
	}
	first := func() (*build.Worker, error) {
		all, err := build.From(loaded.Config)
		if err != nil {
			return nil, err
		}
		return all[0], nil
	}
	r, err := Step([]Subject{{Run: "small", Batch: 32, Build: first}}, 3, whole(t))
	if err != nil {
		t.Fatal(err)
	}
	row := r.Rows[0]
	if row.Run != "small" || row.Parameters != 50 || row.Rate <= 0 || (row.Peak > 0) != (row.PerSample > 0) {
		t.Errorf("%+v", row)
	}
	wantRows(t, r.Write, 2+1+1)
}

// wantRows checks the number of lines of a report.
func wantRows(t *testing.T, write func(io.Writer) error, lines int) {
	t.Helper()
	var text strings.Builder
	if err := write(&text); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(text.String(), "\n"); got != lines {
		t.Errorf("%d lines, want %d:\n%s", got, lines, text.String())
	}
}

func TestPlainSocketsCarryARound(t *testing.T) {
	took, err := plainRound(3, 1000, 2)
	if err != nil || took <= 0 {
		t.Errorf("%v, error %v", took, err)
	}
}

func TestATaskSurvivesTheArgumentsOfItsProcess(t *testing.T) {
	task, err := newLinkTask(1000, 8)
	if err != nil || task.Rounds != 600 {
		t.Fatalf("%+v, error %v", task, err)
	}
	task.Verify, task.Open = true, true
	rank, got, err := ParseLinkTask(task.arguments(3))
	if err != nil || rank != 3 || got != task {
		t.Errorf("rank %d, %+v, error %v, want %+v", rank, got, err, task)
	}
	if _, _, err := ParseLinkTask([]string{"0", "x", "8", "6", "true", "false", "0s"}); err == nil {
		t.Error("x is a number")
	}
	if huge, err := newLinkTask(1<<30, 32); err != nil || huge.Rounds != 6 {
		t.Errorf("%+v, error %v: want 6 rounds of a large model", huge, err)
	}
	for _, wrong := range [][2]int{{0, 8}, {10, 0}, {10, 17}, {10, 33}} {
		if _, err := newLinkTask(wrong[0], wrong[1]); err == nil {
			t.Errorf("size %d with %d bits is a task", wrong[0], wrong[1])
		}
	}
}

func TestTheWorkerOfALinkMeasuresItsRounds(t *testing.T) {
	for _, bits := range []int{8, 32} {
		task := LinkTask{Dim: 100, Bits: bits, Rounds: 6}
		w, found, err := task.worker(1)
		if err != nil || w.Rounds != task.Rounds+warmRounds || w.Rank != 1 {
			t.Fatalf("%d bits: %+v, error %v", bits, w, err)
		}
		if most := task.bytes(); w.MaxPayload > most+100 || w.MaxPayload < 100*bits/8 {
			t.Errorf("%d bits: payloads of %d bytes at most, messages of %d", bits, w.MaxPayload, most)
		}
		for k := range w.Rounds {
			if _, err := w.Gradient(nil, k, nil); err != nil {
				t.Fatal(err)
			}
		}
		if found.Round <= 0 {
			t.Errorf("%d bits: a round takes %v", bits, found.Round)
		}
	}
}
