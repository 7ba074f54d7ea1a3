package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"gossiptrainer/internal/chart"
	"gossiptrainer/studies/markdown"
)

// panels returns the two panels of the picture: all quantizers, and the best.
func panels(curves []curve) (all, some chart.Lines) {
	all = chart.Lines{X: "round", Y: "E |C(g) − g|² / |g|²"}
	some = chart.Lines{X: "round", Y: "the same, of the best"}
	for _, c := range curves {
		line := chart.Line{Name: c.name, Y: c.variance}
		for _, k := range c.rounds {
			line.X = append(line.X, float64(k))
		}
		all.Lines = append(all.Lines, line)
		if slices.Contains(best(), c.name) {
			some.Lines = append(some.Lines, line)
		}
	}
	return all, some
}

// figureDocument returns the Markdown text of the curves.
func (p plan) figureDocument(curves []curve, picture string) string {
	table := [][]string{{"quantizer", "settings", "mean", "last", "mean over that of ALQ", "rounds above ALQ"}}
	alq := named(curves, "ALQ")
	for _, c := range curves {
		table = append(table, []string{
			c.name, "`" + c.settings + "`", digits(c.mean()), digits(c.last()), digits(c.mean() / alq.mean()),
			fmt.Sprint(c.above(alq)),
		})
	}
	return fmt.Sprintf(`# Variance of quantizers over a training run

The share of a gradient g that random rounding loses, E |C(g) - g|^2/|g|^2, in %d rounds of a run. It is computed
exactly from g and the levels, not sampled. The figure is that of Faghri et al., "Adaptive Gradient Quantization for
Data-Parallel SGD" (NeurIPS 2020, figures 4 and 5). The gradients are those of worker 0. %s
`+"`go run ./studies/variance -rounds %d -looks %d -o docs/results/variance.md`"+` makes this file and its picture
again.

![Variance of quantizers over a training run](%s)

%s
* Settings are those of `+"`algorithm.compressor`"+` in a run file. All others have their defaults: buckets of 8192
  coordinates, scaled by their largest magnitude. inf and 2 in the names are the norm.
* ALQ and AMQ fit their levels to the gradients of the rounds %s and keep them in between.
* Rounds above ALQ: how many of the %d rounds have a larger variance than ALQ.
* ORQ-s and Linear-s choose new levels for each bucket, s of them, and send them with it.
* Levels: 7 with 3 bits and a level 0, 8 without it (AMQ), 3 of TernGrad, s of ORQ-s and Linear-s.

%s
`, p.looks, p.training(), p.rounds, p.looks, picture, markdown.Table(table), sentence(p.fits()), p.looks, made())
}

// tableDocument returns the Markdown text of the costs.
func (p plan) tableDocument(costs []cost, theta float64, spend time.Duration) string {
	table := [][]string{{
		"compressor", "bits per parameter", "huff0", "auto", "ideal code", "relative error", "encode, ns", "decode, ns",
		"encode, copies", "decode, copies",
	}}
	copying := fastestCopy(costs)
	for _, c := range costs {
		ideal := "-"
		if c.ideal > 0 {
			ideal = bits(c.ideal)
		}
		table = append(table, []string{
			c.name, bits(c.packed), bits(c.huff0), bits(c.auto), ideal, digits(c.lost),
			digits(c.perParameter(c.encode)), digits(c.perParameter(c.decode)),
			digits(c.perParameter(c.encode) / copying), digits(c.perParameter(c.decode) / copying),
		})
	}
	var settings strings.Builder
	for _, r := range tabulated() {
		fmt.Fprintf(&settings, "    %-24s %s\n", r.name, r.settings)
	}
	return fmt.Sprintf(`# What messages of each compressor cost

Measured on the gradients of worker 0 in %d rounds of a run, and for Moniqua on the models of two neighbours in the same
rounds. %s `+"`go run ./studies/variance -rounds %d -looks %d -spend %v -table docs/results/compressors.md`"+` makes
this file again.

%s
* Bits per parameter: of a message, with scales and tables, packed. Huff0 and auto: the same after the entropy stage
  (wire.entropy), auto on a link so slow that bytes alone count. A payload that does not shrink is sent uncoded. Ideal
  code: each symbol of a message is coded on its own (order 0) as well as the frequencies allow. A coder that takes
  several symbols as one byte may do better.
* Relative error: |C(z) - z|^2/|z|^2 of the message, a mean over the rounds; z is a gradient, for Moniqua a model.
* Encode and decode: nanoseconds per parameter, on one core, to make a message and to add it to a vector. Copies: the
  same as a multiple of the time to copy a parameter of 4 bytes, measured in turn with them: %s ns. All times are the
  shortest of the tries that fit in %v.
* Levels that adapt are fitted in the rounds %s; those rounds are not in the times.
* Moniqua: subtractive dither, theta = %s, twice the largest difference of the two models in these rounds. Its error is
  relative to a model, those of the others to a gradient: the two do not compare.

%s

## Settings

Those of `+"`algorithm.compressor`"+` in a run file. All others have their defaults.

%s`, p.looks, p.training(), p.rounds, p.looks, spend, markdown.Table(table), digits(copying), spend, sentence(p.fits()), digits(theta), made(), settings.String())
}

// training describes the training run.
func (p plan) training() string {
	return fmt.Sprintf("Four workers train LeNet-5 on Fashion-MNIST, %d rounds of the preset %s with\n`%s`.", p.rounds,
		preset, strings.Join(network, " "))
}

// made describes the machine that made the numbers.
func made() string {
	return fmt.Sprintf("Made on %s/%s with %s; numbers may differ a little with the type of the CPU.", runtime.GOOS,
		runtime.GOARCH, runtime.Version())
}

// bits writes a number of bits per parameter.
func bits(v float64) string { return fmt.Sprintf("%.3f", v) }

// digits writes a number with three significant digits.
func digits(v float64) string { return fmt.Sprintf("%.3g", v) }

// sentence lists rounds in a sentence.
func sentence(rounds []int) string {
	return strings.ReplaceAll(strings.Trim(list(rounds), "[]"), ",", ", ")
}
