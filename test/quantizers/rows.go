package main

import "strings"

// preset is the situation that all rows share.
const preset = "ring8-fashion"

// A row is one quantizer: the preset with some settings changed.
type row struct {
	name     string
	levels   int // that a coordinate can have, 0 = floats
	settings []string
}

// command returns the arguments of peer that make the run of a seed again.
func (r row) command() string {
	var b strings.Builder
	b.WriteString("peer sim " + preset)
	for _, s := range r.settings {
		b.WriteString(" --set " + s)
	}
	return b.String()
}

// rows are the quantizers of the table, by the number of levels. QSGD has a sign
// and 2^(b-1) magnitudes, zero among them.
func rows() []row {
	return []row{
		{"full precision", 0, algorithm("reduce=ring")},
		{"QSGD, largest magnitude", 7, quantized("name=qsgd bits=3 norm=linf")},
		{"QSGD, length", 7, quantized("name=qsgd bits=3 norm=l2")},
		{"QSGD, largest magnitude", 3, quantized("name=qsgd bits=2 norm=linf")},
		{"sign with feedback", 2, append(quantized("name=sign"), "algorithm.error_feedback=true")},
	}
}

// quantized returns the settings of an all-gather with that compressor.
func quantized(compressor string) []string {
	settings := algorithm("reduce=allgather")
	for s := range strings.FieldsSeq(compressor) {
		settings = append(settings, "algorithm.compressor."+s)
	}
	return settings
}

// algorithm returns those of an all-reduce.
func algorithm(setting string) []string {
	return []string{"algorithm.name=allreduce", "algorithm." + setting}
}
