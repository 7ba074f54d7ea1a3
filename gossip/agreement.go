package gossip

import (
	"fmt"
	"math"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/internal/vec"
)

// A Chooser chooses how many bits per parameter messages get.
type Chooser interface {
	// Window returns how many exchanges a choice looks at, ≥ 1.
	Window() int
	// Choose returns the bits of the next epoch, given the mean loss of all
	// workers after each of the last Window exchanges, oldest first, the root mean
	// square of the chooser's own last gradient, and how long it was from the
	// gradient of the exchange before them to that of the last.
	Choose(losses []float64, rms float64, took time.Duration) int
}

// An Agreement lets all workers use the same bits in every round although one of
// them chooses: worker 0, whose choice travels as part of Frame.Note and is
// passed on by all who have heard of it. Time is cut into epochs of
// L = Diameter + 1 + Window exchanges, numbered here from 0:
//
//	0 … D−1    the choice travels: after exchange D−1 all workers know it
//	D          the first exchange with the new bits
//	D+1 … L−1  exchanges with the new bits, which the next choice looks at
//
// After exchange L−1 worker 0 chooses. So a choice is judged by exchanges of its
// own bits alone, and by their whole time, which is told with gradients: from
// that of exchange D to that of L−1. Which rounds have which bits does not depend
// on the order in which messages arrive.
//
// The loss of all workers is found by dynamic average consensus (Zhu and
// Martínez, "Discrete-time dynamic average consensus", Automatica 2010):
//
//	l_i ← l_i + (loss_i^k − loss_i^{k−1})    at a gradient
//	l_i ← l_i + Σ_j W_ij (r_j − r_i)         after an exchange
//
// where r is the upper 24 bits of l as a float32. Both ends of an edge add the
// same r_j − r_i, so for symmetric W the mean of the l_i is always that of the
// losses; on a complete graph, and at the centre of a star, l_i is the mean loss
// as of the last message.
type Agreement struct {
	plan   AgreementPlan
	choose Chooser // nil but at worker 0

	before, after int // the bits until and from exchange from on
	from          int
	told          uint8 // what worker 0 has chosen, as far as known here; 0: nothing yet
	total, rounds int64 // the bits of all exchanges so far, and how many those are

	loss, last float64 // l_i, loss_i^{k−1}
	said       float64 // r_i

	epoch
}

// An epoch is what the next choice looks at.
type epoch struct {
	losses []float64
	rms    float64
	began  time.Duration
	now    time.Duration // of the last gradient
	took   time.Duration
}

// An AgreementPlan is what all workers of a run agree on in advance.
type AgreementPlan struct {
	Diameter         int // of the graph, ≥ 0
	Every            int // rounds per exchange, ≥ 1
	Window           int // of the Chooser, ≥ 1
	Low, High, Start int // bits, 1 ≤ Low ≤ Start ≤ High ≤ 255; Start is for the first epoch
}

// NewAgreement returns the part of one worker in an agreement. choose is nil but
// for worker 0. It fails on plans that make no sense.
func NewAgreement(plan AgreementPlan, choose Chooser) (*Agreement, error) {
	switch {
	case plan.Diameter < 0 || plan.Every < 1 || plan.Window < 1:
		return nil, fmt.Errorf("gossip: agreement: diameter %d, exchange every %d rounds, window %d: want at least 0, 1 "+
			"and 1",
			plan.Diameter, plan.Every, plan.Window)
	case plan.Low < 1 || plan.Start < plan.Low || plan.High < plan.Start || plan.High > math.MaxUint8:
		return nil, fmt.Errorf("gossip: agreement: %d to %d bits, beginning with %d: want 1 ≤ smallest ≤ first ≤ largest "+
			"≤ 255",
			plan.Low, plan.High, plan.Start)
	case choose != nil && choose.Window() != plan.Window:
		return nil, fmt.Errorf("gossip: agreement: window %d, but the chooser looks at %d exchanges", plan.Window,
			choose.Window())
	}
	return &Agreement{
		plan: plan, choose: choose, before: plan.Start, after: plan.Start,
		epoch: epoch{losses: make([]float64, 0, plan.Window)},
	}, nil
}

// Bits returns the bits of round k, which is one of the present epoch or of the
// last exchange of the one before.
func (a *Agreement) Bits(k int) int {
	if k/a.plan.Every < a.from {
		return a.before
	}
	return a.after
}

// Mean returns the mean of the bits over all exchanges so far, 0 before the first.
func (a *Agreement) Mean() float64 {
	if a.rounds == 0 {
		return 0
	}
	return float64(a.total) / float64(a.rounds)
}

// length returns L.
func (a *Agreement) length() int { return a.plan.Diameter + 1 + a.plan.Window }

// place returns the number within its epoch of the exchange of round k.
func (a *Agreement) place(k int) int { return k / a.plan.Every % a.length() }

// computed enters the gradient of round k.
func (a *Agreement) computed(k int, g []float32, loss float32, now time.Duration) {
	if v := clampLoss(float64(loss)); v == v {
		a.loss += v - a.last
		a.last = v
	}
	a.now = now
	if a.choose == nil || k%a.plan.Every != a.plan.Every-1 {
		return
	}
	switch a.place(k) {
	case a.plan.Diameter:
		a.began = now
	case a.length() - 1:
		a.took, a.rms = now-a.began, math.Sqrt(vec.Dot(g, g)/float64(max(1, len(g))))
	}
}

// note returns what to send with the messages of the exchange that begins.
func (a *Agreement) note() mark {
	m := newMark(a.told, a.loss)
	a.said = m.loss()
	return m
}

// heard enters the messages of one hop with their marks.
func (a *Agreement) heard(in []algos.Message, marks []mark) {
	for j, m := range marks {
		a.told = max(a.told, m.bits())
		a.loss += float64(float64(in[j].Weight) * (m.loss() - a.said))
	}
}

// exchanged ends the exchange of round k.
func (a *Agreement) exchanged(k int) {
	a.total, a.rounds = a.total+int64(a.Bits(k)), a.rounds+1
	place := a.place(k)
	if place > a.plan.Diameter {
		a.losses = append(a.losses, a.loss)
	}
	if place == a.length()-1 {
		a.told = 0
		if a.choose != nil {
			a.told = a.clamp(a.choose.Choose(a.losses, a.rms, a.took))
		}
		a.losses = a.losses[:0]
	}
	if (place+1)%a.length() == a.plan.Diameter && a.told != 0 {
		a.before, a.after = a.Bits(k), int(a.clamp(int(a.told)))
		a.from = k/a.plan.Every + 1
	}
}

// clamp keeps what worker 0 chose, and what others say that it chose, in range.
func (a *Agreement) clamp(bits int) uint8 { return uint8(min(max(bits, a.plan.Low), a.plan.High)) }

// A mark is the upper half of a note: 8 bits are what worker 0 chose, 24 the
// upper bits of a loss as a float32.
type mark uint32

const lossBits = 24

func newMark(bits uint8, loss float64) mark {
	return mark(bits)<<lossBits | mark(math.Float32bits(float32(clampLoss(loss)))>>(32-lossBits))
}

func (m mark) bits() uint8 { return uint8(m >> lossBits) }

// loss returns a number within the bounds of clampLoss, whatever m says.
func (m mark) loss() float64 {
	v := float64(math.Float32frombits(uint32(m) << (32 - lossBits)))
	if v != v {
		return 0
	}
	return clampLoss(v)
}

// clampLoss bounds what is believed of a loss by ±2²⁰; NaN stays NaN.
func clampLoss(loss float64) float64 {
	const largest = 1 << 20
	return max(-largest, min(largest, loss))
}
