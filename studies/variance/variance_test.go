package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gossiptrainer/moniqua"
)

// tiny is a plan that needs no data set.
func tiny() plan {
	return plan{rounds: 25, looks: 6, more: []string{"data.name=glyphs", "topology.size=2", "train.batch=16",
		"train.step_size=0.02"}}
}

// trained makes the samples of tiny once for all tests.
var trained = sync.OnceValues(func() ([]sample, error) { return tiny().train(context.Background()) })

func samplesOf(t *testing.T) []sample {
	t.Helper()
	samples, err := trained()
	if err != nil {
		t.Fatal(err)
	}
	return samples
}

// As the paper claims, fitted levels have less variance than those of QSGD with the largest magnitude, NUQSGD and
// TernGrad, here at 3 bits.
func TestFittedLevelsHaveLeastVariance(t *testing.T) {
	p := tiny()
	curves, err := followAll(p, samplesOf(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range curves {
		if !slices.Equal(c.rounds, p.looked()) {
			t.Errorf("%s: looked at the rounds %v, want %v", c.name, c.rounds, p.looked())
		}
	}
	alq := named(curves, "ALQ")
	for _, name := range []string{"QSGD-inf", "NUQSGD-inf", "NUQSGD-2", "TernGrad", "QSGD-2"} {
		if other := named(curves, name); other.above(alq) != p.looks {
			t.Errorf("variances of %s %v, of ALQ %v", name, other.variance, alq.variance)
		}
	}
	if nine, five := named(curves, "ORQ-9").mean(), named(curves, "ORQ-5").mean(); nine >= five {
		t.Errorf("ORQ: variance %v with 9 levels, %v with 5", nine, five)
	}
	text := p.figureDocument(curves, "x.png")
	for _, want := range []string{"](x.png)", "`alq bits=3`", "-rounds 25 -looks 6 -o", "rounds 0, 3, 6, 12, 18 and"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestCostsOfEveryCompressor(t *testing.T) {
	p := tiny()
	costs, err := measureAll(t.Context(), p, samplesOf(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]struct{ packed, lost float64 }{ // at most
		"full precision": {32, 0}, "QSGD-inf, 3 bits": {3.01, 10}, "ALQ, 3 bits": {3.01, 10}, "ORQ-9": {3.3, 1},
		"top-k, 1 %": {0.65, 1}, "random-k, 1 %": {0.33, 1000}, "sign": {1.01, 1}, "Moniqua, 8 bit": {8.001, 1e-3},
		"Moniqua, 1 bit": {1.001, 10},
	}
	seen := 0
	for _, c := range costs {
		if c.encode <= 0 || c.decode <= 0 || c.copying <= 0 || c.ideal > c.packed+0.01 || c.huff0 > c.packed ||
			c.auto > c.packed || c.auto <= 0 || !(c.lost >= 0) {
			t.Errorf("%+v", c)
		}
		if most, ok := want[c.name]; ok {
			seen++
			if c.packed > most.packed || c.packed < most.packed-0.1 || c.lost > most.lost {
				t.Errorf("%s: %v bits and an error of %v, want %v", c.name, c.packed, c.lost, most)
			}
		}
	}
	if seen != len(want) {
		t.Errorf("%d of %d rows are there", seen, len(want))
	}
	text := p.tableDocument(costs, 0.25, time.Second)
	for _, want := range []string{"| full precision         |             32.000 |", "-looks 6 -spend 1s -table",
		"theta = 0.25,", "    ORQ-9                    orq levels=9\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// Worker 0 recovers the model of worker 1 from its message to within half a step.
func TestModularMessagesAreRecovered(t *testing.T) {
	s := sample{round: 3, gradient: make([]float32, 3), own: []float32{1, -2, 0.5}, other: []float32{1.1, -2.2, 0.4}}
	for _, bits := range []int{8, 4, 1} {
		m, err := newModular(bits, []sample{s})
		if err != nil {
			t.Fatal(err)
		}
		step := moniqua.Grid{Theta: m.Theta(3), Levels: 1 << bits}.Step()
		lost, err := m.lost(s)
		if most := 3 * step * step / 4 / (1.1*1.1 + 2.2*2.2 + 0.4*0.4); err != nil || !(lost > 0) || lost > most {
			t.Errorf("%d bits: lost %v, at most %v; %v", bits, lost, most, err)
		}
	}
	s.other = s.own
	if _, err := newModular(8, []sample{s}); err == nil || !strings.Contains(err.Error(), "do not differ") {
		t.Errorf("models that are equal: %v", err)
	}
}

func TestFilesAreWrittenTogether(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	p := tiny()
	p.rounds, p.looks = 6, 6
	f := files{filepath.Join(dir, "a.md"), filepath.Join(dir, "b.md")}
	if err := f.write(t.Context(), p, 0); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.md", "a.png", "b.md"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPlansThatCannotBe(t *testing.T) {
	for what, test := range map[string]struct {
		f    files
		p    plan
		want string
	}{
		"nothing to make": {files{}, tiny(), "say -o or -table"},
		"one look":        {files{figure: "x"}, plan{rounds: 10, looks: 1}, "1 looks in 10 rounds"},
		"too few rounds":  {files{table: "x"}, plan{rounds: 3, looks: 4}, "4 looks in 3 rounds"},
		"a setting":       {files{table: "x"}, plan{rounds: 4, looks: 4, more: []string{"model.name=none"}}, "model.name"},
	} {
		if err := test.f.write(t.Context(), test.p, 0); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", what, err, test.want)
		}
	}
}
