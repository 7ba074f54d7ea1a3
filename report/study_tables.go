package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A row is one algorithm on one network in the tables of a study.
type row struct {
	Label, Bits, Diverged                                             string
	ToTarget, Speedup, Bytes, Round, Least, Accuracy, Loss, MB, Extra string
	Best                                                              bool
}

// rows are those of one network; Speedup is against the reference.
func (s *Study) rows(network string) []row {
	groups := s.on(network)
	if len(groups) == 0 {
		return nil
	}
	base, best := reference(groups), fastestOf(groups)
	var all []row
	for _, g := range groups {
		r := row{
			Label: g.Label, Bits: g.bits(), ToTarget: g.inAll(toTarget), Bytes: g.inAll(megabytesToTarget),
			Round: g.estimate(perRound).String(), Least: g.estimate(s.leastPerRound(g)).String(),
			Accuracy: percent(g.estimate(finalAccuracy)), Loss: g.estimate(finalLoss).String(),
			MB: g.estimate(megabytesSent).String(), Extra: g.estimate(extraMegabytes).String(),
			Best: g == best, Speedup: s.speedup(g, base),
		}
		if n := g.ended(CellDiverged); n > 0 {
			r.Diverged = fmt.Sprintf("%d of %d diverged", n, len(g.Cells))
		}
		all = append(all, r)
	}
	return all
}

// speedup writes how many times sooner g reaches the target than base, paired by
// seed, where all runs of both do.
func (s *Study) speedup(g, base *Group) string {
	ratio := ratioOf(base.values(toTarget), g.values(toTarget), s.Seeds)
	if ratio.N == 0 || ratio.N < max(len(g.Cells), len(base.Cells)) {
		return "-"
	}
	return fmt.Sprintf("%.2f", ratio.Mean)
}

// inAll writes an estimate with how many runs it is of, where some have no value:
// those that reach a target are not like those that do not.
func (g *Group) inAll(of func(Cell, *trace) *float64) string {
	e := g.estimate(of)
	if e.N == 0 || e.N == len(g.Cells) {
		return e.String()
	}
	return fmt.Sprintf("%v (%d of %d runs)", e, e.N, len(g.Cells))
}

// percent writes an accuracy with two decimals.
func percent(e estimate) string {
	if e.N == 0 {
		return "-"
	}
	if e.N == 1 {
		return fmt.Sprintf("%.2f", 100*e.Mean)
	}
	return fmt.Sprintf("%.2f ± %.2f", 100*e.Mean, 100*e.Half)
}

func (g *Group) bits() string {
	for _, cell := range g.Cells {
		if cell.Summary != nil {
			return strconv.Itoa(cell.Bits)
		}
	}
	return "-"
}

// WriteCSV writes a line per cell and measured value, the tidy form: label,
// network, seed, time, round, bytes, metric, value.
func (s *Study) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	write := func(fields ...string) { _ = out.Write(fields) } // Flush reports the error
	write("label", "network", "seed", "time_s", "round", "bytes_per_peer", "metric", "value")
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, g := range s.Groups {
		for _, cell := range g.Cells {
			run := g.runs[cell.Seed]
			if run == nil {
				continue
			}
			moments := run.moments
			for i, loss := range smooth(moments) {
				m := moments[i]
				start := []string{g.Label, g.Network.Name, strconv.FormatUint(cell.Seed, 10), number(m.Time.Seconds()), number(m.Round), strconv.FormatInt(m.Sent.Wire, 10)}
				write(append(start, "train_loss", number(m.Loss))...)
				write(append(start, "train_loss_smoothed", number(loss))...)
				write(append(start, "gap", number(m.Gap))...)
			}
			for _, p := range run.Curve() {
				start := []string{g.Label, g.Network.Name, strconv.FormatUint(cell.Seed, 10), "", strconv.Itoa(p.Round), ""}
				write(append(start, "test_loss", number(p.Loss))...)
				write(append(start, "test_accuracy", number(p.Accuracy))...)
			}
		}
	}
	out.Flush()
	return out.Error()
}

// WriteLaTeX writes a table per network for \usepackage{booktabs}: means with
// 95 % intervals, the first to the target in bold, a dagger for what diverged.
func (s *Study) WriteLaTeX(w io.Writer) error {
	var b strings.Builder
	for _, network := range s.Networks {
		fmt.Fprintf(&b, "%% %s\n\\begin{tabular}{lrrrrrr}\n\\toprule\n", latex(network.Name))
		fmt.Fprintf(&b, "Algorithm & Bits & Time to %s (s) & Speed-up & MB per peer & Accuracy (\\%%) & Extra memory (MB) \\\\\n\\midrule\n", latex(s.Targets.String()))
		for _, r := range s.rows(network.Name) {
			label := latex(r.Label)
			if r.Best {
				label = "\\textbf{" + label + "}"
			}
			if r.Diverged != "" {
				label += "$^\\dagger$"
			}
			fmt.Fprintf(&b, "%s & %s & %s & %s & %s & %s & %s \\\\\n", label, r.Bits, latex(r.ToTarget), r.Speedup, latex(r.MB), latex(r.Accuracy), latex(r.Extra))
		}
		b.WriteString("\\bottomrule\n\\end{tabular}\n\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// latex writes text for LaTeX, on one line.
func latex(text string) string {
	return strings.NewReplacer(
		"±", `$\pm$`, "²", `$^2$`, "<", `$<$`, ">", `$>$`, "\n", " ",
		"%", `\%`, "_", `\_`, "&", `\&`, "#", `\#`, "$", `\$`, "{", `\{`, "}", `\}`,
		"~", `\textasciitilde{}`, "^", `\textasciicircum{}`, `\`, `\textbackslash{}`,
	).Replace(text)
}
