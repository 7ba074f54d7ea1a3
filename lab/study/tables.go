package study

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/stats"
)

// A row is one algorithm on one network in the tables of a study.
type row struct {
	Label, Bits, Fate                              string
	Targets                                        []reach
	Round, Least, Accuracy, Worst, Loss, MB, Extra string
}

// A reach is the time of a row to a target. Sooner is the speedup over the reference.
type reach struct {
	Time, Sooner, Bytes string
	Best                bool // known to be the fastest on its network
}

// rows returns the rows of one network.
func (s *Study) rows(network string) []row {
	groups := s.on(network)
	var all []row
	for _, g := range groups {
		r := row{
			Label: g.Label, Bits: g.bits(), Round: g.geomean(perRound).String(), Least: g.geomean(s.leastPerRound(g)).String(),
			Accuracy: percent(g.estimate(g.finalAccuracy)), Worst: percent(g.estimate(leastAccuracy)),
			Loss: g.estimate(finalLoss).PlusMinus(),
			MB:   g.geomean(megabytesSent).String(), Extra: g.estimate(extraMegabytes).PlusMinus(),
		}
		for _, target := range s.Targets.List() {
			fastest, _ := fastestOf(alike(groups, g), target)
			r.Targets = append(r.Targets, reach{
				Time: g.inAll(target), Sooner: g.speedup(reference(alike(groups, g)), target).String(),
				Bytes: g.bytesTo(target).String(), Best: g == fastest,
			})
		}
		if n := g.ended(cells.Diverged); n > 0 {
			r.Fate = fmt.Sprintf("%d of %d %s", n, len(g.Cells), g.fate())
		}
		all = append(all, r)
	}
	return all
}

// speedup returns the speedup of g over base to the target, paired by seed. It has no number where a run of either
// misses the target, and where only bounds are known, whose ratio says nothing.
func (g *Group) speedup(base *Group, target record.Target) stats.Interval {
	if !g.reaches(target) || !base.reaches(target) {
		return stats.Interval{}
	}
	sooner := g.sooner(base, target)
	switch {
	case sooner.IsBound():
		return stats.Interval{}
	case g == base:
		return stats.Interval{Mean: 1, Low: math.NaN(), High: math.NaN(), N: len(g.Cells)}
	}
	return sooner
}

// inAll writes the times to a target. If some runs miss it, it adds the number of runs, because the mean covers only
// the runs that reach it.
func (g *Group) inAll(target record.Target) string {
	if g.timeTo(target).N == 0 && len(g.runs) > 0 && !g.tells(target) {
		return "not known"
	}
	return cells.TimeTo(g.Cells, target)
}

// percent writes an accuracy to the second digit of its interval, and with two decimals at most.
func percent(e stats.Interval) string {
	switch e.N {
	case 0:
		return "-"
	case 1:
		return fmt.Sprintf("%.2f", 100*e.Mean)
	}
	n := places(100 * e.Half())
	return fmt.Sprintf("%.*f ± %.*f", n, 100*e.Mean, n, 100*e.Half())
}

// places returns how many decimals of a percentage its interval carries: to the second digit of its half width.
func places(half float64) int {
	const most = 2
	if !(half > 0) {
		return most
	}
	return min(most, max(0, 1-int(math.Floor(math.Log10(half)))))
}

func (g *Group) bits() string {
	for _, cell := range g.Cells {
		if cell.Summary != nil {
			return strconv.Itoa(cell.Bits)
		}
	}
	return "-"
}

// writeCSV writes a line per cell and measured value, in tidy form: label, network, seed, time, round, bytes, metric,
// value. It omits values that were not measured.
func (s *Study) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"label", "network", "seed", "time_s", "round", "bytes_per_peer", "metric",
		"value"}) // Flush reports the error
	for _, g := range s.Groups {
		for _, cell := range g.Cells {
			if run := g.runs[cell.Seed]; run != nil {
				run.writeCSV(out, []string{g.Label, g.Network.Name, strconv.FormatUint(cell.Seed, 10)})
			}
		}
	}
	out.Flush()
	return out.Error()
}

// writeCSV writes the lines of a run. Each begins with name.
func (t *trace) writeCSV(out *csv.Writer, name []string) {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	write := func(at []string, metric string, value float64) {
		if record.Number(value) != nil {
			_ = out.Write(slices.Concat(name, at, []string{metric, number(value)})) // Flush reports the error
		}
	}
	gaps := record.MeasuresGaps(t.moments)
	for i, loss := range record.Smooth(t.moments) {
		m := t.moments[i]
		at := []string{number(m.Time.Seconds()), number(m.Round), strconv.FormatInt(m.Sent.Wire, 10)}
		write(at, "train_loss", m.Loss)
		write(at, "train_loss_smoothed", loss)
		if gaps {
			write(at, "gap", m.Gap)
		}
	}
	for _, p := range t.curve {
		m := record.MomentAt(t.moments, float64(p.Round))
		at := []string{number(m.Time.Seconds()), strconv.Itoa(p.Round), strconv.FormatInt(m.Sent.Wire, 10)}
		write(at, "test_loss", p.Loss)
		write(at, "test_accuracy", p.Accuracy)
	}
}

// writeLaTeX writes a table per network for \usepackage{booktabs}. It has means with 95 % intervals, the fastest time
// to a target in bold, and a dagger for runs that diverged.
func (s *Study) writeLaTeX(w io.Writer) error {
	var b strings.Builder
	targets := s.Targets.List()
	for _, network := range s.Networks {
		fmt.Fprintf(&b, "%% %s\n", human.LaTeX(network.Name))
		head := []string{"Algorithm", "Bits"}
		for _, target := range targets {
			head = append(head, fmt.Sprintf("Time to %s (s)", human.LaTeX(target.String())), "Speed-up")
		}
		lines := [][]string{append(head, "MB per peer", "Accuracy (\\%)", "Worst replica (\\%)", "Extra memory (MB)")}
		for _, r := range s.rows(network.Name) {
			lines = append(lines, r.latex())
		}
		specs := append([]string{"l"}, slices.Repeat([]string{"r"}, len(lines[0])-1)...)
		tabular(&b, specs, lines)
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// latex returns the cells of a row.
func (r row) latex() []string {
	label := human.LaTeX(r.Label)
	if r.Fate != "" {
		label += "$^\\dagger$"
	}
	fields := []string{label, r.Bits}
	for _, t := range r.Targets {
		time := human.LaTeX(t.Time)
		if t.Best {
			time = "\\textbf{" + time + "}"
		}
		fields = append(fields, time, human.LaTeX(t.Sooner))
	}
	return append(fields, human.LaTeX(r.MB), human.LaTeX(r.Accuracy), human.LaTeX(r.Worst), human.LaTeX(r.Extra))
}
