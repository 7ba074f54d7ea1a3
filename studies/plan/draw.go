package main

import (
	"fmt"
	"math"

	"gossiptrainer/internal/rng"
)

// A setting is a run file, and one candidate beside it.
type setting struct {
	peers    int
	model    model
	rate     float64 // Mbit/s
	latency  float64 // ms
	momentum float64
	bits     int
	graph    string
	steps    int
	rounds   int
}

// A model is one on the built-in data.
type model struct {
	name    string
	section string  // of the run file
	dim     int     // parameters
	ms      float64 // about, of a gradient
}

var models = []model{
	{"logistic", "model: {name: logistic}\n", 7850, 0.05},
	{"mlp 16", "model: {name: mlp, hidden: [16]}\n", 12730, 0.06},
	{"mlp 64", "model: {name: mlp, hidden: [64]}\n", 50890, 0.15},
	{"lenet", "model: {name: lenet}\n", 61706, 5},
}

// draws returns settings that follow from a seed.
func draws(seed uint64, count int) []setting {
	all := make([]setting, count)
	for i := range all {
		all[i] = draw(rng.At(seed, i))
	}
	return all
}

// draw draws one setting. Rates are spread evenly over their logarithms.
func draw(from rng.Key) setting {
	k := uint32(0)
	uniform := func() float64 {
		k++
		return float64(from.Uniform(k))
	}
	pick := func(n int) int { return int(uniform() * float64(n)) }
	s := setting{peers: 2 + pick(7), model: models[pick(len(models))]}
	s.rate = math.Round(5 * math.Pow(40, uniform()))
	s.latency = math.Round(200*uniform()) / 10
	s.momentum = []float64{0, 0.9}[pick(2)]
	s.bits = []int{32, 8, 4, 2, 1}[pick(5)]
	s.graph = s.graphs()[pick(len(s.graphs()))]
	s.steps = 1 + pick(4)
	s.rounds = s.affordable()
	return s
}

// graphs returns those that differ for the number of peers.
func (s *setting) graphs() []string {
	switch s.peers {
	case 2, 3:
		return []string{"ring", "one-peer-exponential"}
	case 6, 8:
		return []string{"ring", "torus", "complete", "one-peer-exponential"}
	}
	return []string{"ring", "complete", "one-peer-exponential"}
}

// affordable returns the rounds for about twelve seconds of the slower one of the two candidates on two cores.
func (s *setting) affordable() int {
	messages := map[string]int{"ring": 2, "torus": 3, "complete": s.peers - 1, "one-peer-exponential": 1}[s.graph]
	bytes := max(2*s.model.dim, messages*s.model.dim*s.bits/8/s.steps)
	round := float64(bytes)*8/s.rate/1e6 + s.latency/1e3 + s.model.ms*float64(s.peers)/2e3
	const spend, fewest, most = 12, 40, 600
	return int(min(most, max(fewest, spend/round)))
}

// runFile returns the run file, in which D-PSGD sends 8 bit around a ring.
func (s *setting) runFile() string {
	return fmt.Sprintf(`name: plan
topology: {kind: ring, size: %d}
algorithm: {bits: 8}
limit: {rate: %gmbit, latency: %gms}
%strain: {rounds: %d, momentum: %g}
output: {every: 2}
`, s.peers, s.rate, s.latency, s.model.section, s.rounds, s.momentum)
}

// String describes the setting in a line.
func (s *setting) String() string {
	return fmt.Sprintf("%d peers, %s, momentum %g, %g Mbit/s, %g ms", s.peers, s.model.name, s.momentum, s.rate, s.latency)
}
