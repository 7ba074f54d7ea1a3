package study

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/stats"
)

// A Study is a comparison from its folder, with the records of its cells.
type Study struct {
	cells.Comparison
	Dir    string
	Groups []*Group // by network, then by algorithm, as in the file
}

// A Group is the cells of one algorithm on one network.
type Group struct {
	Network cells.Network
	Label   string
	Cells   []cells.Cell      // by seed
	runs    map[uint64]*trace // of the finished cells, by seed

	accuracies AccuracyKind // of all cells of the study
}

// A trace is the record of a cell with its moments and scores, which tables and figures share.
type trace struct {
	*record.Run
	moments []record.Moment
	curve   []record.Point
}

func newTrace(run *record.Run) *trace { return &trace{run, run.Progress(), run.Curve()} }

// tells reports whether the record tells when a target was reached.
func (t *trace) tells(target record.Target) bool {
	return target.Metric == record.TrainingLoss || len(t.curve) > 0
}

// ErrNoCell says that a comparison has no finished cell.
var ErrNoCell = errors.New("no cell has been run")

// Read reads the comparison in folder dir. The error is fs.ErrNotExist if there is none, and ErrNoCell if none of
// its cells has been run.
func Read(dir string) (*Study, error) {
	comparison, err := cells.Read(dir)
	if err != nil {
		return nil, err
	}
	s := &Study{Comparison: *comparison, Dir: dir}
	for _, network := range s.Networks {
		for _, label := range s.Labels {
			g := &Group{Network: network, Label: label, runs: map[uint64]*trace{}}
			if err := collect(s, g); err != nil {
				return nil, err
			}
			if len(g.Cells) > 0 {
				s.Groups = append(s.Groups, g)
			}
		}
	}
	if len(s.Groups) == 0 {
		return nil, fmt.Errorf("report: %s: %w: start peer compare again", dir, ErrNoCell)
	}
	kind := KindOf(s.Groups...)
	for _, g := range s.Groups {
		g.accuracies = kind
	}
	return s, nil
}

// collect fills in the cells and runs of g.
func collect(s *Study, g *Group) error {
	for i := range s.Cells {
		cell := s.Cells[i]
		if cell.Network != g.Network.Name || cell.Label != g.Label {
			continue
		}
		if cell.Status != cells.Done {
			g.Cells = append(g.Cells, cell)
			continue
		}
		run, err := record.Open(filepath.Join(s.Dir, cell.Folder))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("report: cell %s on %s, seed %d: its record is gone: start peer compare again: %w", cell.Label,
				cell.Network, cell.Seed, err)
		}
		if err != nil {
			return err
		}
		cell.Reach(run, s.Targets)
		cell.ReachLevels(run, s.Levels)
		s.Cells[i] = cell
		g.Cells = append(g.Cells, cell)
		g.runs[cell.Seed] = newTrace(run)
	}
	return nil
}

// values returns a number of each finished cell by seed. It omits cells without that number.
func (g *Group) values(of func(cells.Cell, *trace) *float64) map[uint64]float64 {
	all := map[uint64]float64{}
	for _, cell := range g.Cells {
		if run := g.runs[cell.Seed]; run != nil && cell.Summary != nil {
			if v := of(cell, run); v != nil {
				all[cell.Seed] = *v
			}
		}
	}
	return all
}

// estimate returns the estimate over the finished cells.
func (g *Group) estimate(of func(cells.Cell, *trace) *float64) stats.Interval {
	return stats.Mean(g.list(of))
}

// geomean returns the geomean over the finished cells.
func (g *Group) geomean(of func(cells.Cell, *trace) *float64) stats.Interval {
	return stats.Ratio(g.list(of))
}

// list returns the values of the finished cells in the order of the seeds.
func (g *Group) list(of func(cells.Cell, *trace) *float64) []float64 {
	byseed := g.values(of)
	var values []float64
	for _, cell := range g.Cells {
		if v, ok := byseed[cell.Seed]; ok {
			values = append(values, v)
		}
	}
	return values
}

// timeTo returns the time at which the runs reached a target.
func (g *Group) timeTo(t record.Target) stats.Interval { return cells.Timed(g.Cells, t) }

// bytesTo returns the megabytes that a peer sent until the target. Its interval contains those at the records before
// and after. Where a time is only a bound, so are the bytes.
func (g *Group) bytesTo(t record.Target) stats.Interval {
	c := bytesUntil(t)
	return g.geomean(c.at).Within(g.geomean(c.after).Mean, g.geomean(c.seen).Mean)
}

// reaches reports whether every run reached the target.
func (g *Group) reaches(t record.Target) bool {
	n := len(g.values(timeOf(t)))
	return n > 0 && n == len(g.Cells)
}

// sooner returns the speedup of g over base to a target, paired by seed.
func (g *Group) sooner(base *Group, t record.Target) stats.Interval {
	least := ratioOf(base.values(afterOf(t)), g.values(seenOf(t)))
	most := ratioOf(base.values(seenOf(t)), g.values(afterOf(t)))
	return ratioOf(base.values(timeOf(t)), g.values(timeOf(t))).Within(least.Mean, most.Mean)
}

