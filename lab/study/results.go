package study

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/stats"
)

// A metric is one column of the tables as numbers, as the tables have it.
type metric struct {
	name string
	of   func(g *Group) stats.Interval
}

// metricsOf returns the columns of the tables for a group.
func metricsOf(s *Study, g *Group) []metric {
	geometric := func(name string, of func(cells.Cell, *trace) *float64) metric {
		return metric{name, func(g *Group) stats.Interval { return g.geomean(of) }}
	}
	arithmetic := func(name string, of func(cells.Cell, *trace) *float64) metric {
		return metric{name, func(g *Group) stats.Interval { return g.estimate(of) }}
	}
	all := []metric{
		geometric("ms_per_round", perRound), geometric("least_ms_per_round", s.leastPerRound(g)),
		geometric("mb_per_peer", megabytesSent), arithmetic("extra_mb", extraMegabytes),
		geometric("socket_over_claimed_bytes", overhead(s, g)),
		arithmetic("accuracy", g.finalAccuracy), arithmetic("accuracy_average_model", averageAccuracy),
		arithmetic("accuracy_worst_replica", leastAccuracy), arithmetic("train_loss", finalLoss),
	}
	for _, target := range s.Goals() {
		base := reference(alike(s.on(g.Network.Name), g))
		all = append(all,
			metric{fmt.Sprintf("seconds to %s", target), func(g *Group) stats.Interval { return g.timeTo(target) }},
			metric{fmt.Sprintf("speedup to %s", target), func(g *Group) stats.Interval { return g.speedup(base, target) }},
			metric{fmt.Sprintf("mb to %s", target), func(g *Group) stats.Interval { return g.bytesTo(target) }})
	}
	return all
}

// writeResults writes the columns of the tables as numbers, a line for each. The ends of the 95 % interval over the
// seeds are empty where there is none. A target that a run may have reached before its first record has no mean: the
// column bound says that high is all that is known.
func (s *Study) writeResults(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"label", "network", "metric", "runs", "mean", "low", "high", "bound"}) // see Flush
	for _, g := range s.Groups {
		for _, m := range metricsOf(s, g) {
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
	e := m.of(g)
	name := []string{g.Label, g.Network.Name, m.name, strconv.Itoa(e.N)}
	switch {
	case e.N == 0:
		return nil
	case e.IsBound(): // of a time or of bytes, which have no lower end then
		return append(name, "", "", exact(e.High), "at most")
	}
	return append(name, exact(e.Mean), exact(e.Low), exact(e.High), "")
}

// exact writes a number with all digits, and nothing for one that is not known.
func exact(v float64) string {
	if record.Number(v) == nil {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
