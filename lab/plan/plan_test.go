package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/app/doctor"
	"gossiptrainer/configs"
	"gossiptrainer/internal/record"
)

func config(t *testing.T, set ...string) configs.Config {
	t.Helper()
	loaded, err := configs.Load(configs.Source{File: "ring8", Set: set})
	if err != nil {
		t.Fatal(err)
	}
	return loaded.Config
}

func TestCandidatesAreWhatTheRegistryAllows(t *testing.T) {
	axes := Axes{Algorithms: []string{"dpsgd", "choco", "allreduce"}, Bits: []int{32, 4, 1},
		Graphs: []string{"ring", "torus", "one-peer-exponential"}, Steps: []int{1, 2}}
	all, refused := axes.candidates(config(t))
	var names []string
	for _, c := range all[1:] {
		names = append(names, fmt.Sprintf("%s, %d bit, %s, H %d", c.Algorithm, c.Bits, c.Graph, c.Steps))
	}
	want := []string{
		"dpsgd, 32 bit, ring, H 1", "dpsgd, 4 bit, ring, H 1", "dpsgd, 1 bit, ring, H 1",
		"choco, 4 bit, ring, H 1", "choco, 1 bit, ring, H 1", "allreduce, 32 bit, ring, H 1",
		"dpsgd, 32 bit, torus, H 1", "dpsgd, 4 bit, torus, H 1", "dpsgd, 1 bit, torus, H 1",
		"choco, 4 bit, torus, H 1", "choco, 1 bit, torus, H 1",
		"dpsgd, 32 bit, one-peer-exponential, H 1", "dpsgd, 4 bit, one-peer-exponential, H 1",
		"dpsgd, 1 bit, one-peer-exponential, H 1",
	}
	if !slices.Equal(names[:len(want)], want) {
		t.Errorf("candidates\n%s\nwant\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
	if !all[0].File || len(all[0].Set) > 0 {
		t.Errorf("the first candidate is %+v, want the run file as it is", all[0])
	}
	for _, why := range []Refusal{
		{"choco with 32 bit", "it compresses its messages"},
		{"allreduce with 4 bit", "it sends full precision"},
		{"choco on one-peer-exponential", "it sums public copies of fixed neighbours"},
		{"allreduce by ring on other graphs", "it has a graph of its own"},
		{"allreduce by ring with local steps",
			"it averages gradients, not models (dpsgd of order atc on a complete graph averages models)"},
	} {
		if !slices.Contains(refused, why) {
			t.Errorf("refused are %q, not %q", refused, why)
		}
	}
}

// The settings of every candidate are those of a valid run file.
func TestCandidatesLoad(t *testing.T) {
	for _, file := range [][]string{nil, {"algorithm.name=choco", "algorithm.compressor.scaled=true"},
		{"topology.kind=torus", "topology.rows=2", "topology.cols=3"}} {
		all, _ := Axes{}.candidates(config(t, file...))
		p := &planner{Request: Request{Source: configs.Source{File: "ring8", Set: file}}}
		for _, c := range all {
			loaded, err := p.load(c)
			if err != nil {
				t.Errorf("%s: %v", c, err)
			} else if a := loaded.Config; c.Set != nil && (a.Algorithm.Name != c.Algorithm ||
				a.Topology.Kind != c.Graph && c.Algorithm != "allreduce") {
				t.Errorf("%s has %s on %s", c, a.Algorithm.Name, a.Topology.Kind)
			}
		}
	}
}

func TestAxesAreChecked(t *testing.T) {
	for want, axes := range map[string]Axes{
		`plan: --algorithms "dpsdg"`: {Algorithms: []string{"dpsdg"}},
		`plan: --graphs "rings"`:     {Graphs: []string{"rings"}},
		"plan: --bits 17: want":      {Bits: []int{17}},
		"plan: --bits 0: want":       {Bits: []int{0}},
		"plan: --steps 0: want":      {Steps: []int{0}},
	} {
		if err := axes.check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestTheBudgetIsDividedByHalving(t *testing.T) {
	for _, test := range []struct {
		candidates, first, all, affordable int
		want                               []halvingStage
	}{
		{5, 16, 100, 500, []halvingStage{{5, 100}}},
		{40, 16, 300, 100, []halvingStage{{12, 8}}},
		{0, 16, 300, 100, nil},
	} {
		got := rungs(test.candidates, test.first, test.all, test.affordable)
		if len(test.want) > 0 && !slices.Equal(got, test.want) {
			t.Errorf("%+v: %v", test, got)
		}
	}
	for candidates := 1; candidates < 200; candidates += 7 {
		for affordable := 64; affordable < 1<<17; affordable *= 3 {
			got := rungs(candidates, 16, 300, affordable)
			if s := spent(got); s > affordable {
				t.Fatalf("%d candidates: %v cost %d rounds of %d", candidates, got, s, affordable)
			}
			for i := 1; i < len(got); i++ {
				if got[i].keep >= got[i-1].keep && got[i-1].keep > finalists || got[i].rounds <= got[i-1].rounds {
					t.Fatalf("%d candidates: %v: a rung is not smaller or not longer", candidates, got)
				}
			}
		}
	}
}

func TestTheFrontierIsOfPointsThatNoneBeats(t *testing.T) {
	points := []point{{1, 9}, {2, 5}, {3, 5}, {4, 1}, {2, 6}, {inf, inf}, {5, 0.5}}
	if got := fronts(points); !slices.Equal(got, []int{0, 0, 1, 0, 1, -1, 0}) {
		t.Errorf("layers %v", got)
	}
	if got := ranked(points); !slices.Equal(got, []int{0, 1, 3, 6, 4, 2, 5}) {
		t.Errorf("order %v", got)
	}
	if got := fronts([]point{{1, 1}, {1, 1}}); !slices.Equal(got, []int{0, 0}) {
		t.Errorf("equal points: layers %v, want both on the frontier", got)
	}
}

// falling returns a curve of one worker whose loss in round k is 100/(speed·k), with a round of ms milliseconds and 10
// bytes.
func falling(rounds, of, ms int, speed float64) *curve {
	var events []record.Event
	for k := 1; k <= rounds; k++ {
		events = append(events, record.Event{Step: &record.Step{Round: k, Loss: 100 / (speed * float64(k)),
			Time: time.Duration(k*ms) * time.Millisecond, Sent: record.Bytes{Wire: int64(10 * k)}}})
	}
	return newCurve(events, 1, 1, of)
}

func near(a, b, share float64) bool { return math.Abs(a/b-1) <= share }

func TestCurvesGoOn(t *testing.T) {
	c := falling(50, 200, 20, 1)
	if s, b := c.steady(); !near(s, 0.02, 1e-9) || !near(b, 10, 1e-9) {
		t.Errorf("a round takes %v s and %v bytes", s, b)
	}
	if s, b := c.at(25); !near(s, 0.5, 1e-9) || !near(b, 250, 1e-9) {
		t.Errorf("25 rounds take %v s and %v bytes", s, b)
	}
	if s, b := c.at(150); !near(s, 3, 1e-9) || !near(b, 1500, 1e-9) {
		t.Errorf("150 rounds take %v s and %v bytes", s, b)
	}
	if c.length() != 50 || c.complete() || !falling(200, 200, 1, 1).complete() {
		t.Error("the length is wrong")
	}
	// The loss 4 is reached when the mean of the 5 rounds around it is: near round 25.
	if at := c.reach(record.Target{Metric: record.TrainingLoss, Value: 4}); !near(at, 25, 0.02) {
		t.Errorf("the loss 4 is reached in round %v", at)
	}
	if at := c.reach(record.Target{Metric: record.TrainingLoss, Value: 1}); at != 0 {
		t.Errorf("the loss 1 is reached in round %v", at)
	}
}

// The pace of a curve that falls twice as fast as another is 2, whatever its length.
func TestPaceComparesCurves(t *testing.T) {
	whole := falling(400, 400, 1, 1)
	for _, n := range []int{16, 50, 180} {
		pace, low, high := falling(n, 400, 1, 2).pace(whole)
		if !near(pace, 2, 0.05) || low > pace || high < pace || !near(low, high, 0.1) {
			t.Errorf("%d rounds: pace %v in %v to %v, want 2", n, pace, low, high)
		}
	}
	if pace, low, high := falling(4, 400, 1, 2).pace(whole); pace != 1 || low >= 1 || high <= 1 {
		t.Errorf("4 rounds say nothing, but the pace is %v in %v to %v", pace, low, high)
	}
	// Beyond the end of the other curve the power law goes on.
	if pace, _, _ := falling(40, 400, 1, 20).pace(falling(50, 400, 1, 1)); !near(pace, 20, 0.05) {
		t.Errorf("pace %v, want 20", pace)
	}
}

func TestPredictionsHaveIntervals(t *testing.T) {
	target := record.Target{Metric: record.TrainingLoss, Value: 1}
	twice := Rehearsal{Parts: []Part{{Simulated: 1, Measured: 2}, {Simulated: 2, Measured: 4}}}
	f := &forecaster{target: target, reference: falling(300, 300, 10, 1), error: 0.1, rehearsal: twice}
	candidate := Candidate{Method: "D-PSGD, 8-bit Moniqua", Graph: "ring", Steps: 1}
	reached := f.row(&trial{Candidate: candidate, curve: falling(300, 300, 5, 1)})
	if reached.Outcome != outcomeReached || !near(reached.Round.Value, 0.01, 1e-6) || !near(reached.Time.Value, 1, 0.01) ||
		!near(reached.Time.High, 1.1*reached.Time.Value, 1e-6) || !near(reached.Sent.Value, 1000, 0.01) ||
		reached.Sent.High != reached.Sent.Low {
		t.Errorf("reached: %+v, time %+v, sent %+v", reached, reached.Time, reached.Sent)
	}
	short, longer := f.row(&trial{curve: falling(30, 300, 5, 1)}), f.row(&trial{curve: falling(90, 300, 5, 1)})
	for _, r := range []Row{short, longer} {
		if r.Outcome != outcomeForeseen || !near(r.Time.Value, 1, 0.05) || r.Time.Low >= r.Time.Value ||
			r.Time.High <= r.Time.Value {
			t.Errorf("foreseen: %+v, time %+v", r, r.Time)
		}
	}
	if short.Time.spread() <= longer.Time.spread() || longer.Time.spread() <= reached.Time.spread() {
		t.Errorf("spreads %v after 30 rounds, %v after 90, %v after all: want less and less", short.Time.spread(),
			longer.Time.spread(), reached.Time.spread())
	}
	for what, c := range map[string]*curve{"slow": falling(30, 300, 5, 0.3), "ended": falling(300, 300, 5, 0.3)} {
		if r := f.row(&trial{curve: c}); r.Outcome != outcomeMissed || r.Time != nil || !math.IsInf(r.point().seconds, 1) {
			t.Errorf("%s: %+v, want a missed target", what, r)
		}
	}
	if r := f.row(&trial{diverged: "round 7"}); r.Outcome != outcomeDiverged || r.Why != "round 7" {
		t.Errorf("%+v, want that it diverged", r)
	}
	if r := f.row(&trial{}); r.Outcome != outcomeUntried {
		t.Errorf("%+v, want that it was not tried", r)
	}
}

func TestTheRehearsalCorrectsBetweenItsRuns(t *testing.T) {
	r := Rehearsal{Parts: []Part{{Simulated: 0.01, Measured: 0.011}, {Simulated: 0.1, Measured: 0.1}}}
	for seconds, want := range map[float64]float64{0.001: 1.1, 0.01: 1.1, math.Sqrt(0.001): math.Sqrt(1.1), 0.1: 1, 2: 1} {
		if got := r.correct(seconds); !near(got, want, 1e-9) {
			t.Errorf("%v s: %v, want %v", seconds, got, want)
		}
	}
	if got := (&Rehearsal{}).real(2, 10, 1); got != 2 {
		t.Errorf("without a rehearsal: %v", got)
	}
	// Of 4 rounds of 5 ms the last takes 11 ms with messages, which take 1.1 times as long. The start takes 0.5 s.
	r.Start, r.Parts[0].Gradient = 0.5, 0.003
	if got, want := r.real(2, 400, 4), 2+100*0.011*(r.correct(0.011)-1)+0.5; !near(got, want, 1e-9) {
		t.Errorf("with local steps %v, want %v", got, want)
	}
	alike := Rehearsal{Parts: []Part{{Simulated: 0.01, Measured: 0.011}, {Simulated: 0.011, Measured: 0.0121}}}
	if got := alike.correct(5); !near(got, 1.1, 1e-9) {
		t.Errorf("two rounds of the same length: %v", got)
	}
}

func TestScatterIsThatOfBlocks(t *testing.T) {
	var even, jumpy []record.Moment
	at := time.Duration(0)
	for i := range 101 {
		even = append(even, record.Moment{Round: float64(i), Time: time.Duration(i) * time.Millisecond})
		jumpy = append(jumpy, record.Moment{Round: float64(i), Time: at})
		at += time.Duration(1+i/10%2) * time.Millisecond
	}
	if s, scatter := blocks(even); !near(s, 1e-3, 1e-9) || scatter != 0 {
		t.Errorf("%v s, scatter %v", s, scatter)
	}
	if s, scatter := blocks(jumpy); !near(s, 1.5e-3, 0.1) || scatter < 0.05 || scatter > 0.3 {
		t.Errorf("%v s, scatter %v", s, scatter)
	}
	if s, _ := blocks(nil); s != 0 {
		t.Errorf("%v s without moments", s)
	}
}

func TestTargetsAreRoundedUp(t *testing.T) {
	for v, want := range map[float64]float64{0.03981: 0.04, 1.2001: 1.3, 1.2: 1.2, 153: 160, 0.00070001: 0.00071, 0: 0} {
		if got := roundUp(v); got != want {
			t.Errorf("%v becomes %v, want %v", v, got, want)
		}
	}
}

func TestMeasuredLinksNarrowTheLimits(t *testing.T) {
	rate, latency := narrowest([]doctor.Pair{{RateOut: 9e7, RateIn: 4e7, LatencyNS: 3e6}, {RateOut: 8e8, LatencyNS: 8e6}})
	if rate != 4e7 || latency != 4*time.Millisecond {
		t.Errorf("%v bit/s, %v", rate, latency)
	}
	for own, want := range map[configs.LinkLimit]string{
		{}:               "limit.rate=40000kbit limit.latency=4ms",
		{Rate: "10mbit"}: "limit.latency=4ms",
		{Rate: "10mbit", Latency: configs.Duration(time.Second)}: "",
	} {
		if got, err := narrowed(own, rate, latency); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%+v: %q, error %v, want %q", own, got, err, want)
		}
	}
	if _, err := narrowed(configs.LinkLimit{Rate: "fast"}, rate, latency); err == nil {
		t.Error("no error of a wrong rate")
	}
}
