package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gossiptrainer/internal/app/machine"
	"gossiptrainer/internal/app/plan"
	"gossiptrainer/studies/markdown"
)

// document returns the page of the results.
func document(all []result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Predictions beside real peers\n\n")
	fmt.Fprintf(&b, "The study `plan` makes this page: %d settings, drawn at random. For each, `peer plan --prove` "+
		"predicts\ntwo candidates, D-PSGD with 8 bit around a ring and another one, and then runs both with real peers.\n"+
		"Times of a round are means from the first round to the last. The plan chose the target.\n\n", len(all))
	fmt.Fprintf(&b, "Machine: %s. The load is that of the last minute,\nin processes for each core: above 1, other "+
		"programs compete with the peers.\n\n", machine.Describe())
	round, target, within, loads := errors(all)
	b.WriteString("| | pairs | median error | largest | within the aim | within the interval |\n" +
		"|---|--:|--:|--:|--:|--:|\n")
	b.WriteString(line("time of a round", round, 0.1, within[0]) + line("time to the target", target, 0.25, within[1]))
	fmt.Fprintf(&b, "\nThe aim is 10 %% for a round and 25 %% for the target. The median load was %.1f, from %.1f to "+
		"%.1f.\n\n", middle(loads), slices.Min(loads), slices.Max(loads))
	b.WriteString(markdown.Table(table(all)))
	return b.String()
}

// errors returns the relative errors, the shares within the predicted intervals, and the loads.
func errors(all []result) (round, target []float64, within [2]float64, loads []float64) {
	inside := func(i plan.Interval, v float64) float64 {
		if i.Low <= v && v <= i.High {
			return 1
		}
		return 0
	}
	for _, r := range all {
		loads = append(loads, r.load)
		for _, p := range r.proofs {
			round = append(round, math.Abs(p.Predicted.Value/p.Measured-1))
			within[0] += inside(p.Predicted, p.Measured)
			if p.Time != nil {
				target = append(target, math.Abs(p.Time.Predicted.Value/p.Time.Measured-1))
				within[1] += inside(p.Time.Predicted, p.Time.Measured)
			}
		}
	}
	within[0] /= float64(max(1, len(round)))
	within[1] /= float64(max(1, len(target)))
	return round, target, within, loads
}

// line is that of one kind of time.
func line(what string, errors []float64, aim, within float64) string {
	if len(errors) == 0 {
		return fmt.Sprintf("| %s | 0 | – | – | – | – |\n", what)
	}
	kept := 0
	for _, e := range errors {
		if e <= aim {
			kept++
		}
	}
	return fmt.Sprintf("| %s | %d | %.1f %% | %.0f %% | %d | %.0f %% |\n", what, len(errors), 100*middle(errors),
		100*slices.Max(errors), kept, 100*within)
}

func middle(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// table has a row for each pair.
func table(all []result) [][]string {
	rows := [][]string{{"setting", "load", "candidate", "round predicted", "real", "off", "target predicted", "real",
		"off"}}
	for _, r := range all {
		for i, p := range r.proofs {
			name, load := r.setting.String(), fmt.Sprintf("%.1f", r.load)
			if i > 0 {
				name, load = "", ""
			}
			row := []string{name, load, p.Candidate.String(), fmt.Sprintf("%.4g ms", 1e3*p.Predicted.Value),
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
