package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gossiptrainer/internal/machine"
	"gossiptrainer/internal/stats"
	"gossiptrainer/lab/plan"
	"gossiptrainer/studies/markdown"
)

// document returns the page of the results.
func document(all []result, drawn int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Predictions beside real peers\n\n")
	fmt.Fprintf(&b, "The study `plan` makes this page: %d of %d settings, drawn at random. For each,\n"+
		"`peer plan --prove` predicts two candidates, D-PSGD with 8 bit around a ring and another one.\n"+
		"It then runs both with real peers. Times of a round are means from the first round to the last.\n"+
		"The plan chose the target.\n\n", len(all), drawn)
	fmt.Fprintf(&b, "Machine: %s.\n`others` is the share of its cores that other programs took meanwhile.\n\n",
		machine.Describe())
	b.WriteString("| | pairs | median error | largest | within the aim | within the interval |\n" +
		"|---|--:|--:|--:|--:|--:|\n")
	quiet := slices.DeleteFunc(slices.Clone(all), func(r result) bool { return r.others >= calm })
	tallies := func(what string, of []result) {
		round, target := errors(of)
		b.WriteString(round.line("time of a round, "+what, 0.1) + target.line("time to the target, "+what, 0.25))
	}
	tallies("all pairs", all)
	if len(quiet) < len(all) {
		tallies(fmt.Sprintf("others below %.0f %%", 100*calm), quiet)
	}
	b.WriteString("\nThe aim is 10 % for a round and 25 % for the target.\n\n")
	b.WriteString(markdown.Table(table(all)))
	return b.String()
}

// calm is the share of the cores below which other programs disturb little.
const calm = 0.25

// A tally has the relative errors of predictions of one kind, and how many lay within their intervals.
type tally struct {
	errors []float64
	inside int
}

func (t *tally) add(predicted plan.Interval, real float64) {
	t.errors = append(t.errors, math.Abs(predicted.Value/real-1))
	if predicted.Low <= real && real <= predicted.High {
		t.inside++
	}
}

// errors tallies rounds and targets.
func errors(all []result) (round, target tally) {
	for _, r := range all {
		for _, p := range r.proofs {
			round.add(p.Predicted, p.Measured)
			if p.Time != nil {
				target.add(p.Time.Predicted, p.Time.Measured)
			}
		}
	}
	return round, target
}

// line is that of one kind of time.
func (t tally) line(what string, aim float64) string {
	n := len(t.errors)
	if n == 0 {
		return fmt.Sprintf("| %s | 0 | – | – | – | – |\n", what)
	}
	kept := 0
	for _, e := range t.errors {
		if e <= aim {
			kept++
		}
	}
	return fmt.Sprintf("| %s | %d | %.1f %% | %.0f %% | %d | %d %% |\n", what, n, 100*stats.Median(t.errors),
		100*slices.Max(t.errors), kept, 100*t.inside/n)
}

// table has a row for each pair.
func table(all []result) [][]string {
	rows := [][]string{{"setting", "others", "candidate", "round predicted", "real", "off", "target predicted", "real",
		"off"}}
	for _, r := range all {
		for i, p := range r.proofs {
			name, others := r.setting.String(), fmt.Sprintf("%.0f %%", 100*r.others)
			if i > 0 {
				name, others = "", ""
			}
			row := []string{name, others, p.Candidate.String(), fmt.Sprintf("%.4g ms", 1e3*p.Predicted.Value),
				fmt.Sprintf("%.4g ms", 1e3*p.Measured), off(p.Predicted.Value, p.Measured), "–", "–", "–"}
			if p.Time != nil {
				row = append(row[:6], fmt.Sprintf("%.3g s", p.Time.Predicted.Value), fmt.Sprintf("%.3g s", p.Time.Measured),
					off(p.Time.Predicted.Value, p.Time.Measured))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func off(predicted, measured float64) string {
	return fmt.Sprintf("%+.0f %%", 100*(predicted/measured-1))
}
