package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"gossiptrainer/internal/record"
)

// A metric is one column of the tables as numbers. Its mean is geometric or arithmetic.
type metric struct {
	name      string
	geometric bool
	of        func(Cell, *trace) *float64
}

// metricsOf returns the columns of the tables for a group.
func (s *Study) metricsOf(g *Group) []metric {
	all := []metric{
		{"ms_per_round", true, perRound}, {"least_ms_per_round", true, s.leastPerRound(g)},
		{"mb_per_peer", true, megabytesSent}, {"extra_mb", false, extraMegabytes},
		{"socket_over_claimed_bytes", true, s.overhead(g)},
		{"accuracy", false, g.finalAccuracy}, {"accuracy_average_model", false, averageAccuracy},
		{"accuracy_worst_replica", false, leastAccuracy}, {"train_loss", false, finalLoss},
	}
	for _, target := range s.Goals() {
		all = append(all, metric{fmt.Sprintf("seconds to %s", target), true, timeOf(target)},
			metric{fmt.Sprintf("mb to %s", target), true, megabytesTo(target)})
	}
	return all
}

// WriteResults writes the columns of the tables as numbers, a line for each. The ends of the 95 % interval over the
// seeds are empty where there is none.
func (s *Study) WriteResults(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"label", "network", "metric", "runs", "mean", "low", "high"}) // Flush reports the error
	for _, g := range s.Groups {
		for _, m := range s.metricsOf(g) {
			if line := g.line(m); line != nil {
				_ = out.Write(line)
			}
		}
	}
	out.Flush()
	return out.Error()
}

// line returns a metric of g as a line, nil if no run has it.
func (g *Group) line(m metric) []string {
	var n int
	var mean, low, high float64
	if m.geometric {
		e := g.geomean(m.of)
		n, mean, low, high = e.N, e.Mean, e.Low, e.High
	} else {
		e := g.estimate(m.of)
		n, mean, low, high = e.N, e.Mean, e.Mean-e.Half, e.Mean+e.Half
	}
	if n == 0 {
		return nil
	}
	return []string{g.Label, g.Network.Name, m.name, strconv.Itoa(n), exact(mean), exact(low), exact(high)}
}

// exact writes a number with all digits, and nothing for one that is not known.
func exact(v float64) string {
	if record.Number(v) == nil {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
