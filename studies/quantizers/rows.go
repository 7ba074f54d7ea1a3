package main

import (
	"fmt"
	"slices"
	"strings"

	"gossiptrainer/studies/gradients"
)

// preset is the run file that all rows share, apart from the settings of common: step sizes so large that noise shows.
const preset = "ring8-fashion"

var common = []string{"train.step_size=0.2"}

// A row is one quantizer: the preset with some settings changed.
type row struct {
	name     string
	levels   int // that a coordinate can have, 0 = floats
	settings []string
}

// rows are the quantizers of the table, ordered by the number of levels. With b bits and a level 0 there are 2^b − 1
// levels, because the sign of 0 is not used. The norm is that of a bucket: its length unless the name says more.
func rows() []row {
	var all []row
	add := func(name string, levels int, settings []string) {
		all = append(all, row{name, levels, append(settings, common...)})
	}
	add("full precision", 0, algorithm("reduce=ring"))
	add("QSGD, max norm", 7, quantized("qsgd bits=3 norm=linf"))
	add("QSGD, 2-norm", 7, quantized("qsgd bits=3 norm=l2"))
	add("NUQSGD", 7, quantized("nuqsgd bits=3 norm=l2"))
	add("ALQ", 7, adaptive("alq norm=l2"))
	add("ALQ-N", 7, adaptive("alqn norm=l2"))
	add("ALQ, max norm", 7, adaptive("alq norm=linf"))
	add("AMQ", 8, adaptive("amq norm=l2"))
	add("AMQ-N", 8, adaptive("amqn norm=l2"))
	add("AMQ, max norm", 8, adaptive("amq norm=linf"))
	for _, levels := range []string{"9", "5", "3"} {
		n := int(levels[0] - '0')
		add("ORQ-"+levels, n, quantized("orq levels="+levels))
		add("Linear-"+levels, n, quantized("linear_s levels="+levels))
	}
	add("QSGD, max norm", 3, quantized("qsgd bits=2 norm=linf"))
	add("TernGrad", 3, quantized("terngrad"))
	add("TernGrad, clipped", 3, quantized("terngrad clip=2.5"))
	add("BinGrad-pb", 2, quantized("bingrad_pb"))
	add("BinGrad-b", 2, quantized("bingrad_b"))
	add("BinGrad-b with feedback", 2, append(quantized("bingrad_b"), feedback))
	add("sign with feedback", 2, append(quantized("sign"), feedback))
	for _, name := range []string{"BinGrad-b", "sign"} {
		of := strings.ToLower(strings.ReplaceAll(name, "-", "_"))
		add(name+", no momentum", 2, append(quantized(of), plain))
		add(name+" with feedback, no momentum", 2, append(quantized(of), feedback, plain))
	}
	return all
}

// plain switches momentum off, so that workers compress plain gradients.
const plain = "train.momentum=0"

// feedback adds the rounding error to the next gradient.
const feedback = "algorithm.error_feedback=true"

// adaptive returns the settings of ALQ and AMQ, which fit their levels early here, because the runs are short.
func adaptive(compressor string) []string {
	return quantized(compressor + " bits=3 refit_at=[0,10,50,100,200]")
}

// quantized returns the settings of an all-gather with a compressor, given as its name with settings behind it.
func quantized(compressor string) []string { return gradients.AllGather(compressor) }

// algorithm returns the settings of an all-reduce.
func algorithm(setting string) []string {
	return []string{"algorithm.name=allreduce", "algorithm." + setting}
}

// command returns the command line of the run of seed 1.
func (r row) command(rounds int) string {
	var b strings.Builder
	b.WriteString("peer sim " + preset)
	for _, s := range append(slices.Clone(r.settings), fmt.Sprint("train.rounds=", rounds), "seed=1") {
		if strings.Contains(s, "[") {
			s = "'" + s + "'" // keep the shell from expanding it
		}
		b.WriteString(" --set " + s)
	}
	return b.String()
}
