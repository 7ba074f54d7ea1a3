package rehearse

import (
	"fmt"
	"slices"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/internal/work"
	"gossiptrainer/quant"
)

// Measuring takes the first rounds of a run in this process, without links, and times what its machines do. It runs
// until it has enough rounds or its time is over.
const (
	measureRounds = 60
	measureTime   = 2 * time.Second
)

// Gradient returns the shortest time of a gradient of worker 0 on this machine among samples gradients, at least
// 1. It builds a worker of its own, because gradients change momentum.
func Gradient(run *experiment.Run, samples int) (time.Duration, error) {
	w, err := build.New(run, 0, nil)
	if err != nil {
		return 0, err
	}
	x := w.Machine.Params()
	g := make([]float32, len(x))
	least := time.Duration(1<<63 - 1)
	for k := range samples {
		began := time.Now()
		if _, err := w.Gradient(g, k, x); err != nil {
			return 0, err
		}
		least = min(least, time.Since(began))
	}
	return least, nil
}

// Costs measures the costs of a run on this machine, apart from those of links. Its workers are its own.
func Costs(run *experiment.Run) (cost.Costs, error) {
	workers, err := build.All(run)
	if err != nil {
		return cost.Costs{}, err
	}
	return CostsOf(build.Tasks(workers))
}

// CostsOf measures the costs of workers on this machine, apart from those of links.
func CostsOf(tasks []work.Task) (cost.Costs, error) {
	m := &rehearsal{tasks: tasks, asked: make([]*gossip.Ready, len(tasks)), rounds: make([]int, len(tasks)),
		goesOn: true}
	began := time.Now()
	for i := range tasks {
		if err := m.poll(i, act{}); err != nil {
			return cost.Costs{}, err
		}
	}
	for m.goesOn && slices.Min(m.rounds) < measureRounds && (time.Since(began) < measureTime || m.rounds[0] == 0) {
		m.goesOn = false
		if err := m.turn(); err != nil {
			return cost.Costs{}, err
		}
	}
	return m.costs(), nil
}

// A rehearsal runs machines side by side and times them.
type rehearsal struct {
	tasks  []work.Task
	asked  []*gossip.Ready // by worker: a request for a gradient
	rounds []int           // by worker: that are over
	frames []gossip.Frame  // on their way
	acts   []act
	goesOn bool
	figures
}

// An act is what a machine does at one event. Its bytes are those of payloads.
type act struct {
	took                time.Duration
	made, used, repairs int
	crosses             bool // it ends a round
}

// figures are what a rehearsal has measured.
type figures struct {
	gradient             []float64 // ns
	encode, pack, unpack []float64 // ns per byte of a payload
	encoder              *entropy.Encoder
	decoder              entropy.Decoder
}

// turn takes a gradient for each worker that asks, and then delivers all frames. So every piece is mixed as soon as it
// is there, and the last one ends the round.
func (m *rehearsal) turn() error {
	for i, r := range m.asked {
		if r == nil {
			continue
		}
		m.goesOn, m.asked[i] = true, nil
		t := &m.tasks[i]
		g := make([]float32, len(r.At))
		began := time.Now()
		loss, err := t.Gradient(g, r.Round, r.At)
		if err != nil {
			return fmt.Errorf("measure: worker %d round %d: %w", i, r.Round, err)
		}
		took := time.Since(began)
		m.gradient = append(m.gradient, float64(took))
		if err := m.event(i, act{}, func() error { return t.Machine.Gradient(g, loss, took) }); err != nil {
			return err
		}
	}
	frames := m.frames
	m.frames = nil
	for _, f := range frames {
		m.goesOn = true
		var a act
		if f.Kind == gossip.Repair {
			a.repairs = len(f.Payload)
		}
		if err := m.event(int(f.To), a, func() error { return m.tasks[f.To].Machine.Receive(f) }); err != nil {
			return err
		}
	}
	return nil
}

// event lets a machine handle an event, and carries out its requests.
func (m *rehearsal) event(i int, a act, do func() error) error {
	began := time.Now()
	err := do()
	a.took = time.Since(began)
	if err != nil {
		return fmt.Errorf("measure: worker %d: %w", i, err)
	}
	return m.poll(i, a)
}

