package script

import (
	"slices"
	"testing"
	"time"

	"gossiptrainer/internal/record"
)

// A hearer keeps the steps that reach the record.
type hearer struct {
	rounds []int
	losses []float64
	over   []time.Duration
	others int
}

func (h *hearer) hear(e record.Event) {
	if e.Step == nil {
		h.others++
		return
	}
	h.rounds, h.losses = append(h.rounds, e.Step.Round), append(h.losses, e.Step.Loss)
	h.over = append(h.over, e.Step.HandOver)
}

func step(round int) record.Event {
	return record.Event{Step: &record.Step{Round: round, Loss: -1, Compute: 5 * time.Millisecond}}
}

func (h *hearer) want(t *testing.T, rounds []int, losses []float64) {
	t.Helper()
	if !slices.Equal(h.rounds, rounds) || !slices.Equal(h.losses, losses) {
		t.Errorf("heard the rounds %v with the losses %v, want %v with %v", h.rounds, h.losses, rounds, losses)
	}
}

func TestAStepWaitsForTheLossOfItsRound(t *testing.T) {
	var h hearer
	l := newLate()
	observe := l.Observe(h.hear)
	l.stepped(0, time.Millisecond)
	observe(step(1))
	h.want(t, nil, nil)
	l.Loss(0, 7)
	h.want(t, nil, nil) // the script may log another loss of that round
	l.Loss(0, 6)
	l.stepped(1, 2*time.Millisecond)
	h.want(t, []int{1}, []float64{6})
	observe(step(2))
	l.Loss(1, 5)
	l.Flush()
	h.want(t, []int{1, 2}, []float64{6, 5})
	if !slices.Equal(h.over, []time.Duration{time.Millisecond, 2 * time.Millisecond}) {
		t.Errorf("hand-over took %v, want 1 and 2 ms", h.over)
	}
}

// Workers that exchange while the script computes finish a round after the script has begun the next one.
func TestAStepThatComesAfterItsLossPassesAtOnce(t *testing.T) {
	var h hearer
	l := newLate()
	observe := l.Observe(h.hear)
	l.stepped(0, 0)
	l.Loss(0, 3)
	l.stepped(1, 0)
	observe(step(1))
	h.want(t, []int{1}, []float64{3})
}

func TestRoundsWithoutALossHaveTheOneBefore(t *testing.T) {
	var h hearer
	l := newLate()
	observe := l.Observe(h.hear)
	for k := range 6 {
		l.stepped(k, 0)
		if k == 1 || k == 4 {
			l.Loss(k, float64(10*k))
		}
		observe(step(k + 1))
	}
	l.Flush()
	h.want(t, []int{1, 2, 3, 4, 5, 6}, []float64{-1, 10, 10, 10, 40, 40})
	if len(l.losses) > 1 || len(l.over) > 0 {
		t.Errorf("keeps the losses %v and the times %v of rounds that are over", l.losses, l.over)
	}
}

func TestOtherEventsDoNotWait(t *testing.T) {
	var h hearer
	newLate().Observe(h.hear)(record.Event{Status: &record.Status{State: record.Training}})
	if h.others != 1 {
		t.Error("a status waits for a loss")
	}
}

func TestComputingExcludesHandOver(t *testing.T) {
	var got record.Step
	l := newLate()
	observe := l.Observe(func(e record.Event) { got = *e.Step })
	l.stepped(0, 2*time.Millisecond)
	observe(step(1))
	l.Flush()
	if got.Compute != 3*time.Millisecond || got.HandOver != 2*time.Millisecond {
		t.Errorf("computing took %v and hand-over %v, want 3 and 2 ms", got.Compute, got.HandOver)
	}
}
