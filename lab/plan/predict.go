package plan

import (
	"math"

	"gossiptrainer/internal/record"
)

// An Interval is a figure and the range in which it is expected.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// around returns the interval of a value with a relative error.
func around(v, err float64) Interval { return Interval{v, v / (1 + err), v * (1 + err)} }

// times multiplies two intervals of positive figures.
func (i Interval) times(o Interval) Interval {
	return Interval{i.Value * o.Value, i.Low * o.Low, i.High * o.High}
}

// spread is the larger relative distance of an end from the value.
func (i Interval) spread() float64 {
	if i.Value == 0 {
		return 0
	}
	return max(i.High/i.Value, i.Value/max(i.Low, 1e-12*i.Value)) - 1
}

// An Outcome says how a candidate comes to the target.
type Outcome string

// Outcomes of candidates.
const (
	outcomeReached  Outcome = "reached"  // a simulation has reached it
	outcomeForeseen Outcome = "foreseen" // a shorter simulation was continued
	outcomeMissed   Outcome = "missed"   // not within the rounds of the run file
	outcomeDiverged Outcome = "diverged"
	// outcomeEstimated: the budget did not allow a simulation; bytes and links say how long a round takes about
	outcomeEstimated Outcome = "estimated"
	outcomeUntried   Outcome = "untried" // there is no estimate either
)

// A Row is the prediction for a candidate.
type Row struct {
	Candidate
	Outcome   Outcome   `json:"outcome"`
	Simulated int       `json:"simulated_rounds"`
	Round     Interval  `json:"round_s"`     // seconds of a round
	Bytes     float64   `json:"round_bytes"` // on the wire, mean per peer
	Rounds    *Interval `json:"rounds_to_target,omitempty"`
	Time      *Interval `json:"time_to_target_s,omitempty"`
	Sent      *Interval `json:"bytes_to_target,omitempty"` // on the wire, mean per peer
	Frontier  bool      `json:"frontier,omitempty"`        // no other candidate is quicker and sends less
	Why       string    `json:"why,omitempty"`             // why it has no time
}

// A forecaster predicts from the curves of trials.
type forecaster struct {
	target    record.Target
	reference *curve
	rehearsal Rehearsal
	error     float64 // relative error of the time of a round
}

// row predicts a trial.
func (f *forecaster) row(t *trial) Row {
	r := Row{Candidate: t.Candidate, Outcome: outcomeUntried}
	if t.diverged != "" {
		r.Outcome, r.Why = outcomeDiverged, t.diverged
	}
	c := t.curve
	if c == nil || c.length() == 0 {
		if t.diverged == "" && t.guess != nil {
			return f.estimated(t)
		}
		return r
	}
	r.Simulated = c.length()
	all := float64(c.rounds)
	seconds, bytes := c.at(all)
	r.Round, r.Bytes = around(f.rehearsal.real(seconds, all, t.Steps)/all, f.error), bytes/all
	rounds, outcome := f.rounds(c)
	if r.Outcome = outcome; outcome == outcomeMissed {
		r.Why = "the run file has too few rounds"
		return r
	}
	time, sent := f.over(c, rounds, t.Steps)
	r.Rounds, r.Time, r.Sent = &rounds, &time, &sent
	return r
}

// over returns seconds and bytes until an interval of rounds.
func (f *forecaster) over(c *curve, rounds Interval, steps int) (seconds, bytes Interval) {
	at := func(round float64) (seconds, bytes float64) {
		seconds, bytes = c.at(round)
		return f.rehearsal.real(seconds, round, steps), bytes
	}
	seconds.Value, bytes.Value = at(rounds.Value)
	seconds.Low, bytes.Low = at(rounds.Low)
	seconds.High, bytes.High = at(rounds.High)
	return around(1, f.error).times(seconds), bytes
}

// drift is how much less certain a pace becomes for each doubling of the rounds.
const drift = 0.05

// rounds returns the rounds to the target. Where the simulation was shorter, the candidate is taken to follow the
// reference at the pace of its beginning.
func (f *forecaster) rounds(c *curve) (Interval, Outcome) {
	if at := c.reach(f.target); at > 0 {
		return Interval{at, at, at}, outcomeReached
	}
	if c.complete() {
		return Interval{}, outcomeMissed
	}
	needs := f.reference.reach(f.target)
	if needs == 0 {
		needs = f.reference.rank(f.target.Value)
	}
	pace, low, high := c.pace(f.reference)
	if math.IsInf(needs, 1) || !(pace > 0) {
		return Interval{}, outcomeMissed
	}
	at := max(float64(c.length()), needs/pace)
	wide := 1 + drift*math.Log2(max(1, at/float64(c.length())))
	i := Interval{at, max(float64(c.length()), needs/high/wide), max(at, needs/max(low, 1e-3)*wide)}
	if i.Value > float64(c.rounds) {
		return Interval{}, outcomeMissed
	}
	return i, outcomeForeseen
}

// point is the position of a row among others.
func (r *Row) point() point {
	if r.Time == nil {
		return point{math.Inf(1), math.Inf(1)}
	}
	return point{r.Time.Value, r.Sent.Value}
}
