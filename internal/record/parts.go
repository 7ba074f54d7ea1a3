package record

import (
	"fmt"
	"time"
)

// Parts are the parts of a round in seconds, as means over the recorded rounds of all workers.
type Parts struct {
	Compute  float64 `json:"compute_s"`
	Wait     float64 `json:"wait_s"`
	Codec    float64 `json:"codec_s"`
	HandOver float64 `json:"handover_s"`
}

// A PartsSum sums up the parts of recorded rounds.
type PartsSum struct {
	compute, wait, codec, over time.Duration
	steps                      int
}

// See adds a recorded round.
func (p *PartsSum) See(s Step) {
	p.compute += s.Compute
	p.wait += s.Wait
	p.codec += s.Codec
	p.over += s.HandOver
	p.steps++
}

// Mean returns the means, nil of a run whose models are built in: it hands nothing over.
func (p *PartsSum) Mean() *Parts {
	if p.over == 0 {
		return nil
	}
	mean := func(sum time.Duration) float64 { return sum.Seconds() / float64(p.steps) }
	return &Parts{mean(p.compute), mean(p.wait), mean(p.codec), mean(p.over)}
}

// String describes the parts for people.
func (p *Parts) String() string {
	const ms = 1e3
	return fmt.Sprintf("%.2f ms compute, %.2f ms wait, %.2f ms codec, %.2f ms hand-over",
		ms*p.Compute, ms*p.Wait, ms*p.Codec, ms*p.HandOver)
}
