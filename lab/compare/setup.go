package compare

import (
	"maps"
	"slices"
	"strings"

	"gossiptrainer/configs"
	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/forecast"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/sim"
)

// setupOf says how a run is made.
func setupOf(run *experiment.Run) cells.Setup {
	d, p := run.Describe(), forecast.Predict(run)
	return cells.Setup{
		Algorithm: d.Algorithm, Paper: d.Paper, Messages: d.Messages, Overlap: string(d.Overlap), Graph: d.Graph,
		Workers: run.N(), Parameters: run.Dim(), Claim: p.Mean * forecast.Claim(run), Exchange: exchange(run),
		Every: run.Config().Algorithm.LocalSteps,
	}
}

// exchange returns the seconds of a round's messages by the formula. Each hop adds one latency and the bytes of the
// worker that sends the most, divided by the rate of its uplink. It is 0 without a limit or a known size.
func exchange(run *experiment.Run) float64 {
	p, link := forecast.Predict(run), run.Network().Uplink
	if p.Payload == 0 {
		return 0
	}
	wire := float64(sim.WireBytes(sim.StreamBytes(p.Payload), link))
	total := 0.0
	for _, frames := range p.Frames {
		if total += link.Latency.Seconds(); link.Rate > 0 {
			total += float64(frames) * 8 * wire / link.Rate
		}
	}
	return total
}

// undescribed begin the keys of a run file that networks or seeds give, or that change no result.
var undescribed = []string{"name", "seed", "limit.rate", "limit.latency", "checkpoint.", "node.", "peers"}

// described returns the settings of a run that a report tells: those that have an effect.
func described(c configs.Config) map[string]string {
	all := c.Effective()
	maps.DeleteFunc(all, func(key, _ string) bool {
		return slices.ContainsFunc(undescribed, func(begin string) bool { return strings.HasPrefix(key, begin) })
	})
	return all
}

// common takes the settings that all runs share out of those of each, and returns them. It drops the settings whose
// value is the default in every run that has them.
func common(all []map[string]string) map[string]string {
	values, runs := map[string]map[string]bool{}, map[string]int{}
	for _, settings := range all {
		for key, value := range settings {
			if values[key] == nil {
				values[key] = map[string]bool{}
			}
			values[key][value] = true
			runs[key]++
		}
	}
	standard, shared := configs.Default().Settings(), map[string]string{}
	for _, settings := range all {
		maps.DeleteFunc(settings, func(key, value string) bool {
			switch {
			case len(values[key]) > 1:
				return false
			case value == standard[key]:
				return true
			case runs[key] == len(all):
				shared[key] = value
				return true
			}
			return false
		})
	}
	return shared
}

// levels returns the easier targets of a comparison.
func levels(l configs.Levels) []record.Target {
	var all []record.Target
	for _, v := range l.Loss {
		all = append(all, record.Target{Metric: record.TrainingLoss, Value: v})
	}
	for _, v := range l.Accuracy {
		all = append(all, record.Target{Metric: record.TestAccuracy, Value: v})
	}
	return all
}
