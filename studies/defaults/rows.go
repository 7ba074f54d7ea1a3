package main

import (
	"fmt"
	"slices"

	"gossiptrainer/internal/experiment"
)

// bits are the columns of the table for what has bits.
var bits = []int{1, 2, 4, 8}

// compressors are all values of algorithm.compressor.name.
var compressors = []string{
	"full", "linear", "minmax", "qsgd", "terngrad", "nuqsgd", "levels", "alq", "alqn", "alqg", "alqgn", "amq", "amqn",
	"orq", "linear_s", "bingrad_pb", "bingrad_b", "sign", "topk", "randomk",
}

// A host is an algorithm that sends by a compressor. DCD, ECD and naive exchange need
// fine compressors: their errors are not fed back.
type host struct {
	name, set  string
	mayDiverge bool
}

var hosts = []host{
	{"choco", "name: choco", false},
	{"deepsqueeze", "name: deepsqueeze", false},
	{"dcd", "name: dcd", true},
	{"ecd", "name: ecd", true},
	{"naive", "name: naive", true},
	{"allreduce by allgather", "name: allreduce, reduce: allgather", false},
	{"allreduce by server", "name: allreduce, reduce: server", false},
}

// A row is an algorithm with one codec or compressor.
type row struct {
	name, messages string
	mayDiverge     bool
	cells          []cell // one per column of bits, or one alone
}

// rows returns the rows of the table, of one algorithm if only names it.
func rows(only string) []row {
	var all []row
	for _, name := range []string{"dpsgd", "d2", "adpsgd"} {
		moniqua := row{name: name, messages: "moniqua"}
		for _, b := range bits {
			moniqua.cells = append(moniqua.cells, newCell(fmt.Sprintf("algorithm={name: %s, bits: %d}", name, b)))
		}
		full := row{name: name, messages: "full", cells: []cell{newCell(fmt.Sprintf("algorithm={name: %s, bits: 32}", name))}}
		all = append(all, moniqua, full)
	}
	all = append(all, row{name: "allreduce", messages: "full", cells: []cell{newCell("algorithm={name: allreduce}")}})
	for _, h := range hosts {
		for _, c := range compressors {
			all = append(all, h.row(c))
		}
	}
	return slices.DeleteFunc(all, func(r row) bool { return only != "" && r.name != only })
}

func (h host) row(compressor string) row {
	r := row{name: h.name, messages: compressor, mayDiverge: h.mayDiverge || amplifies(h, compressor)}
	widths := []int{0}
	if experiment.HasBits(compressor) {
		widths = bits
	}
	for _, b := range widths {
		settings := "name: " + compressor
		if b > 0 {
			settings += fmt.Sprintf(", bits: %d", b)
		}
		if compressor == "levels" { // the one that has no default
			settings += ", table: [0, 0.1, 0.4, 1]"
		}
		r.cells = append(r.cells, newCell(fmt.Sprintf("algorithm={%s, compressor: {%s}}", h.set, settings)))
	}
	return r
}

// amplifies says whether a server multiplies noise beyond what any step size of the
// preset bears: random-k of 1 % has 99 times the variance, on the way up and down.
func amplifies(h host, compressor string) bool {
	return h.name == "allreduce by server" && compressor == "randomk"
}
