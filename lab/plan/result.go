package plan

import (
	"fmt"
	"math"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/describe"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
)

// A Plan is the output of "peer plan".
type Plan struct {
	Run       string    `json:"run"`
	Workers   int       `json:"workers"`
	Machines  int       `json:"machines"`
	Cores     int       `json:"cores"` // of each machine
	Links     string    `json:"links"`
	Rounds    int       `json:"rounds"`
	Target    Target    `json:"target"`
	Costs     string    `json:"costs"` // of the reference on this machine, as peer sim --compute takes them
	Rehearsal Rehearsal `json:"rehearsal"`
	Rows      []Row     `json:"candidates"` // the best first
	Refused   []Refusal `json:"refused,omitempty"`
	Proofs    []Proof   `json:"proofs,omitempty"`
	Took      float64   `json:"took_s"`
	Counts    Counts    `json:"counts"`
	Best      Best      `json:"best"`
}

// Best is the first candidate. Its fields are empty if that does not reach the target.
type Best struct {
	RunFile string           `json:"run_file"`
	Disk    *describe.Memory `json:"disk"` // that its peers take at most
}

// A Target is what a run has to reach.
type Target struct {
	record.Target
	Why string `json:"why"`
}

// targets returns the target as a run watches it.
func (t Target) targets() record.Targets {
	if t.Metric == record.TestAccuracy {
		return record.Targets{Accuracy: t.Value}
	}
	return record.Targets{Loss: t.Value}
}

// Counts says what has become of the candidates.
type Counts struct {
	All       int `json:"all"`
	Reached   int `json:"reached"`
	Foreseen  int `json:"foreseen"`
	Missed    int `json:"missed"`
	Diverged  int `json:"diverged"`
	Estimated int `json:"estimated"`
	Untried   int `json:"untried"`
}

func (c *Counts) count(o Outcome) {
	c.All++
	*map[Outcome]*int{outcomeReached: &c.Reached, outcomeForeseen: &c.Foreseen, outcomeMissed: &c.Missed,
		outcomeDiverged: &c.Diverged, outcomeEstimated: &c.Estimated, outcomeUntried: &c.Untried}[o]++
}

// reaches reports whether a candidate reaches the target.
func (p *Plan) reaches() bool { return len(p.Rows) > 0 && p.Rows[0].Time != nil }

// Check returns an error if no candidate reaches the target.
func (p *Plan) Check() error {
	if p.reaches() {
		return nil
	}
	return advice.With(fmt.Errorf("plan: no candidate reaches %s within %s", p.Target.Target,
		human.Count(p.Rounds, "round")), "give an easier target with --until, more train.rounds, or a larger --budget")
}

// A Rehearsal compares real peers of this machine with the simulator, for two runs with short and with long messages.
// Its findings correct the times of all candidates for memory and cores that peers share, other programs, the
// scheduler.
// It is zero where each worker has a machine of its own.
type Rehearsal struct {
	// Processor is how many times longer work takes among all peers than alone.
	Processor float64 `json:"processor,omitempty"`
	// Start is the seconds by which the first rounds took longer than the same number of later ones, beyond what the
	// simulator finds of that.
	Start float64 `json:"start_s,omitempty"`
	Parts []Part  `json:"runs,omitempty"` // with short messages, then with long ones
}

// A Part is one run of a rehearsal.
type Part struct {
	Candidate
	Rounds    int     `json:"rounds"`
	Simulated float64 `json:"simulated_s"` // a round
	Measured  float64 `json:"measured_s"`  // a round
	Gradient  float64 `json:"gradient_s"`  // of real peers
	// Scatter is the relative standard error of the measurement.
	Scatter float64 `json:"scatter"`
}

// real returns the seconds that real peers take for these rounds, from simulated seconds. Only the last
// of every steps rounds exchanges messages.
func (r *Rehearsal) real(seconds, rounds float64, steps int) float64 {
	if len(r.Parts) == 0 || rounds == 0 {
		return seconds
	}
	every := seconds / rounds * float64(max(1, steps)) // from exchange to exchange
	exchange := max(every-float64(max(1, steps)-1)*r.Parts[0].Gradient, seconds/rounds)
	return seconds*(1+exchange/every*(r.correct(exchange)-1)) + r.Start
}

// correct returns the factor by which a round with an exchange takes longer among real peers than simulated. Between
// the two rehearsed rounds it follows the logarithm of the simulated seconds; beyond them it stays.
func (r *Rehearsal) correct(seconds float64) float64 {
	short, long := r.Parts[0], r.Parts[1]
	a, b := short.Measured/short.Simulated, long.Measured/long.Simulated
	width := math.Log(long.Simulated / short.Simulated)
	if math.Abs(width) < math.Log(1.2) {
		return math.Sqrt(a * b)
	}
	share := min(1, max(0, math.Log(seconds/short.Simulated)/width))
	return math.Exp((1-share)*math.Log(a) + share*math.Log(b))
}

// scatter returns the relative standard error of the rehearsal.
func (r *Rehearsal) scatter() float64 {
	most := 0.0
	for _, p := range r.Parts {
		most = max(most, p.Scatter)
	}
	return most
}

// A Proof compares the prediction for a candidate with real peers of this machine.
type Proof struct {
	Candidate
	Rounds    int      `json:"rounds"`           // of the real peers
	Predicted Interval `json:"predicted_s"`      // seconds of a round
	Measured  float64  `json:"measured_s"`       // the same
	Time      *Compare `json:"time_s,omitempty"` // to the target; nil where real peers did not come that far
}

// A Compare is a predicted time and the real one.
type Compare struct {
	Predicted Interval `json:"predicted"`
	Measured  float64  `json:"measured"`
}

// off is the relative error of a prediction: 0.1 where it is 10 % too long.
func off(predicted, measured float64) float64 { return predicted/measured - 1 }

var inf = math.Inf(1)
