package gossiptrainer

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// TrainAll runs the whole run t in this process, with one objective per worker in
// rank order, and returns their results in the same order. It needs no network:
// messages pass in memory. The results are those of Train, bit for bit, on
// machines of the same CPU type. The workers compute their gradients in parallel.
//
// If ctx ends, the error is its cause.
func TrainAll(ctx context.Context, t Training, objectives ...Objective) ([]Result, error) {
	if len(objectives) != t.Workers || t.Workers == 0 {
		return nil, fmt.Errorf("node: %d objectives for %d workers: want one for each, and at least one",
			len(objectives), t.Workers)
	}
	p, err := newPlan(t, objectives[0].Dim())
	if err != nil {
		return nil, err
	}
	all := make(together, t.Workers)
	for i, o := range objectives {
		rank := topology.Rank(i)
		if o.Dim() != p.dim {
			return nil, fmt.Errorf("node: worker %d: the objective has %d parameters, that of worker 0 has %d", i, o.Dim(),
				p.dim)
		}
		m, err := p.machine(rank)
		if err != nil {
			return nil, err
		}
		all[i] = local{machine: m, gradient: p.watched(rank, o), g: make([]float32, p.dim)}
	}
	for began := time.Now(); !all.done(); {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if err := all.advance(time.Since(began)); err != nil {
			return nil, err
		}
	}
	results := make([]Result, t.Workers)
	for i := range all {
		results[i] = result(topology.Rank(i), all[i].machine)
	}
	return results, nil
}

// together are the workers of a run in one process, by rank.
type together []local

// A local is one worker of together.
type local struct {
	machine  gossip.Machine
	gradient work.Gradient
	ready    gossip.Ready

	g    []float32
	loss float32
	err  error
}

func (t together) done() bool {
	return !slices.ContainsFunc(t, func(w local) bool { return !w.ready.Done })
}

// advance collects the Ready of all machines, hands them their gradients, and delivers their messages.
func (t together) advance(now time.Duration) error {
	var computing sync.WaitGroup
	for i := range t {
		w := &t[i]
		if w.ready = w.machine.Ready(); w.ready.Failed != nil {
			w.err = w.ready.Failed
		} else if w.ready.Compute {
			computing.Go(func() { w.loss, w.err = w.gradient(w.g, w.ready.Round, w.ready.At) })
		}
	}
	computing.Wait()
	for i := range t {
		if err := t[i].computed(now); err != nil {
			return fmt.Errorf("node: worker %d: round %d: %w", i, t[i].ready.Round, err)
		}
		for _, f := range t[i].ready.Send {
			f.Payload = bytes.Clone(f.Payload) // the receiver owns it
			if err := t[f.To].machine.Receive(f); err != nil {
				return fmt.Errorf("node: worker %d: message of worker %d: round %d: %w", f.To, f.From, f.Round, err)
			}
		}
	}
	return nil
}

// computed hands the gradient, if there is one, to the machine.
func (w *local) computed(now time.Duration) error {
	switch {
	case w.err != nil:
		return w.err
	case !w.ready.Compute:
		return nil
	}
	return w.machine.Gradient(w.g, w.loss, now)
}
