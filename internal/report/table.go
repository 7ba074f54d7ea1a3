package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
)

// WriteSummary prints a summary for people.
func WriteSummary(w io.Writer, s *record.Summary) error {
	t := human.AlignLeft(w)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	for _, a := range s.Alone {
		row("alone", "worker %d trained without any neighbour since round %d: its model is its own, and not the run's",
			a.Rank, a.Since)
	}
	row("run", "%s (%s, seed %d)", s.Run, s.Mode, s.Seed)
	row("algorithm", "%s", method(s))
	row("peers", "%d", s.Peers)
	if s.Slack > 0 {
		row("slack", "%s", human.Number(&s.Slack))
	}
	if s.Gamma > 0 {
		row("gamma", "%s", human.Number(&s.Gamma))
	}
	row("rounds", "%d in %s; the command took %s", s.Rounds, human.Seconds(s.Time), human.Seconds(s.Wall))
	writeCosts(row, s)
	if s.Ended != "" {
		row("ended by", "%s", s.Ended)
	}
	row("steps", "%d of all peers%s", s.Steps, pace(s))
	if s.Parts != nil {
		row("round", "%s", s.Parts)
	}
	if s.Data != nil {
		row("data", "%s", s.Data)
	}
	row("consensus", "%s", human.Number(s.Consensus))
	if s.Effective > 0 {
		row("per parameter", "%s bit on the stream, entropy coding: %s", human.Number(&s.Effective), coder(s))
	}
	if s.Security != "" {
		row("security", "none: all who were on the way could read and change the models")
	}
	row("extra memory", "%s", human.Size(s.ExtraMemory))
	if s.Theta.Value > 0 {
		row("theta", "%s, %s", human.Number(&s.Theta.Value), verdict(s.Theta))
	}
	if l := s.Losses; l != nil && len(l.Log) > 0 {
		row("members", "%s, %d at the end", human.Count(l.Views, "view"), s.Peers)
	} else if l != nil {
		row("lost peers", "%d %v, %s of the graph, %s mixed by one end", len(l.Lost), l.Lost,
			human.Count(l.Views, "view"), human.Count(l.Lopsided, "exchange"))
	}
	writeMissing(row, s)
	row("digest", "%s", digest(s))
	row("test loss", "%s", human.Number(s.Loss))
	row("accuracy", "mean %s, least %s, average model %s",
		human.Number(s.Accuracy.Mean), human.Number(s.Accuracy.Min), human.Number(s.Accuracy.AverageModel))
	row("sent per peer", "%s payload, %s on the stream, %s on the wire",
		human.Size(s.BytesPerPeer.Payload), human.Size(s.BytesPerPeer.Stream), human.Size(s.BytesPerPeer.Wire))
	writeSaved(row, s)
	if err := t.Flush(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// writeMissing prints the peers without a result.
func writeMissing(row func(name, format string, args ...any), s *record.Summary) {
	for _, g := range s.Gone {
		row("gone", "peer %d, since round %d", g.Rank, g.Since)
	}
	for _, rank := range s.Missing {
		row("no result", "peer %d ended before it told it; with checkpoints, --resume on all machines goes on", rank)
	}
}

// leastSaved is the factor of bytes from which a summary speaks of savings.
const leastSaved = 1.5

// writeSaved prints how many fewer bytes a run has sent than one at full precision, and what that means for a round.
// The messages of both have as many parameters.
func writeSaved(row func(name, format string, args ...any), s *record.Summary) {
	const whole, speed = 32, 100e6 // bits of a parameter; bits per second
	if s.Effective <= 0 || s.Rounds == 0 || whole/s.Effective < leastSaved {
		return
	}
	times := whole / s.Effective
	transfer := 8 * float64(s.BytesPerPeer.Stream) / float64(s.Rounds) / speed
	row("saved", "%.3g× fewer bytes than at 32 bit; at 100 Mbit/s a round of them takes %s, not %s",
		times, human.Seconds(transfer), human.Seconds(times*transfer))
}

// pace says how many steps a second took, of a run that lasted that long.
func pace(s *record.Summary) string {
	if s.Time < 1 {
		return ""
	}
	return fmt.Sprintf(", %s a second", human.Number(&s.Rate))
}

// digest writes the digest of a run, and of which peers it is.
func digest(s *record.Summary) string {
	short := fmt.Sprintf("%.16s", s.Digest)
	switch left := s.Peers - len(s.Gone); {
	case len(s.Missing) > 0:
		return "none without the results of all peers"
	case len(s.Gone) > 0:
		return fmt.Sprintf("%s, of the %s that %s left", short, human.Count(left, "peer"), human.Verb(left, "is", "are"))
	}
	return short
}

// noCoder is the name for no entropy coder.
const noCoder = "none"

// coder names the entropy coder of the run. Old records have no name.
func coder(s *record.Summary) string { return cmp.Or(s.Entropy, noCoder) }

// method writes the name of the method, and the mean of the bits per parameter if they change.
func method(s *record.Summary) string {
	if s.MeanBits > 0 && s.MeanBits != float64(s.Bits) {
		return fmt.Sprintf("%s, mean %s bit", s.Method, human.Number(&s.MeanBits))
	}
	return s.Method
}

// verdict describes whether a bound held.
func verdict(t record.Theta) string {
	if t.Violations == nil {
		return "not verified"
	}
	if n := *t.Violations; n == int64(t.Repaired) && n > 0 {
		return human.Count(int(n), "message") + " recovered wrongly, all repaired"
	}
	return fmt.Sprintf("%s, %d repaired", human.Count(int(*t.Violations), "violation"), t.Repaired)
}

// writeCosts prints the costs of a simulation in which more than gradients takes time.
func writeCosts(row func(name, format string, args ...any), s *record.Summary) {
	if strings.Contains(s.Compute, "=") {
		row("compute", "%s", s.Compute)
	}
	if s.Cores > 0 {
		row("cores", "%d, which all peers share", s.Cores)
	}
}
