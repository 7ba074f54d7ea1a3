package plan

import (
	"math"
	"slices"
	"time"

	"gossiptrainer/internal/record"
)

// A curve is what a simulation of the first rounds of a candidate has shown.
type curve struct {
	all    []record.Moment // of every round, in order
	every  *record.Run     // the steps and scores that a run of the file records
	cycle  int             // rounds after which graphs and exchanges repeat, ≥ 1
	rounds int             // of the run file
}

// newCurve returns the curve of recorded events, one step for each round and worker.
func newCurve(events []record.Event, every, cycle, rounds int) *curve {
	some := &record.Run{}
	for _, e := range events {
		if e.Step == nil || e.Step.Round%every == 0 || e.Step.Round == rounds {
			some.Events = append(some.Events, e)
		}
	}
	return &curve{all: (&record.Run{Events: events}).Progress(), every: some, cycle: max(1, cycle), rounds: rounds}
}

// length returns the simulated rounds.
func (c *curve) length() int {
	if len(c.all) == 0 {
		return 0
	}
	return int(math.Round(c.all[len(c.all)-1].Round))
}

// complete reports whether all rounds of the run file were simulated.
func (c *curve) complete() bool { return c.length() >= c.rounds }

// steady returns seconds and bytes of a round in the second half of the curve, over whole cycles.
func (c *curve) steady() (seconds, bytes float64) {
	last := len(c.all) - 1
	if last < 1 {
		if last == 0 {
			return c.all[0].Time.Seconds() / c.all[0].Round, float64(c.all[0].Sent.Wire) / c.all[0].Round
		}
		return 0, 0
	}
	back := max(1, (last+1)/2)
	if back > c.cycle {
		back -= back % c.cycle
	}
	a, b := c.all[last-back], c.all[last]
	n := b.Round - a.Round
	return (b.Time - a.Time).Seconds() / n, float64(b.Sent.Wire-a.Sent.Wire) / n
}

// at returns the seconds and bytes until a round is over. After the simulated rounds it goes on as in their second
// half.
func (c *curve) at(round float64) (seconds, bytes float64) {
	n := float64(c.length())
	if round <= n {
		m := record.MomentAt(c.all, round)
		return m.Time.Seconds(), float64(m.Sent.Wire)
	}
	last := c.all[len(c.all)-1]
	perRound, per := c.steady()
	return last.Time.Seconds() + (round-n)*perRound, float64(last.Sent.Wire) + (round-n)*per
}

// reach returns the round in which the curve reaches a target as a report sees it, 0 if it does not.
func (c *curve) reach(t record.Target) float64 {
	r := c.every.Reach(t)
	if r == nil {
		return 0
	}
	at := time.Duration(r.Time * float64(time.Second))
	i, _ := slices.BinarySearchFunc(c.all, at, func(m record.Moment, at time.Duration) int { return int(m.Time - at) })
	if i >= len(c.all) {
		return c.all[len(c.all)-1].Round
	}
	before := record.Moment{}
	if i > 0 {
		before = c.all[i-1]
	}
	if c.all[i].Time == before.Time {
		return c.all[i].Round
	}
	share := float64(at-before.Time) / float64(c.all[i].Time-before.Time)
	return before.Round + share*(c.all[i].Round-before.Round)
}

// loss returns the mean loss of the rounds from a share of the curve's first k rounds to their end.
func (c *curve) loss(k int) float64 {
	k = min(k, len(c.all))
	from := min(k*2/3, max(0, k-1))
	sum := 0.0
	for _, m := range c.all[from:k] {
		sum += m.Loss
	}
	return sum / float64(k-from)
}

// end returns the largest complete mean of losses, as a report takes it, in the last quarter of the recorded moments.
func (c *curve) end() float64 {
	moments := c.every.Progress()
	means := record.CompleteMeans(moments)
	if len(means) == 0 {
		return c.loss(len(c.all))
	}
	return slices.Max(means[max(0, len(means)-1-len(moments)/4):])
}

// pace is how many rounds of another curve have the effect of one round of c: above 1, c is better. It also returns the
// range over parts of the curve.
func (c *curve) pace(of *curve) (pace, low, high float64) {
	n := len(c.all)
	var all []float64
	for _, k := range []int{n / 2, n * 3 / 4, n} {
		if k >= least {
			all = append(all, of.rank(c.loss(k))/float64(k))
		}
	}
	if len(all) == 0 {
		return 1, 0.5, 2
	}
	slices.Sort(all)
	return all[len(all)/2], all[0], all[len(all)-1]
}

// rank returns the number of rounds after which the curve has a loss, beyond its end by the last slope of its
// logarithm.
func (c *curve) rank(loss float64) float64 {
	n := len(c.all)
	if c.loss(n) > loss { // not reached
		return c.beyond(loss)
	}
	low, high := 1, n // the loss falls but for noise: the first crossing by bisection
	for low < high {
		if mid := (low + high) / 2; c.loss(mid) <= loss {
			high = mid
		} else {
			low = mid + 1
		}
	}
	if low == 1 {
		return 1
	}
	a, b := c.loss(low-1), c.loss(low)
	if !(a > b) || loss >= a {
		return float64(low)
	}
	return float64(low-1) + (a-loss)/(a-b)
}

// beyond continues the curve as a power of the round, with the exponent of its second half.
func (c *curve) beyond(loss float64) float64 {
	n := len(c.all)
	a, b := c.loss(n/2), c.loss(n)
	slope := math.Log(a/b) / math.Log(2)
	if !(slope > flattest) || !(loss > 0) {
		return math.Inf(1)
	}
	return float64(n) * math.Pow(b/loss, 1/slope)
}

const (
	// least is the number of rounds below which a loss says nothing.
	least = 8
	// flattest is the exponent of a power law below which a loss counts as constant.
	flattest = 0.02
)
