package dash

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/internal/record"
)

// A reader keeps a curve as a page does.
type reader struct{ columns map[string][]any }

// take applies a message.
func (r *reader) take(t *testing.T, c *Curve) {
	t.Helper()
	if c == nil {
		return
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var message map[string]any
	if err := json.Unmarshal(text, &message); err != nil {
		t.Fatal(err)
	}
	if r.columns == nil || message["whole"] == true {
		r.columns = map[string][]any{}
	}
	for name, value := range message {
		column, ok := value.([]any)
		if !ok || name == "at" {
			continue
		}
		if len(column) != len(c.At) {
			t.Fatalf("column %s has %d numbers for %d places", name, len(column), len(c.At))
		}
		for i, at := range c.At {
			for len(r.columns[name]) <= at {
				r.columns[name] = append(r.columns[name], nil)
			}
			r.columns[name][at] = column[i]
		}
		if len(r.columns[name]) != c.Points {
			t.Fatalf("column %s has %d numbers, want %d", name, len(r.columns[name]), c.Points)
		}
	}
}

func TestDifferencesMakeTheWholeCurve(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	c, live, version := newCurve(40), &reader{}, int64(0)
	seen := int64(0)
	for i := range 1000 {
		if draw.IntN(3) > 0 {
			version++
		}
		p := point{moments: 1, round: float64(i + 1), time: float64(i)}
		p.loss, p.least, p.most = draw.Float64(), draw.Float64()-1, draw.Float64()+1
		p.changed = version
		c.add(p)
		if draw.IntN(5) == 0 { // a slow page misses versions
			live.take(t, c.since(seen))
			seen = version
			version++
		}
	}
	live.take(t, c.since(seen))
	whole := &reader{}
	whole.take(t, c.since(0))
	for name, want := range whole.columns {
		if !slices.Equal(live.columns[name], want) {
			t.Errorf("column %s: differences make\n%v, the whole is\n%v", name, live.columns[name], want)
		}
	}
	if len(whole.columns) != 14 {
		t.Errorf("%d columns, want 14", len(whole.columns))
	}
}

// A curve of a long run is bounded, keeps peaks, and its means are those of all moments.
func TestPointsMerge(t *testing.T) {
	const moments, most, peak = 12345, 100, 7777
	c := newCurve(most)
	sum := 0.0
	for i := range moments {
		p := point{moments: 1, changed: 1, round: float64(i + 1), time: float64(i), loss: 1, least: 1, most: 1, wait: 2}
		if i == peak {
			p.loss, p.most, p.gap = 50, 50, 9
		}
		sum += p.loss
		c.add(p)
	}
	if len(c.points) > most || len(c.points) < most/2 {
		t.Fatalf("%d points, want %d to %d", len(c.points), most/2, most)
	}
	all, loss, high, gap := 0, 0.0, 0.0, 0.0
	for i, p := range c.points {
		all, loss = all+p.moments, loss+p.loss
		high, gap = math.Max(high, p.most), math.Max(gap, p.gap)
		if p.wait != 2*float64(p.moments) {
			t.Fatalf("point %d: wait %v in %d moments", i, p.wait, p.moments)
		}
		if i+1 < len(c.points) && (p.moments != c.merged || p.round >= c.points[i+1].round) {
			t.Fatalf("point %d merges %d moments up to round %v", i, p.moments, p.round)
		}
	}
	if all != moments || loss != sum || high != 50 || gap != 9 {
		t.Errorf("%d moments, loss %v, peak %v and gap %v; want %d, %v, 50 and 9", all, loss, high, gap, moments, sum)
	}
	if last := c.points[len(c.points)-1].round; last != moments {
		t.Errorf("the last point is of round %v, want %d", last, moments)
	}
}

func TestAxesNeverDecrease(t *testing.T) {
	c := newCurve(10)
	for _, round := range []float64{1, 2, 5, 3, 4, 6} { // a worker that joins late lowers the mean
		c.add(point{moments: 1, changed: 1, round: round, time: round, sent: round})
	}
	out := c.since(0)
	if want := []float64{1, 2, 5, 5, 5, 6}; !slices.Equal(out.Round, want) || !slices.Equal(out.Time, want) ||
		!slices.Equal(out.Bytes, want) {
		t.Errorf("%v %v %v, want %v", out.Round, out.Time, out.Bytes, want)
	}
	if took := out.All[3]; !math.IsNaN(took) {
		t.Errorf("a point without a new round took %v a round, want none", took)
	}
}

func TestScoresAreMeans(t *testing.T) {
	s := scores{most: 4}
	at := point{time: 3, sent: 7}
	for round := 10; round <= 60; round += 10 {
		for rank := range 2 {
			news := s.see(record.Score{Rank: rank, Round: round, Loss: float64(rank), Accuracy: 0.5}, at, 2, int64(round))
			if news != (rank == 1) {
				t.Errorf("round %d rank %d: news %v", round, rank, news)
			}
		}
	}
	out := s.since(0)
	if want := []float64{10, 30, 50, 60}; !slices.Equal(out.Round, want) { // every second one went
		t.Errorf("rounds %v, want %v", out.Round, want)
	}
	if out.Loss[0] != 0.5 || out.Accuracy[2] != 0.5 || out.Time[1] != 3 || out.Bytes[1] != 7 {
		t.Errorf("%+v", out)
	}
	if late := s.since(50); late == nil || late.Whole || !slices.Equal(late.At, []int{3}) {
		t.Errorf("after version 50: %+v", late)
	}
	if s.since(60) != nil {
		t.Error("there is news after the last version")
	}
	s.see(record.Score{Rank: record.Average, Round: 70, Loss: 9, Accuracy: 1}, at, 2, 70)
	if out = s.since(60); !out.Whole || !slices.Equal(out.Loss, column{9}) {
		t.Errorf("%+v, want the score of the mean model alone", out)
	}
}

// However many scores there are, those that stay are spread evenly, and the last one is among them.
func TestScoresAreBounded(t *testing.T) {
	s := scores{most: 50}
	for round := 1; round <= 1001; round++ {
		s.see(record.Score{Rank: record.Average, Round: round}, point{}, 1, int64(round))
	}
	out := s.since(0)
	if n := len(out.Round); n < 25 || n > 50 || out.Round[n-1] != 1001 {
		t.Fatalf("%d scores: %v", n, out.Round)
	}
	for i := 2; i < len(out.Round)-1; i++ {
		if out.Round[i]-out.Round[i-1] != out.Round[1]-out.Round[0] {
			t.Fatalf("uneven: %v", out.Round)
		}
	}
}

func TestNumbersOfThePage(t *testing.T) {
	got, err := json.Marshal(column{1, 0.123456789, math.NaN(), math.Inf(1), 1e-9, 41050000, -2.5})
	if want := `[1,0.123457,null,null,1e-09,41050000,-2.5]`; err != nil || string(got) != want {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
	if got, err = json.Marshal(exact{1636.004985321}); err != nil || string(got) != "[1636.00498532]" {
		t.Errorf("%s, %v", got, err)
	}
	if figureOf(math.NaN()) != unknown() {
		t.Error("two unknown figures differ")
	}
}

func BenchmarkSteps(b *testing.B) {
	t := newTally(plan{workers: 8})
	e := stepOf(0, 1)
	for i := 0; b.Loop(); i++ {
		e.Step.Rank, e.Step.Round = i%8, 1+i/8
		e.Step.Time = time.Duration(i) * time.Millisecond
		t.see(e)
	}
}

// Moments without a loss leave those of others as they are, also where they merge.
func TestACurveWithoutALossHasNone(t *testing.T) {
	c := newCurve(4)
	for i := range 6 {
		m := record.Moment{Round: float64(i + 1), Loss: 2, Least: 1, Most: 3}
		if i < 3 {
			m.Loss, m.Least, m.Most = math.NaN(), math.NaN(), math.NaN()
		}
		c.add(pointOf(m, int64(i+1)))
	}
	text, err := json.Marshal(c.since(0))
	for _, want := range []string{`"loss":[null,2,2]`, `"loss_min":[null,1,1]`, `"loss_max":[null,3,3]`} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("got %s, error %v, want %s", text, err, want)
		}
	}
}