// poll carries out the requests of a machine after an event. The first one belongs to the event. Each further one makes
// a piece of a message, or is an act of its own.
func (m *rehearsal) poll(i int, a act) error {
	for first, more := true, true; more; first = false {
		began := time.Now()
		r := m.tasks[i].Machine.Ready()
		took := time.Since(began)
		if r.Failed != nil {
			return fmt.Errorf("measure: worker %d round %d: %w", i, r.Round, r.Failed)
		}
		if err := m.sent(i, &a, r.Send); err != nil {
			return err
		}
		for _, payload := range r.Spent {
			a.used += len(payload)
		}
		a.took += took
		a.crosses = r.Round > m.rounds[i]
		m.rounds[i] = r.Round
		if first || a.made == 0 || a.used > 0 || a.crosses {
			m.acts = append(m.acts, a)
		} else {
			m.encode = append(m.encode, float64(took)/float64(a.made))
		}
		a = act{}
		if r.Compute && !r.Done {
			m.asked[i] = &r
		}
		more = r.More
	}
	return nil
}

// sent puts frames on their way, and counts the bytes of messages and repairs.
func (m *rehearsal) sent(i int, a *act, frames []gossip.Frame) (err error) {
	for rest := frames; len(rest) > 0; {
		f := rest[0]
		switch f.Kind {
		case gossip.Data:
			a.made += len(f.Payload)
			err = m.code(&m.tasks[i], f)
		case gossip.Repair:
			a.repairs += len(f.Payload)
		}
		rest = rest[gossip.Shared(rest):]
	}
	m.frames = append(m.frames, frames...)
	return err
}

// code times the entropy coding of a message, if it is coded.
func (m *rehearsal) code(t *work.Task, f gossip.Frame) (err error) {
	if t.Coding.Entropy == entropy.Plain || len(f.Payload) == 0 {
		return nil
	}
	if m.encoder == nil {
		if m.encoder, err = entropy.NewEncoder(t.Coding.Entropy, entropy.Typical()); err != nil {
			return err
		}
	}
	layout := quant.Bytes(len(f.Payload))
	if t.Coding.Layout != nil {
		layout = t.Coding.Layout(f)
	}
	began := time.Now()
	coded, by, err := m.encoder.Encode(nil, f.Payload, layout, 1)
	if err != nil {
		return err
	}
	m.pack = append(m.pack, float64(time.Since(began))/float64(len(f.Payload)))
	if by == entropy.Plain {
		return nil
	}
	plain := make([]byte, len(f.Payload))
	began = time.Now()
	if err := m.decoder.Decode(plain, by, coded); err != nil {
		return err
	}
	m.unpack = append(m.unpack, float64(time.Since(began))/float64(len(f.Payload)))
	return nil
}

// costs returns the costs that follow from the second half of the acts: in the first one bounds settle. Where a message
// is one piece, its mixing includes the end of the round.
func (m *rehearsal) costs() cost.Costs {
	encode := usual(m.encode)
	late := m.acts[len(m.acts)/2:]
	mix := usual(each(late, func(a act) (float64, bool) {
		return float64(a.took) / float64(a.used), a.used > 0 && a.made == 0 && a.repairs == 0 && !a.crosses
	}))
	whole := mix == 0
	if whole {
		mix = usual(each(late, func(a act) (float64, bool) {
			return (float64(a.took) - encode*float64(a.made)) / float64(a.used), a.used > 0 && a.repairs == 0
		}))
	}
	round := usual(each(late, func(a act) (float64, bool) {
		return float64(a.took) - encode*float64(a.made) - mix*float64(a.used), !whole && a.crosses && a.repairs == 0
	}))
	repair := usual(each(m.acts, func(a act) (float64, bool) {
		return (float64(a.took) - mix*float64(a.used)) / float64(a.repairs), a.repairs > 0 && a.made == 0 && !a.crosses
	}))
	if repair <= 0 {
		repair = mix
	}
	return cost.Costs{
		Gradient: time.Duration(usual(m.gradient)), Round: time.Duration(max(0, round)),
		Encode: perMegabyte(encode + usual(m.pack)), Mix: perMegabyte(mix + usual(m.unpack)), Repair: perMegabyte(repair),
	}
}

// each returns a figure of every act that has one.
func each(acts []act, figure func(act) (float64, bool)) (all []float64) {
	for _, a := range acts {
		if v, ok := figure(a); ok {
			all = append(all, v)
		}
	}
	return all
}

func perMegabyte(nsPerByte float64) time.Duration {
	return time.Duration(1e6 * max(0, nsPerByte)).Round(time.Microsecond)
}

// usual returns the lower quartile: other programs make the longest times longer. It is 0 without figures.
func usual(figures []float64) float64 {
	if len(figures) == 0 {
		return 0
	}
	slices.Sort(figures)
	return figures[len(figures)/4]
}
