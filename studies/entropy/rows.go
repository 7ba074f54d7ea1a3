package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/sim"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// preset is the situation that all rows share.
const preset = "ring8-fashion"

// A row is one run: the preset with some settings changed.
type row struct {
	name     string
	settings []string // key=value
}

// rows are the runs of the table. A theta that the run chooses is tight; 0.5 is far above the differences between
// neighbours.
func rows() []row {
	var all []row
	for _, bits := range []int{8, 4, 3, 1} {
		tight := []string{fmt.Sprintf("algorithm.bits=%d", bits)}
		if bits == 1 {
			tight = append(tight, "topology.slack=0.1")
		}
		wide := append([]string{"algorithm.theta.rule=fixed", "algorithm.theta.value=0.5", "algorithm.theta.verify=false"},
			tight...)
		all = append(all, row{fmt.Sprintf("Moniqua %d bit", bits), tight},
			row{fmt.Sprintf("Moniqua %d bit, θ 0.5", bits), wide})
	}
	return append(all,
		row{"ChocoSGD QSGD 4 bit", []string{"algorithm.name=choco", "algorithm.codec=full", "algorithm.gamma=0.3",
			"algorithm.compressor.scaled=true"}},
		row{"D-PSGD 32 bit", []string{"algorithm.bits=32"}},
	)
}

// A payload is a sent payload with its layout.
type payload struct {
	bytes  []byte
	layout quant.Layout
}

// kept is the number of payloads of a run that are measured.
const kept = 5

// payloads runs r on the simulator. It returns some payloads of worker 0, spread over the second half of the run, and
// the number of parameters.
func (r row) payloads(ctx context.Context, rounds int) (sent []payload, parameters int, err error) {
	loaded, err := configs.Load(configs.Source{File: preset,
		Set: append(r.settings, fmt.Sprintf("train.rounds=%d", rounds))})
	if err != nil {
		return nil, 0, err
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		return nil, 0, err
	}
	workers, err := build.All(run)
	if err != nil {
		return nil, 0, err
	}
	tasks := build.Tasks(workers)
	every := max(1, rounds/2/kept)
	tasks[0].Machine = &recorder{Machine: workers[0].Machine, keep: func(f gossip.Frame) {
		if f.Kind == gossip.Data && f.Round >= rounds/2 && f.Round%every == 0 && len(sent) < kept {
			sent = append(sent, payload{append([]byte(nil), f.Payload...), workers[0].Coding.Layout(f)})
		}
	}}
	_, err = sim.Run(ctx, tasks, sim.Options{
		Compute: func(topology.Rank, int) time.Duration { return time.Millisecond },
	})
	return sent, run.Parameters(), err
}

// A recorder passes each message that a machine sends to a function, once.
type recorder struct {
	gossip.Machine
	keep func(f gossip.Frame)
}

// Ready calls the machine's Ready.
func (r *recorder) Ready() gossip.Ready {
	ready := r.Machine.Ready()
	for rest := ready.Send; len(rest) > 0; rest = rest[gossip.Shared(rest):] {
		r.keep(rest[0])
	}
	return ready
}

// A result is one coder on the payloads of one run.
type result struct {
	name        string
	coder       entropy.Coder
	plain, bits float64 // per parameter, without header
	coding      float64 // nanoseconds per parameter
	decoding    float64
}

// measure runs r and codes its payloads.
func (r row) measure(ctx context.Context, rounds int) ([]result, error) {
	sent, parameters, err := r.payloads(ctx, rounds)
	if err != nil {
		return nil, err
	}
	if len(sent) == 0 {
		return nil, fmt.Errorf("no payload in %d rounds", rounds)
	}
	var results []result
	for _, c := range []entropy.Coder{entropy.Huff0, entropy.FSE, entropy.Zstd, entropy.Bzip2} {
		got := result{name: r.name, coder: c}
		for _, p := range sent {
			if err := got.add(p, float64(parameters*len(sent))); err != nil {
				return nil, err
			}
		}
		results = append(results, got)
	}
	return results, nil
}

// tries is how often a payload is coded: the fastest counts.
const tries = 5

// add enters one payload; parameters are those of all payloads together.
func (r *result) add(p payload, parameters float64) error {
	encoder, err := entropy.NewEncoder(r.coder, entropy.Costs{})
	if err != nil {
		return err
	}
	var decoder entropy.Decoder
	var coded []byte
	back := make([]byte, len(p.bytes))
	size, coding, decoding := len(p.bytes), math.Inf(1), math.Inf(1)
	for range tries {
		began := time.Now()
		var by entropy.Coder
		if coded, by, err = encoder.Encode(coded[:0], p.bytes, p.layout, 0); err != nil {
			return err
		}
		made := time.Now()
		coding = min(coding, float64(made.Sub(began)))
		if by == entropy.Plain {
			decoding = 0
			continue
		}
		if err := decoder.Decode(back, by, coded); err != nil {
			return err
		}
		size, decoding = len(coded), min(decoding, float64(time.Since(made)))
	}
	r.plain += 8 * float64(len(p.bytes)) / parameters
	r.bits += 8 * float64(size) / parameters
	r.coding += coding / parameters
	r.decoding += decoding / parameters
	return nil
}
