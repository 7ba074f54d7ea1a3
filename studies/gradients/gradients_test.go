package gradients

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

func TestTrainShowsEveryRoundOfAWorker(t *testing.T) {
	run, err := Assemble("ring8", []string{"model.name=quadratic", "topology.size=3", "train.rounds=4",
		"algorithm.codec=full"})
	if err != nil {
		t.Fatal(err)
	}
	var rounds []int
	var first, last []float32
	look := func(k int, x, g []float32) error {
		if len(x) != run.Dim() || len(g) != run.Dim() {
			t.Errorf("round %d: a model of %d and a gradient of %d numbers", k, len(x), len(g))
		}
		if k == 0 {
			first = append(first, g...)
		}
		rounds, last = append(rounds, k), append(last[:0], g...)
		return nil
	}
	workers, result, err := Train(t.Context(), run, map[topology.Rank]Look{1: look})
	if err != nil {
		t.Fatal(err)
	}
	if len(workers) != 3 || result.Rounds[1] != 4 || len(rounds) != 4 || rounds[3] != 3 || first[0] == last[0] {
		t.Errorf("%d workers, %v rounds, seen %v", len(workers), result.Rounds, rounds)
	}
	enough := errors.New("enough")
	looks := map[topology.Rank]Look{0: func(int, []float32, []float32) error { return enough }}
	if _, _, err := Train(t.Context(), run, looks); !errors.Is(err, enough) {
		t.Errorf("%v: want the error of who looks", err)
	}
}

func TestSettingsAreLocated(t *testing.T) {
	if _, err := Assemble("ring8", AllGather("qsgd bits=1")); err == nil || !strings.Contains(err.Error(), "2 to 8 bits") {
		t.Errorf("%v", err)
	}
	run, err := Assemble("ring8", AllGather("orq levels=5 bucket=512"))
	if err != nil {
		t.Fatal(err)
	}
	if c := run.Config().Algorithm.Compressor; c.Name != "orq" || c.Levels != 5 || c.Bucket != 512 {
		t.Errorf("%+v", c)
	}
}

func TestLostIsRelative(t *testing.T) {
	top, err := quant.NewTopK(1)
	if err != nil {
		t.Fatal(err)
	}
	l := &Lost{C: top}
	for _, test := range []struct {
		g    []float32
		want float64
	}{{[]float32{3, -4}, 9. / 25}, {[]float32{0, 0}, 0}} {
		if got, payload, err := l.Of(0, test.g); err != nil || math.Abs(got-test.want) > 1e-12 || len(payload) != 8 {
			t.Errorf("%v: lost %v in %d bytes, %v; want %v", test.g, got, len(payload), err, test.want)
		}
	}
	if _, _, err := l.Of(0, []float32{float32(math.NaN()), 1}); err == nil {
		t.Error("compressed what is no number")
	}
}
