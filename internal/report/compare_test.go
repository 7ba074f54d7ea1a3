package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gossiptrainer/internal/record"
)

func score(rank, round int, loss, accuracy float64) record.Event {
	return record.Event{Score: &record.Score{Rank: rank, Round: round, Loss: loss, Accuracy: accuracy}}
}

func TestScoreWithoutMeaningIsNull(t *testing.T) {
	text, err := json.Marshal(record.Score{Rank: 3, Round: 7, Loss: math.Inf(1), Accuracy: math.NaN()})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"rank":3,"round":7,"loss":null,"accuracy":null}`; string(text) != want {
		t.Errorf("%s, want %s", text, want)
	}
	var back record.Score
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if back.Rank != 3 || back.Round != 7 || !math.IsNaN(back.Loss) || !math.IsNaN(back.Accuracy) {
		t.Errorf("%+v", back)
	}
	if err := json.Unmarshal([]byte(`{"rank":-1,"round":9,"loss":0.5,"accuracy":0.25}`), &back); err != nil ||
		back != (record.Score{Rank: -1, Round: 9, Loss: 0.5, Accuracy: 0.25}) {
		t.Errorf("%+v, %v", back, err)
	}
}

func point(round int, loss, accuracy float64) record.Point {
	return record.Point{Round: round, Loss: loss, Accuracy: accuracy}
}

func TestCurve(t *testing.T) {
	replicas := []record.Event{
		score(1, 20, 3, 0.5), score(0, 10, 2, 0.25), score(1, 10, 4, 0.75), score(0, 20, 1, 0.5),
		score(0, 30, 1, 0.5), // the other worker has no score of this round
	}
	end := []record.Event{
		{Final: &record.Final{Rank: 0, Rounds: 40, Loss: 1, Accuracy: 0.75}},
		{Final: &record.Final{Rank: 1, Rounds: 40, Loss: 2, Accuracy: 0.25}},
		{Final: &record.Final{Rank: 2, Rounds: 40, Loss: 9, Accuracy: 0}}, // on another machine: no scores here
	}
	for _, c := range []struct {
		name   string
		events []record.Event
		want   []record.Point
	}{
		{"no score", end, nil},
		{"means of the replicas", replicas, []record.Point{point(10, 3, 0.5), point(20, 2, 0.5)}},
		{"and their results", append(replicas, end...),
			[]record.Point{point(10, 3, 0.5), point(20, 2, 0.5), point(40, 1.5, 0.5)}},
		{"the average model comes first", append(replicas, score(record.Average, 10, 0.5, 0.9)),
			[]record.Point{point(10, 0.5, 0.9)}},
		{"without accuracy", []record.Event{score(0, 10, 2, math.NaN())}, []record.Point{point(10, 2, math.NaN())}},
	} {
		run := &record.Run{Events: c.events}
		if diff := cmp.Diff(c.want, run.Curve(), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestLabelsTellRunsApart(t *testing.T) {
	dpsgd := &record.Summary{Method: "D-PSGD, full precision"}
	got := Labels([]*record.Run{
		{Dir: "runs/a", Summary: dpsgd}, {Dir: "runs/b", Summary: &record.Summary{Method: "D-PSGD, qsgd"}},
		{Dir: "runs/c", Summary: dpsgd}, {Dir: "runs/d"},
	})
	want := []string{"D-PSGD, full precision (a)", "D-PSGD, qsgd", "D-PSGD, full precision (c)", "d"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Runs of one algorithm are told apart by what differs: the run file, the mode, the graph or the seed.
func TestRunsOfOneAlgorithmAreToldApart(t *testing.T) {
	one := &record.Summary{Method: "D-PSGD, 8-bit Moniqua", Run: "a", Mode: "sim", Graph: "ring", Seed: 1}
	two := &record.Summary{Method: "D-PSGD, 8-bit Moniqua", Run: "b", Mode: "lab", Graph: "torus", Seed: 2}
	got := Labels([]*record.Run{{Dir: "runs/a", Summary: one}, {Dir: "runs/b", Summary: two}})
	want := []string{"D-PSGD, 8-bit Moniqua, a, sim, ring, seed 1",
		"D-PSGD, 8-bit Moniqua, b, lab, torus, seed 2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var text strings.Builder
	if err := WriteRuns(&text, []*record.Summary{one, two}); err != nil {
		t.Fatal(err)
	}
	if head := strings.Fields(text.String())[:5]; !cmp.Equal(head, []string{"RUN", "MODE", "GRAPH", "SEED", "ALGORITHM"}) {
		t.Errorf("columns %v, want those in which the runs differ", head)
	}
}

func TestComparisonNeedsCurves(t *testing.T) {
	good := &record.Run{Dir: "good", Events: []record.Event{score(record.Average, 10, 2, 0.2),
		score(record.Average, 20, 1, 0.6)}}
	lossOnly := &record.Run{Dir: "quadratic", Events: []record.Event{score(0, 10, 2, math.NaN()),
		score(0, 20, 1, math.NaN())}}
	bare := &record.Run{Dir: "bare", Events: sample()}
	for format, head := range map[string]string{"png": "\x89PNG", "svg": "<?xml", "pdf": "%PDF"} {
		for name, runs := range map[string][]*record.Run{
			"mixed": {good, lossOnly, good, good, good}, "no accuracy": {lossOnly, lossOnly},
		} {
			var b bytes.Buffer
			if err := WriteComparison(&b, runs, format); err != nil || !strings.HasPrefix(b.String(), head) {
				t.Errorf("%s as %s: %.8q, %v", name, format, b.String(), err)
			}
		}
	}
	err := WriteComparison(&bytes.Buffer{}, []*record.Run{good, bare}, "png")
	if err == nil || !strings.Contains(err.Error(), "bare holds 0 scores") ||
		!strings.Contains(err.Error(), "output.evaluate") {
		t.Errorf("a run without scores: %v", err)
	}
	if err := WriteComparison(&bytes.Buffer{}, []*record.Run{good, good}, "gif"); err == nil ||
		!strings.Contains(err.Error(), "png, svg, pdf") {
		t.Errorf("gif: %v", err)
	}
}

func TestTableOfRuns(t *testing.T) {
	loss, mean, average := 0.5, 0.875, 0.9
	var b bytes.Buffer
	err := WriteRuns(&b, []*record.Summary{
		{Method: "D2", Loss: &loss, Time: 1.5,
			Accuracy: record.Accuracy{Mean: &mean, AverageModel: &average}, BytesPerPeer: record.Bytes{Payload: 2_500_000}},
		{Method: "ring"},
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines:\n%s", len(lines), b.String())
	}
	if got, want := strings.Fields(lines[1]), []string{"D2", "0.8750", "-", "0.9000", "0.5", "2.5", "MB",
		"1.5", "s"}; !cmp.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if strings.Contains(lines[0], "ENTROPY") {
		t.Errorf("runs without entropy coding have a column for it: %q", lines[0])
	}
}

func TestTableOfCodedRuns(t *testing.T) {
	var b strings.Builder
	err := WriteRuns(&b, []*record.Summary{
		{Algorithm: "moniqua", Bits: 8, Entropy: "huff0", Effective: 5.25,
			BytesPerPeer: record.Bytes{Payload: 2_000_000, Stream: 1_300_000}},
		{Algorithm: "moniqua", Bits: 8, Entropy: "none", Effective: 8.01,
			BytesPerPeer: record.Bytes{Payload: 2_000_000, Stream: 2_001_000}},
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	for i, want := range []string{"ENTROPY  STREAM PER PEER  BITS PER PARAMETER",
		"huff0           1.3 MB                5.25", "none             2 MB                8.01"} {
		if !strings.HasSuffix(strings.TrimRight(lines[i], " "), want) {
			t.Errorf("line %d is %q, want %q at its end", i, lines[i], want)
		}
	}
}
