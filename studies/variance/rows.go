package main

import (
	"fmt"
	"slices"
	"strings"

	"gossiptrainer/internal/experiment"
	"gossiptrainer/studies/gradients"
)

// preset is the training run that provides the gradients, with the settings of network.
const preset = "ring8-fashion"

// network is a small CNN and plain gradients: no momentum, four workers.
var network = []string{
	"model.name=lenet", "topology.size=4", "algorithm.codec=full", "train.momentum=0", "train.step_size=0.1",
}

// A row is a compressor: its name and settings as in gradients.AllGather.
type row struct {
	name, settings string
}

// figured are the quantizers of the figure. The norm is the largest magnitude
// of a bucket unless the name says 2.
func figured() []row {
	return []row{
		{"ALQ", "alq bits=3"}, {"ALQ-N", "alqn bits=3"}, {"AMQ", "amq bits=3"}, {"AMQ-N", "amqn bits=3"},
		{"ORQ-9", "orq levels=9"}, {"ORQ-5", "orq levels=5"}, {"NUQSGD-inf", "nuqsgd bits=3"},
		{"QSGD-inf", "qsgd bits=3"}, {"TernGrad", "terngrad"}, {"Linear-9", "linear_s levels=9"},
		{"NUQSGD-2", "nuqsgd bits=3 norm=l2"}, {"QSGD-2", "qsgd bits=3 norm=l2"},
	}
}

// best names the adaptive quantizers and the best of the others.
func best() []string {
	return []string{"ALQ", "ALQ-N", "AMQ", "AMQ-N", "ORQ-9", "ORQ-5", "QSGD-inf", "NUQSGD-inf"}
}

// tabulated are all compressors, for the table.
func tabulated() []row {
	return []row{
		{"full precision", "full"},
		{"linear grid, step 0.01", "linear mode=stochastic"},
		{"min-max, 4 bits", "minmax bits=4"},
		{"QSGD-inf, 4 bits", "qsgd bits=4"},
		{"QSGD-inf, 3 bits", "qsgd bits=3"},
		{"NUQSGD-inf, 3 bits", "nuqsgd bits=3"},
		{"ALQ, 3 bits", "alq bits=3"},
		{"AMQ, 3 bits", "amq bits=3"},
		{"ORQ-9", "orq levels=9"},
		{"ORQ-5", "orq levels=5"},
		{"Linear-9", "linear_s levels=9"},
		{"TernGrad", "terngrad"},
		{"BinGrad-pb", "bingrad_pb"},
		{"BinGrad-b", "bingrad_b"},
		{"sign", "sign"},
		{"top-k, 1 %", "topk ratio=0.01"},
		{"random-k, 1 %", "randomk ratio=0.01"},
	}
}

// run returns a run with the compressor of r. Adaptive levels are fitted in the rounds fits. The settings in more come
// last.
func (r row) run(fits []int, more []string) (*experiment.Run, error) {
	set := slices.Concat(network, gradients.AllGather(r.settings))
	if strings.HasPrefix(r.settings, "alq") || strings.HasPrefix(r.settings, "amq") {
		set = append(set, "algorithm.compressor.refit_at="+list(fits), "algorithm.compressor.refit_every=0")
	}
	set = append(set, more...)
	run, err := gradients.Assemble(preset, set)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	return run, nil
}

// list writes rounds as YAML does.
func list(rounds []int) string { return strings.Join(strings.Fields(fmt.Sprint(rounds)), ",") }
