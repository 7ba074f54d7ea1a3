package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// A cost holds the costs of the messages of a compressor, as means over the samples.
type cost struct {
	name string
	// Bits per parameter: packed, coded by the two coders, and in an ideal code
	// of order 0, where 0 stands for no symbols.
	packed, huff0, auto, ideal float64
	lost                       float64 // |C(z) − z|²/|z|²

	encode, decode, copying time.Duration // of all parameters of the samples that are timed
	timed                   int           // parameters
}

// measure returns the cost of a messenger. It passes the samples in the order of their rounds, so that adaptive levels
// follow. Only the rounds that the plan looks at count. Times also exclude the rounds in which levels are fitted.
func measure(name string, m messenger, p plan, samples []sample, spend time.Duration) (cost, error) {
	c := cost{name: name}
	looked, fits := p.looked(), p.fits()
	w, err := newWeigher(m)
	if err != nil {
		return c, err
	}
	var calm []sample
	for _, s := range samples {
		seen, err := w.weigh(s)
		if err != nil {
			return c, fmt.Errorf("%s: %w", name, err)
		}
		if slices.Contains(looked, s.round) {
			c.add(seen, 1/float64(len(looked)))
		}
		if !slices.Contains(fits, s.round) {
			calm = append(calm, s)
		}
	}
	if len(calm) == 0 {
		return c, fmt.Errorf("%s: levels are fitted in every round that is looked at: look at more", name)
	}
	if err := c.clock(m, calm, spend); err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// add adds a share of the bits and the loss of another cost.
func (c *cost) add(other cost, share float64) {
	c.packed += share * other.packed
	c.huff0 += share * other.huff0
	c.auto += share * other.auto
	c.ideal += share * other.ideal
	c.lost += share * other.lost
}

// clock takes the shortest of several times for each sample, because the load of the machine only adds time. It takes
// all times in turn.
func (c *cost) clock(m messenger, samples []sample, spend time.Duration) error {
	type times struct{ encode, decode, copying time.Duration }
	least := make([]times, len(samples))
	for i := range least {
		least[i] = times{time.Hour, time.Hour, time.Hour}
	}
	var payload []byte
	target := make([]float32, len(samples[0].gradient))
	for began := time.Now(); ; {
		for i, s := range samples {
			begin := time.Now()
			copy(target, s.gradient)
			copied := time.Now()
			var err error
			if payload, err = m.encode(payload[:0], s); err != nil {
				return err
			}
			encoded := time.Now()
			if err := m.decode(s, payload); err != nil {
				return err
			}
			t := &least[i]
			t.decode = min(t.decode, time.Since(encoded))
			t.encode, t.copying = min(t.encode, encoded.Sub(copied)), min(t.copying, copied.Sub(begin))
		}
		if time.Since(began) >= spend {
			break
		}
	}
	for i, t := range least {
		c.encode, c.decode, c.copying = c.encode+t.encode, c.decode+t.decode, c.copying+t.copying
		c.timed += len(samples[i].gradient)
	}
	return nil
}

// perParameter returns nanoseconds.
func (c cost) perParameter(all time.Duration) float64 { return float64(all) / float64(c.timed) }

// fastestCopy returns the nanoseconds per parameter of the fastest copy. All compressors copy the same vectors.
func fastestCopy(costs []cost) float64 {
	least := math.Inf(1)
	for _, c := range costs {
		least = min(least, c.perParameter(c.copying))
	}
	return least
}

// measureAll returns the costs of all compressors, and of the modulo codec.
func measureAll(ctx context.Context, p plan, samples []sample, spend time.Duration) ([]cost, error) {
	var costs []cost
	add := func(name string, m messenger) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c, err := measure(name, m, p, samples, spend)
		costs = append(costs, c)
		return err
	}
	for _, r := range tabulated() {
		m, err := r.messenger(p)
		if err != nil {
			return nil, err
		}
		if err := add(r.name, m); err != nil {
			return nil, err
		}
	}
	for _, bits := range []int{8, 4, 1} {
		m, err := newModular(bits, samples)
		if err != nil {
			return nil, fmt.Errorf("moniqua, %d bits: %w", bits, err)
		}
		if err := add(fmt.Sprintf("Moniqua, %d bit", bits), m); err != nil {
			return nil, err
		}
	}
	return costs, nil
}
