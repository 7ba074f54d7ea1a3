package gossip

import (
	"fmt"
	"math"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/internal/vec"
)

// A Chooser chooses the bits per parameter of messages.
type Chooser interface {
	// Window returns the number of exchanges that a choice is based on, ≥ 1.
	Window() int
	// Choose returns the bits of the next epoch. The losses are the mean losses of all workers after each of the last
	// Window exchanges, oldest first. The root mean square of the chooser's own last gradient is rms. The time took
	// runs from the gradient of the exchange before the window to the gradient of its last exchange.
	Choose(losses []float64, rms float64, took time.Duration) int
}

// An Agreement lets all workers use the same bits in every round. Worker 0 chooses them. Frame.Note carries the choice,
// and every worker that knows it passes it on. An epoch has L = Diameter + 1 + Window exchanges, numbered here from 0:
//
//	0 … D−1    the choice travels: after exchange D−1 all workers know it
//	D          the first exchange with the new bits
//	D+1 … L−1  exchanges with the new bits, on which the next choice is based
//
// After exchange L−1 worker 0 chooses. So it judges a choice by exchanges that have these bits alone, and by the time
// from the gradient of exchange D to that of L−1. The bits of a round do not depend on the order in which messages
// arrive.
//
// Dynamic average consensus estimates the mean loss of all workers (Zhu and Martínez, "Discrete-time dynamic average
// consensus", Automatica 2010):
//
//	l_i ← l_i + (loss_i^k − loss_i^{k−1})    at a gradient
//	l_i ← l_i + Σ_j W_ij (r_j − r_i)         after an exchange
//
// where r is the upper 24 bits of l as a float32. Both ends of an edge add the same r_j − r_i. So for symmetric W the
// mean of the l_i always equals the mean of the losses. On a complete graph, and at the centre of a star, l_i is the
// mean loss as of the last message.
type Agreement struct {
	plan   AgreementPlan
	choose Chooser // nil except at worker 0

	before, after int // the bits before exchange from, and from it on
	from          int
	next          int   // the exchange to mix next
	told          uint8 // the latest choice of worker 0 that is known here; 0: none yet
	total, rounds int64 // the sum of the bits over all exchanges so far, and the number of exchanges

	loss, last float64 // l_i, loss_i^{k−1}
	said       float64 // r_i

	epoch
}

// An epoch holds the input of the next choice.
type epoch struct {
	losses []float64
	rms    float64
	began  time.Duration
	now    time.Duration // time of the last gradient
	took   time.Duration
}

// An AgreementPlan has the settings that all workers of a run share.
type AgreementPlan struct {
	Diameter         int // of the graph, ≥ 0
	Every            int // rounds per exchange, ≥ 1
	Window           int // of the Chooser, ≥ 1
	Low, High, Start int // bits, 1 ≤ Low ≤ Start ≤ High ≤ 255; the first epoch uses Start

	// In a run whose members come and go each view has an agreement of its own.
	First  int                             // the exchange with which epochs begin, ≥ 0
	Agreed func(x int) (bits int, ok bool) // the bits of exchange x in the log of views; nil: the log has none
}

// NewAgreement returns one worker's part in an agreement. choose is nil except for worker 0. NewAgreement refuses plans
// out of range.
func NewAgreement(plan AgreementPlan, choose Chooser) (*Agreement, error) {
	switch {
	case plan.Diameter < 0 || plan.Every < 1 || plan.Window < 1 || plan.First < 0:
		return nil, fmt.Errorf("gossip: agreement: diameter %d, exchange every %d rounds, window %d, the first is %d: "+
			"want at least 0, 1, 1 and 0", plan.Diameter, plan.Every, plan.Window, plan.First)
	case plan.Low < 1 || plan.Start < plan.Low || plan.High < plan.Start || plan.High > math.MaxUint8:
		return nil, fmt.Errorf("gossip: agreement: %d to %d bits, beginning with %d: want 1 ≤ smallest ≤ first ≤ largest "+
			"≤ 255",
			plan.Low, plan.High, plan.Start)
	case choose != nil && choose.Window() != plan.Window:
		return nil, fmt.Errorf("gossip: agreement: window %d, but the chooser needs %d exchanges", plan.Window,
			choose.Window())
	}
	return &Agreement{
		plan: plan, choose: choose, before: plan.Start, after: plan.Start, from: plan.First, next: plan.First,
		epoch: epoch{losses: make([]float64, 0, plan.Window)},
	}, nil
}

// Bits returns the bits of round k, which lies in the present epoch or in the last exchange of the previous one.
func (a *Agreement) Bits(k int) int {
	bits, _ := a.at(k / a.plan.Every)
	return bits
}

// at returns the bits of exchange x, and whether they are known. The next choice may change them from the place
// Diameter of an epoch on.
func (a *Agreement) at(x int) (bits int, known bool) {
	if a.plan.Agreed != nil {
		if bits, known = a.plan.Agreed(x); known {
			return int(a.clamp(bits)), true
		}
	}
	place := (a.next - a.plan.First) % a.length()
	until := a.next - place + a.plan.Diameter
	if place >= a.plan.Diameter {
		until += a.length()
	}
	if x < a.from {
		return a.before, x >= max(a.plan.First, a.from-a.length())
	}
	return a.after, x < until
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

// place returns the number of the exchange of round k within its epoch.
func (a *Agreement) place(k int) int { return max(0, k/a.plan.Every-a.plan.First) % a.length() }

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

// note returns the mark for the messages of the exchange that begins.
func (a *Agreement) note() mark {
	m := newMark(a.told, a.loss)
	a.said = m.loss()
	return m
}

// heard enters the messages of one hop with their marks.
func (a *Agreement) heard(in []algos.Message, marks []uint32) {
	for j := range marks {
		m := mark(marks[j])
		a.told = max(a.told, m.bits())
		a.loss += float64(float64(in[j].Weight) * (m.loss() - a.said))
	}
}

// exchanged ends the exchange of round k.
func (a *Agreement) exchanged(k int) {
	a.total, a.rounds = a.total+int64(a.Bits(k)), a.rounds+1
	a.next = k/a.plan.Every + 1
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

// clamp keeps a choice in range, because neighbours may forward any number as the choice of worker 0.
func (a *Agreement) clamp(bits int) uint8 { return uint8(min(max(bits, a.plan.Low), a.plan.High)) }

// A mark is the upper half of a note. It has 8 bits for the choice of worker 0, and 24 for the upper bits of a loss as
// a float32.
type mark uint32

const lossBits = 24

func newMark(bits uint8, loss float64) mark {
	return mark(bits)<<lossBits | mark(math.Float32bits(float32(clampLoss(loss)))>>(32-lossBits))
}

func (m mark) bits() uint8 { return uint8(m >> lossBits) }

// loss returns the loss within the bounds of clampLoss, because a mark may hold any bits.
func (m mark) loss() float64 {
	v := float64(math.Float32frombits(uint32(m) << (32 - lossBits)))
	if v != v {
		return 0
	}
	return clampLoss(v)
}

// clampLoss bounds a loss by ±2²⁰, so that one worker cannot ruin the mean; NaN stays NaN.
func clampLoss(loss float64) float64 {
	const largest = 1 << 20
	return max(-largest, min(largest, loss))
}
