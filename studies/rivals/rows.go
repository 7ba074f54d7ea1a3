package main

import (
	"fmt"
	"strconv"
)

// A row compares two programs that do the same work.
type row struct {
	work  string
	needs string // module of Python beside NumPy; "": none
	// Workers of a rate: node updates per CPU second, from the difference of a short and a long run. 0: the CPU seconds of
	// one run count.
	workers     int
	short, long int // rounds
	ours        func(f *field, rounds int) []string
	theirs      func(f *field, rounds int) []string
	theirShort  int // rounds of theirs, where they are slower; 0: the same
	theirLong   int
}

// rows returns the comparisons.
func rows() []row {
	var all []row
	for _, bits := range []int{32, 8} {
		for _, workers := range []int{16, 1000, 10000} {
			rounds := 600_000 / workers
			if bits == 32 {
				rounds *= 4
			}
			all = append(all, row{
				work:    fmt.Sprintf("ring of %d, 100 parameters, %d bits", workers, bits),
				workers: workers, short: 5, long: 5 + rounds, theirShort: 5, theirLong: 5 + rounds/4,
				ours: func(f *field, rounds int) []string {
					return f.simulates("topology.size="+strconv.Itoa(workers), "model={name: quadratic, dim: 100}",
						fmt.Sprintf("algorithm={name: dpsgd, bits: %d}", bits),
						fmt.Sprintf("train={rounds: %d, step_size: 0.05, schedule: constant, momentum: 0}", rounds))
				},
				theirs: func(f *field, rounds int) []string {
					return []string{f.python, "studies/rivals/matrix.py", "--workers", strconv.Itoa(workers), "--dim", "100",
						"--bits", strconv.Itoa(bits), "--rounds", strconv.Itoa(rounds)}
				},
			})
		}
	}
	return append(all, row{
		work: "Fashion-MNIST on a ring of 8, to an accuracy of 0.85", needs: "torch",
		ours: func(f *field, _ int) []string {
			words := append([]string{f.peer, "sim", "ring8-fashion", "--until", "accuracy=0.85"}, f.quiet()...)
			return append(words, "--set", "output.every=20") // records end the run; PyTorch evaluates as often
		},
		theirs: func(f *field, _ int) []string {
			return []string{f.python, "studies/rivals/stacked.py", "--data", f.data + "/fashion-mnist"}
		},
	})
}

// simulates returns the command of a simulation.
func (f *field) simulates(set ...string) []string {
	words := append([]string{f.peer, "sim"}, f.quiet()...)
	for _, s := range set {
		words = append(words, "--set", s)
	}
	return words
}

// quiet keeps curves out of the measurement.
func (f *field) quiet() []string {
	return []string{"--json", "--set", "output.dir=" + f.dir, "--set", "output.every=1000000"}
}
