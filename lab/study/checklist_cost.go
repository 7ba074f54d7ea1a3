package study

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
)

// mostOverhead is the largest ratio of bytes on the wire to those that papers count.
const mostOverhead = 1.05

// overhead returns the bytes of a run on the wire over those that papers count, nil if these are not fixed.
func overhead(s *Study, g *Group) func(cells.Cell, *trace) *float64 {
	setup := setup(s, g)
	return func(c cells.Cell, _ *trace) *float64 {
		if setup == nil || setup.Claim == 0 || c.Rounds == 0 {
			return nil
		}
		exchanges := float64(c.Rounds / max(1, setup.Every))
		return record.Number(float64(c.BytesPerPeer.Wire) / (exchanges * setup.Claim))
	}
}

func honestBytes(s *Study) (answer, string) {
	var objections []string
	known, most := 0, 0.0
	for _, g := range s.Groups {
		e := g.geomean(overhead(s, g))
		if e.N == 0 {
			continue
		}
		known++
		most = max(most, e.Mean)
		if e.Mean > mostOverhead {
			objections = append(objections, fmt.Sprintf("%s on %s: %.3f times", g.Label, g.Network.Name, e.Mean))
		}
	}
	if known == 0 {
		return notMet, "the bytes that papers count are not on record"
	}
	return unless(objections, fmt.Sprintf("at most %.3f times bits × parameters × messages, in %s", most,
		human.Count(known, "row")))
}

func verifiedLinks(s *Study) (answer, string) {
	if s.Mode == "sim" {
		return notApplicable, "the simulator computes the links"
	}
	least := math.Inf(1)
	for _, g := range s.Groups {
		took := g.geomean(perRound)
		link := g.geomean(func(c cells.Cell, _ *trace) *float64 { return record.Number(1e3 * onLink(c, g.Network)) })
		if took.N > 0 && link.Mean > 0 {
			least = min(least, took.Mean/link.Mean)
		}
	}
	if math.IsInf(least, 1) {
		return notMet, "no link has a limit"
	}
	return notMet, fmt.Sprintf("rounds take at least %.2f times what their bytes need at the rate, but no second "+
		"instrument has measured it", least)
}

func markedTimes(s *Study) (answer, string) {
	if s.Mode != "sim" {
		return notApplicable, "times are those of real peers"
	}
	return notMet, "times are marked as virtual; no cell was run with real peers beside it: run the comparison with " +
		"--mode lab and give both folders to peer report"
}

func statedOverlap(s *Study) (answer, string) {
	var objections, ways []string
	count := map[string]int{}
	for _, g := range s.first() {
		setup := setup(s, g)
		if setup == nil {
			objections = append(objections, g.Label+": the overlap is not on record")
			continue
		}
		count[setup.Overlap]++
	}
	for _, way := range []struct{ name, one, many string }{
		{cells.Overlaps, "overlaps", "overlap"}, {cells.Waits, "waits for the gradient", "wait for the gradient"},
		{cells.Asynchronous, "is asynchronous", "are asynchronous"},
	} {
		if n := count[way.name]; n > 0 {
			ways = append(ways, human.Count(n, "algorithm")+" "+human.Verb(n, way.one, way.many))
		}
	}
	if s.Mode == "sim" && !s.Measured {
		objections = append(objections, fmt.Sprintf("a gradient of %.4g ms was given, not measured", 1e3*s.Compute))
	}
	return unless(objections, strings.Join(ways, "; ")+"; the table of algorithms says why")
}

func measuredMemory(s *Study) (answer, string) {
	if s.Mode == "sim" {
		return notMet, "extra memory is counted by the algorithms: all workers of a simulation share one process"
	}
	most, rows := int64(0), 0
	for _, g := range s.Groups {
		peak := g.peak()
		most = max(most, peak)
		if peak > 0 {
			rows++
		}
	}
	if rows < len(s.Groups) {
		return notMet, "a peak of resident memory is on record in " + human.Part(rows, len(s.Groups), "row")
	}
	return met, "peers record their peak of resident memory, at most " + human.Size(most)
}

// peak returns the largest peak of resident memory of a peer, 0 if none is on record.
func (g *Group) peak() int64 {
	most := int64(0)
	for _, run := range g.runs {
		for _, e := range run.Events {
			if e.Final != nil {
				most = max(most, e.Final.Peak)
			}
		}
	}
	return most
}

func foreignCode(s *Study) (answer, string) {
	return notMet, "no cell runs the code of the authors"
}

func strongBaselines(s *Study) (answer, string) {
	const half = 16
	var all, few, early []string
	for _, g := range s.first() {
		setup := setup(s, g)
		if setup == nil || !strings.HasPrefix(setup.Algorithm, "all-reduce") {
			continue
		}
		all = append(all, g.Label)
		for _, cell := range g.Cells {
			if cell.Summary != nil && cell.Bits <= half && !slices.Contains(few, g.Label) {
				few = append(few, g.Label)
			}
		}
		if setup.Overlap == cells.Overlaps {
			early = append(early, g.Label)
		}
	}
	reason := fmt.Sprintf("all-reduce: %s; of at most %d bit: %s; that overlaps: %s", orNone(strings.Join(all, ", ")),
		half, orNone(strings.Join(few, ", ")), orNone(strings.Join(early, ", ")))
	if len(few) == 0 || len(early) == 0 {
		return notMet, reason
	}
	return met, reason
}

func scaled(s *Study) (answer, string) {
	const small, large, enough = 4, 64, 5
	sizes := map[int]bool{}
	worst, best := 0.0, math.Inf(1)
	for _, n := range s.Networks {
		for _, f := range families(s, n.Name) {
			for _, p := range f.at {
				sizes[p.workers] = true
				if r := p.ratio(); !math.IsNaN(r) {
					worst, best = max(worst, r), min(best, r)
				}
			}
		}
	}
	if len(sizes) == 0 {
		return notMet, "every algorithm runs with one number of workers"
	}
	list := sortedInts(sizes)
	reason := fmt.Sprintf("%d to %d workers in %s", list[0], list[len(list)-1], human.Count(len(list), "size"))
	if worst > 0 {
		reason += fmt.Sprintf("; rounds take %.3f to %.3f times what the formula says", best, worst)
	}
	if list[0] > small || list[len(list)-1] < large || len(list) < enough || worst == 0 {
		return notMet, reason
	}
	return met, reason
}
