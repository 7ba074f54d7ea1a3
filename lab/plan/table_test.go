package plan

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"gossiptrainer/app/describe"
	"gossiptrainer/internal/budget"
	"gossiptrainer/internal/record"
)

var update = flag.Bool("update", false, "write the files of testdata")

// sample is a plan with every kind of row.
func sample() *Plan {
	i := func(v, err float64) *Interval {
		at := around(v, err)
		return &at
	}
	row := func(c Candidate, o Outcome, round, rounds, err float64) Row {
		r := Row{Candidate: c, Outcome: o, Simulated: 40, Round: around(round, 0.1), Bytes: 2e5}
		if rounds > 0 {
			r.Rounds, r.Time, r.Sent = i(rounds, err/2), i(round*rounds, err), i(2e5*rounds, err/2)
		}
		return r
	}
	rows := []Row{
		row(Candidate{Method: "D-PSGD, 1-bit Moniqua", Graph: "one-peer-exponential", Steps: 4,
			Set: []string{"algorithm.bits=1",
				"algorithm.local_steps=4",
				"topology.kind=one-peer-exponential"}}, outcomeReached, 0.00485, 200, 0.1),
		row(Candidate{Method: "D-PSGD, 8-bit Moniqua", Graph: "ring", Steps: 1, File: true, Set: []string{}},
			outcomeForeseen, 0.0223, 190, 0.25),
		row(Candidate{Method: "DeepSqueeze, full", Graph: "one-peer-exponential", Steps: 2},
			outcomeReached, 1.07, 300, 0.1),
		row(Candidate{Method: "ChocoSGD, sign", Graph: "torus", Steps: 4}, outcomeMissed, 0.004, 0, 0),
		{Candidate: Candidate{Method: "direct quantization, sign", Graph: "ring", Steps: 1},
			Outcome: outcomeDiverged, Why: "round 3"},
	}
	rows[0].Frontier = true
	disk := budget.Plan{{Owner: budget.Journal, Bytes: 83e6, What: "messages sent, for neighbours that come back"}}
	p := &Plan{
		Best: Best{Disk: &describe.Memory{Total: 83e6, Owners: disk, Peers: 664e6}},
		Run:  "ring8", Workers: 8, Machines: 1, Cores: 2, Links: "20 Mbit/s, 2ms one way", Rounds: 300,
		Target: Target{record.Target{Metric: record.TrainingLoss, Value: 0.04},
			"that of D-PSGD at 32 bit after 225 of 300 rounds"},
		Costs: "gradient=150µs", Rows: rows, Refused: []Refusal{{"choco on one-peer-exponential", "it sums"}}, Took: 61,
		Rehearsal: Rehearsal{Processor: 1.25, Parts: []Part{{Simulated: 1, Measured: 1}, {Simulated: 2, Measured: 2}}},
		Proofs: []Proof{
			{Candidate: rows[0].Candidate, Rounds: 200, Predicted: rows[0].Round, Measured: 0.005,
				Time: &Compare{*rows[0].Time, 1.01}},
			{Candidate: rows[1].Candidate, Rounds: 120, Predicted: rows[1].Round, Measured: 0.5},
		},
	}
	for _, r := range rows {
		p.Counts.count(r.Outcome)
	}
	return p
}

func TestThePlanFitsIntoATerminal(t *testing.T) {
	var text strings.Builder
	if err := sample().Write(&text); err != nil {
		t.Fatal(err)
	}
	golden(t, "plan.txt", text.String())
	const columns = 80
	for line := range strings.Lines(text.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > columns {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestThePlanAsJSON(t *testing.T) {
	text, err := json.MarshalIndent(sample(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "plan.json", string(text)+"\n")
}

// golden compares a text with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := "testdata/" + name
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

func TestAPlanWithoutATimeIsAnError(t *testing.T) {
	p := sample()
	if err := p.Check(); err != nil {
		t.Errorf("error %v", err)
	}
	p.Rows = p.Rows[3:]
	if err := p.Check(); err == nil || err.Error() != "plan: no candidate reaches training loss 0.04 within 300 rounds" {
		t.Errorf("error %v", err)
	}
}
