package main

import (
	"fmt"
	"regexp"
	"strings"
)

// A row is one run.
type row struct {
	name     string
	mode     string // sim or lab
	preset   string
	settings []string // key=value
}

// named finds the algorithm in the settings of a row.
var named = regexp.MustCompile(`algorithm=\{name: (\w+)`)

// algorithm returns the name of the algorithm of a run.
func (r row) algorithm() string {
	if found := named.FindStringSubmatch(strings.Join(r.settings, " ")); found != nil {
		return found[1]
	}
	if r.preset == "adpsgd6" {
		return "adpsgd"
	}
	return "dpsgd"
}

// args returns the arguments of peer.
func (r row) args() []string {
	args := []string{r.mode, r.preset}
	if r.mode == "sim" {
		args = append(args, "--compute", "1ms")
	}
	for _, s := range r.settings {
		args = append(args, "--set", s)
	}
	return args
}

// algorithms are settings of the section algorithm, one run each.
var algorithms = []string{
	"name: dpsgd, bits: 32", "name: dpsgd, bits: 32, order: atc", "name: dpsgd, bits: 8", "name: dpsgd, bits: 4",
	"name: dpsgd, bits: 2", "name: dpsgd, bits: 1", "name: dpsgd, levels: 5", "name: dpsgd, order: atc",
	"name: dpsgd, rounding: nearest", "name: dpsgd, rounding: shared", "name: dpsgd, rounding: stochastic",
	"name: dpsgd, local_steps: 4", "name: dpsgd, theta: {rule: certified, verify: false}",
	"name: dpsgd, theta: {rule: theorem}", "name: dpsgd, theta: {rule: fixed, value: 0.5}",
	"name: dpsgd, theta: {rule: measured}", "name: dpsgd, bits: 32, clip: {liars: 1}",
	"name: dpsgd, controller: {name: oland-raj}",
	"name: d2, bits: 32", "name: d2, bits: 8", "name: d2, bits: 3",
	"name: adpsgd, bits: 32", "name: adpsgd, bits: 8", "name: adpsgd, bits: 2",
	"name: allreduce",
	"name: allreduce, reduce: allgather, compressor: {name: qsgd, bits: 4}",
	"name: allreduce, reduce: allgather, error_feedback: true, compressor: {name: sign}",
	"name: allreduce, reduce: server, compressor: {name: minmax, bits: 4, mode: stochastic}",
	"name: naive, compressor: {name: linear, step: 0.01}",
	"name: ecd, compressor: {name: linear, step: 0.001, mode: stochastic}",
	"name: dcd, compressor: {name: minmax, bits: 8, mode: stochastic}",
	"name: deepsqueeze, compressor: {name: topk}", "name: deepsqueeze, compressor: {name: minmax, bits: 8}",
}

// compressors are settings of the section compressor, one run of ChocoSGD each.
var compressors = []string{
	"name: full", "name: linear", "name: minmax, bits: 4", "name: qsgd", "name: terngrad, scaled: true", "name: nuqsgd",
	"name: levels, table: [0, 0.1, 0.4, 1], scaled: true", "name: alq", "name: alqn", "name: alqg", "name: alqgn",
	"name: amq", "name: amqn", "name: orq", "name: linear_s, scaled: true", "name: bingrad_pb", "name: bingrad_b",
	"name: sign", "name: topk", "name: randomk, scaled: true",
}

// graphs are settings of the section topology, one run each.
var graphs = []string{
	"kind: torus, rows: 2, cols: 4", "kind: complete", "kind: star", "kind: path", "kind: exponential", "kind: hypercube",
	"kind: ring, size: 5", "kind: ring, size: 1",
}

// presets are runs of the embedded run files. The others need data sets.
var presets = []string{"ring8", "adpsgd6", "lan-ring"}

// rows lists all runs.
func rows() []row {
	var all []row
	add := func(mode, preset, name string, settings ...string) {
		all = append(all, row{mode + " " + name, mode, preset, append(settings, "train.rounds=40")})
	}
	for _, preset := range presets {
		add("sim", preset, preset)
	}
	for _, a := range algorithms {
		add("sim", "ring8", a, fmt.Sprintf("algorithm={%s}", a))
	}
	for _, c := range compressors {
		add("sim", "ring8", "choco, "+c, fmt.Sprintf("algorithm={name: choco, compressor: {%s}}", c))
	}
	for _, g := range graphs {
		add("sim", "ring8", g, fmt.Sprintf("topology={%s}", g))
	}
	for _, coder := range []string{"auto", "huff0", "fse", "zstd", "bzip2"} {
		add("sim", "ring8", "entropy "+coder, "wire.entropy="+coder)
	}
	add("sim", "ring8", "limited", "limit={rate: 20mbit, latency: 2ms, jitter: 1ms, loss: 0.01}")
	for _, a := range algorithms { // one run per setting
		if strings.HasPrefix(a, "name: adpsgd") {
			continue
		}
		add("lab", "ring8", a, fmt.Sprintf("algorithm={%s}", a), "topology.size=4")
		add("sim", "ring8", a+", four workers", fmt.Sprintf("algorithm={%s}", a), "topology.size=4")
	}
	return all
}
