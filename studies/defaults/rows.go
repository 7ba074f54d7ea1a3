package main

import (
	"fmt"
	"slices"

	"gossiptrainer/internal/registry"
)

// bits are the columns of codecs and compressors that have bits.
var bits = []int{1, 2, 4, 8}

// A row is an algorithm with one codec or compressor.
type row struct {
	name, messages string
	mayDiverge     bool
	cells          []cell // one per column of bits, or one alone
}

// rows returns the rows of the table, of one algorithm if only names it.
func rows(only string) []row {
	var all []row
	for _, a := range registry.Algorithms() {
		switch {
		case a.ByCodec():
			all = append(all, byCodec(a)...)
		case a.Compresses():
			for _, c := range registry.CompressorNames("") {
				all = append(all, byCompressor(a, c))
			}
		default:
			all = append(all, row{name: a.Name, messages: "full", cells: []cell{newCell("algorithm={" + named(a) + "}")}})
		}
	}
	return slices.DeleteFunc(all, func(r row) bool { return only != "" && r.name != only })
}

// named returns the keys that choose an algorithm.
func named(a registry.Algorithm) string {
	if a.Form == "" {
		return "name: " + a.Name
	}
	return fmt.Sprintf("name: %s, reduce: %s", a.Name, a.Form)
}

// byCodec returns the rows of an algorithm that sends models by a codec.
func byCodec(a registry.Algorithm) []row {
	full := row{name: a.Name, messages: "full", cells: []cell{newCell(fmt.Sprintf("algorithm={%s, bits: 32}", named(a)))}}
	if !a.ByMoniqua() {
		return []row{full}
	}
	moniqua := row{name: a.Name, messages: "moniqua"}
	for _, b := range bits {
		moniqua.cells = append(moniqua.cells, newCell(fmt.Sprintf("algorithm={%s, bits: %d}", named(a), b)))
	}
	return []row{moniqua, full}
}

// byCompressor returns the row of an algorithm with a compressor. Algorithms without error feedback need fine
// compressors.
func byCompressor(a registry.Algorithm, compressor string) row {
	r := row{name: a.String(), messages: compressor, mayDiverge: a.Fix != "" || amplifies(a, compressor)}
	widths := []int{0}
	if of, _ := registry.FindCompressor(compressor); of.Has("bits") {
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
		r.cells = append(r.cells, newCell(fmt.Sprintf("algorithm={%s, compressor: {%s}}", named(a), settings)))
	}
	return r
}

// amplifies reports whether a server multiplies noise so much that the preset's step size is too large. Random-k of 1 %
// has 99 times the variance, on the way up and on the way down.
func amplifies(a registry.Algorithm, compressor string) bool {
	return a.String() == "allreduce by server" && compressor == "randomk"
}
