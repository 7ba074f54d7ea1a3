package main

import (
	"strings"
	"testing"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/build"
	"gossiptrainer/studies/gradients"
)

func TestDocumentHasTheCostOfEachRow(t *testing.T) {
	text := document([]result{
		{row: row{"ring", "32 bit, plain", none, []string{"a=1"}},
			outcomes: []outcome{{mean: 0.8, least: 0.79}, {mean: 0.82, least: 0.81}}},
		{row: row{"ring", "32 bit, plain", one, []string{"a=1"}}, outcomes: []outcome{{mean: 0.8}, {diverged: true}}},
		{row: row{"ring", "32 bit, clipped", one, []string{"a=1"}},
			outcomes: []outcome{{mean: 0.8, least: 0.7}, {mean: 0.8, least: 0.7}}},
	}, 30, 2)
	for _, want := range []string{
		"| ring  |   32 bit, plain |  no peer |       81.00 |    80.00 | 0.0000 |\n",
		"| ring  |   32 bit, plain | one peer |    diverged |        - |      - |\n",
		"| ring  | 32 bit, clipped | one peer |       80.00 |    70.00 | 0.0100 |\n",
		"peer sim ring8-fashion --set 'a=1' --set train.rounds=30 --set seed=1\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestOneSeedIsNoRange(t *testing.T) {
	for seeds, want := range map[int]string{1: "30 rounds with the seed 1.\n",
		2: "30 rounds with each of the seeds 1 to 2.\n"} {
		if text := document(nil, 30, seeds); !strings.Contains(text, want) {
			t.Errorf("%d seeds: no %q in\n%s", seeds, want, text)
		}
	}
}

// The rows run on quadratics, which need no data and have no accuracy.
func TestEveryRowRuns(t *testing.T) {
	for _, r := range rows() {
		r.settings = append(r.settings, "model={name: quadratic, dim: 300}")
		if got, err := r.run(t.Context(), 12, 1); err != nil || got.diverged {
			t.Errorf("%s, %s, %s lies: %+v, %v", r.graph, r.name, r.lies, got, err)
		}
	}
}

// The liar's neighbours recover exactly −x and refuse nothing.
func TestTheLieIsTheModelWithItsSignsFlipped(t *testing.T) {
	run, err := gradients.Assemble(preset, []string{"model={name: quadratic, dim: 40}", "algorithm.codec=full"})
	if err != nil {
		t.Fatal(err)
	}
	w, err := build.New(run, poisoned, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLiar(w.Machine.(*gossip.Worker))
	if err != nil {
		t.Fatal(err)
	}
	x := l.Params()
	for _, f := range l.Ready().Send {
		truth, err := l.codec.Encode(nil, 0, x)
		if err != nil || len(f.Payload) != len(truth) {
			t.Fatalf("%d bytes, want %d (%v)", len(f.Payload), len(truth), err)
		}
		for i := 3; i < len(truth); i += 4 {
			if f.Payload[i] != truth[i]^0x80 {
				t.Fatalf("float %d is not the negative one", i/4)
			}
		}
	}
}