func timeOf(t record.Target) func(cells.Cell, *trace) *float64 {
	return reachedOf(t, func(r record.Reached) float64 { return r.Time })
}

func afterOf(t record.Target) func(cells.Cell, *trace) *float64 {
	return reachedOf(t, func(r record.Reached) float64 { return r.After })
}

func seenOf(t record.Target) func(cells.Cell, *trace) *float64 {
	return reachedOf(t, func(r record.Reached) float64 { return r.Seen })
}

func megabytesTo(t record.Target) func(cells.Cell, *trace) *float64 {
	return reachedOf(t, func(r record.Reached) float64 { return float64(r.Bytes) / 1e6 })
}

func reachedOf(t record.Target, of func(record.Reached) float64) func(cells.Cell, *trace) *float64 {
	return func(c cells.Cell, _ *trace) *float64 {
		r := c.To(t)
		if r == nil {
			return nil
		}
		return record.Number(of(*r))
	}
}

func perRound(c cells.Cell, _ *trace) *float64 {
	return record.Number(1e3 * c.Summary.Time / float64(max(1, c.Rounds)))
}

// finalAccuracy returns the accuracy of a cell, of the same kind as those of all cells of the study.
func (g *Group) finalAccuracy(c cells.Cell, _ *trace) *float64 { return g.accuracies.Of(c) }

func averageAccuracy(c cells.Cell, _ *trace) *float64 { return c.Accuracy.AverageModel }

func finalLoss(c cells.Cell, _ *trace) *float64 { return c.TrainLoss }

func megabytesSent(c cells.Cell, _ *trace) *float64 {
	return record.Number(float64(c.BytesPerPeer.Wire) / 1e6)
}

func extraMegabytes(c cells.Cell, _ *trace) *float64 {
	return record.Number(float64(c.ExtraMemory) / 1e6)
}

// leastPerRound returns the least time of a round in milliseconds. It is the time of the gradient, or that of the bytes
// on the uplink plus one latency, whichever is longer.
func (s *Study) leastPerRound(g *Group) func(cells.Cell, *trace) *float64 {
	return func(c cells.Cell, run *trace) *float64 {
		return record.Number(1e3 * max(s.gradient(run), onLink(c, g.Network)))
	}
}

// onLink returns the time of a round's bytes on a network, in seconds.
func onLink(c cells.Cell, n cells.Network) float64 {
	if n.Rate <= 0 {
		return n.Latency
	}
	return float64(c.BytesPerPeer.Wire)/float64(max(1, c.Rounds))*8/n.Rate + n.Latency
}

// gradient returns the time of a gradient: the setting of the simulator, or the measured mean.
func (s *Study) gradient(run *trace) float64 {
	if s.Mode == "sim" {
		return s.Compute
	}
	moments := run.moments
	var sum time.Duration
	for _, m := range moments {
		sum += m.Compute
	}
	return sum.Seconds() / float64(max(1, len(moments)))
}

// ended counts the cells with a given end.
func (g *Group) ended(how cells.Status) int {
	n := 0
	for _, cell := range g.Cells {
		if cell.Status == how {
			n++
		}
	}
	return n
}

// AccuracyAt returns the last accuracy that the run of a seed had at a virtual or real time in seconds, a share. It is
// nil where the record has none by then.
func (g *Group) AccuracyAt(seed uint64, seconds float64) *float64 {
	run := g.runs[seed]
	if run == nil {
		return nil
	}
	round := -1.0
	for _, m := range run.moments {
		if m.Time <= time.Duration(seconds*float64(time.Second)) {
			round = m.Round
		}
	}
	var last *float64
	for i := range run.curve {
		if float64(run.curve[i].Round) <= round {
			last = record.Number(run.curve[i].Accuracy)
		}
	}
	return last
}

// BitsOf returns the bits per parameter in the first and in the last record of the run of a seed; zeros: it has none.
func (g *Group) BitsOf(seed uint64) (first, last float64) {
	run := g.runs[seed]
	if run == nil || len(run.moments) == 0 {
		return 0, 0
	}
	return run.moments[0].Bits, run.moments[len(run.moments)-1].Bits
}

// fate describes how the unfinished cells ended. If some diverged, it names only those.
func (g *Group) fate() string {
	var rounds []int
	for _, cell := range g.Cells {
		if round, ok := cell.Diverged(); ok {
			rounds = append(rounds, round)
		}
	}
	switch {
	case len(rounds) == 0 && g.ended(cells.Diverged) > 0:
		return string(cells.Diverged)
	case len(rounds) == 0:
		return string(cells.Failed)
	}
	first, last := slices.Min(rounds), slices.Max(rounds)
	if first == last {
		return fmt.Sprintf("diverged in round %d", first)
	}
	return fmt.Sprintf("diverged in rounds %d to %d", first, last)
}

func leastAccuracy(c cells.Cell, _ *trace) *float64 { return c.Accuracy.Min }
