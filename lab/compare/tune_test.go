package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/record"
)

// simulated is a program whose loss depends on gamma: 2 with 0.1, 1 with 0.3, and with the default as given. It
// diverges with 0.9.
func simulated(standard string) string {
	return `loss=` + standard + `
for a; do case $a in
	output.dir=*) dir=${a#output.dir=} ;;
	algorithm.gamma=0.1) loss=2 ;;
	algorithm.gamma=0.3) loss=1 ;;
	algorithm.gamma=0.9) echo 'peer: sim: worker 3 round 7: diverged' >&2; exit 5 ;;
esac; done
mkdir -p "$dir/one"
: > "$dir/one/events.jsonl"
echo "{\"train_loss\": $loss, \"peers\": 8}"
`
}

// searching returns a matrix of an algorithm with a grid of gammas, and of one without.
func searching(t *testing.T, program string, gammas ...string) *Matrix {
	t.Helper()
	m := smallMatrix(t, program)
	m.file.Algorithms = []configs.Variant{
		{
			Label: "a", Set: []configs.Override{{Key: "algorithm.name", Value: "choco"},
				{Key: "algorithm.compressor.scaled", Value: "true"}},
			Tune: []configs.Choice{{Key: "algorithm.gamma", Values: gammas}},
		},
		{Label: "b", Set: []configs.Override{{Key: "algorithm.bits", Value: "32"}}},
	}
	m.file.Tuning = configs.Tuning{Rounds: 9, Seed: 1000}
	m.file.Levels = configs.Levels{Loss: []float64{3}}
	m.cells = m.file.Cells()
	return m
}

// The comparison keeps all trials: grid, winner, and the default, which no search chooses.
func TestSearchesAreKept(t *testing.T) {
	m := searching(t, simulated("0.5"), "0.1", "0.3", "0.9")
	if err := m.all(t.Context()); err != nil {
		t.Fatal(err)
	}
	written, err := cells.Read(m.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, trial := range written.Trials {
		value := "none"
		if trial.Loss != nil {
			value = fmt.Sprint(*trial.Loss)
		}
		key, _, _ := strings.Cut(strings.Join(trial.Settings, " "), "=")
		got = append(got, fmt.Sprint(key, " ", value, trial.Why, " grid ", trial.InGrid, " default ", trial.Default,
			" chosen ", trial.Chosen, " of ", trial.Rounds, " rounds"))
	}
	want := []string{
		"algorithm.gamma 2 grid true default false chosen false of 9 rounds",
		"algorithm.gamma 1 grid true default false chosen true of 9 rounds",
		"algorithm.gamma nonediverged grid true default false chosen false of 9 rounds",
		"algorithm.gamma 0.5 grid false default true chosen false of 9 rounds",
	}
	if !slices.Equal(got, want) {
		t.Errorf("trials %q, want %q", got, want)
	}
	if tuned := written.Cells[0].Tuned; !slices.Equal(tuned, []string{"algorithm.gamma=0.3"}) {
		t.Errorf("the cells run with %q", tuned)
	}
	again := searching(t, "exit 1\n", "0.1", "0.3", "0.9") // all trials are there
	again.Dir = m.Dir
	if err := again.prepare(t.Context()); err != nil || len(again.result.Trials) != len(want) {
		t.Errorf("started again: %d trials, error %v", len(again.result.Trials), err)
	}
}

// A trial takes no time for tests, and knows where its values cannot go further.
func TestTrialsAreShort(t *testing.T) {
	const untested = `
case "$*" in *seed=1000*)
	case "$*" in *output.evaluate=0*output.evaluate_samples=32*) ;; *) echo 'peer: it tests' >&2; exit 1 ;; esac ;;
esac
`
	m := searching(t, untested+simulated("0.5"), "0.3", "1")
	if err := m.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	var bounds [][]string
	for _, trial := range m.result.Trials {
		bounds = append(bounds, trial.Bounds)
	}
	if want := [][]string{nil, {"algorithm.gamma"}, nil}; !slices.EqualFunc(bounds, want, slices.Equal) {
		t.Errorf("bounds %q, want %q", bounds, want)
	}
}

// Trials run side by side, as many as there may be jobs.
func TestTrialsRunSideBySide(t *testing.T) {
	const together = `
meet() {
	mkdir -p "$1"; : > "$1/$$"
	for try in $(seq 600); do [ $(ls "$1" | wc -l) -ge 2 ] && return; sleep 0.05; done
	echo 'peer: no other trial runs' >&2; exit 1
}
for a; do case $a in output.dir=*) meet "${a#output.dir=}/../../met" ;; esac; done
`
	m := searching(t, together+simulated("0.5"), "0.1", "0.3")
	m.Jobs = 2
	if err := m.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{2, 1, 0.5} {
		if got := m.result.Trials[i]; got.Loss == nil || *got.Loss != want {
			t.Errorf("trial %d is %+v, want the loss %v", i, got, want)
		}
	}
}

// An algorithm that diverges with every setting is a result, not a reason to drop it.
func TestAGridThatDivergesIsAResult(t *testing.T) {
	m := searching(t, simulated("0.5"), "0.9")
	if err := m.all(t.Context()); err != nil {
		t.Fatal(err)
	}
	if cell := m.result.Cells[0]; cell.Status != cells.Diverged {
		t.Errorf("the cell ended %s, want that it diverged", cell.Status)
	}
	if said := m.Talk.(*strings.Builder).String(); !strings.Contains(said, "diverged with the whole grid: its cells run") {
		t.Errorf("the user is not told:\n%s", said)
	}
}

// A comparison notes how its cells are made: overlap, formula, and the settings in which they differ.
func TestSetupsAreKept(t *testing.T) {
	m := searching(t, simulated("0.5"), "0.1")
	m.file.Networks = []configs.NetworkCase{{Name: "n", Set: []configs.Override{{Key: "limit.rate", Value: "8mbit"},
		{Key: "limit.latency", Value: "2ms"}}}}
	m.cells = m.file.Cells()
	m.result.Levels = levels(m.file.Levels)
	if err := m.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	a, b := m.result.Setups[0], m.result.Setups[1]
	if a.Algorithm != "ChocoSGD" || a.Overlap != cells.Waits || b.Overlap != cells.Overlaps ||
		b.Messages != "full precision" ||
		a.Messages != "4-bit qsgd" || b.Workers != 8 || b.Graph != "ring" {
		t.Errorf("setups %+v and %+v", a, b)
	}
	const full = 2 * 4 // two neighbours, 32 bit
	if want := float64(full * b.Parameters); b.Claim != want || a.Claim != want/8 {
		t.Errorf("claims of %v and %v bytes, want %v and %v", a.Claim, b.Claim, want/8, want)
	}
	if wire := b.Claim * 8 / 8e6; b.Exchange < wire+0.002 || b.Exchange > 1.01*wire+0.002 {
		t.Errorf("an exchange of %v s, want a little more than %v s and one latency", b.Exchange, wire)
	}
	if a.Settings["algorithm.gamma"] != "0.1" || b.Settings["algorithm.name"] != "dpsgd" ||
		a.Settings["data.name"] != "" || m.result.Settings["train.momentum"] != "" {
		t.Errorf("settings %v and %v, shared %v", a.Settings, b.Settings, m.result.Settings)
	}
	if want := []record.Target{{Metric: record.TrainingLoss, Value: 3}}; !slices.Equal(m.result.Levels, want) {
		t.Errorf("levels %v, want %v", m.result.Levels, want)
	}
}
