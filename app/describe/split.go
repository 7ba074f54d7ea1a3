package describe

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"

	"gossiptrainer/app/screen"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/experiment"
)

// A Split is the output of "data split": which samples each worker has, and how much workers differ. Lists are by rank.
type Split struct {
	data.Partition
	Sizes   []int     `json:"sizes"`
	Weights []float64 `json:"weights"`         // in the objective, 1 on average over the workers
	Noise   []float64 `json:"label_noise"`     // share of the labels that are replaced on purpose
	Wrong   []int     `json:"labels_replaced"` // how many; the counts are those before
	// Distances are those of data.Partition.Distances.
	Distances    []float64 `json:"distances"`
	MeanDistance float64   `json:"mean_distance"` // over the workers: the measure of heterogeneity
	MostDistance float64   `json:"largest_distance"`

	weighted bool
}

// NewSplit computes the split of a run. It reads the labels.
func NewSplit(run *experiment.Run) (*Split, error) {
	p, err := run.Data().Partition()
	if err != nil {
		return nil, err
	}
	s := &Split{Partition: p, Sizes: p.Sizes(), Distances: p.Distances(), weighted: run.Config().Data.Weighted()}
	if s.Weights, err = experiment.Weights(run); err != nil {
		return nil, err
	}
	for rank, size := range s.Sizes {
		noise := data.Noise{Share: run.Config().Data.NoiseOf(rank)}
		s.Noise = append(s.Noise, noise.Share)
		s.Wrong = append(s.Wrong, noise.Count(size))
		s.MeanDistance += s.Distances[rank] / float64(len(s.Sizes))
	}
	s.MostDistance = slices.Max(s.Distances)
	return s, nil
}

// Write draws the split as wide as w is.
func (s *Split) Write(w io.Writer) error {
	width, colours := screen.Look(w)
	_, err := io.WriteString(w, s.draw(width, colours))
	return err
}

// draw returns a table of the workers with a bar for the size of each, and a table of their samples by label. Where
// that is wider than width, it comes in parts.
func (s *Split) draw(width int, colours bool) string {
	c := chart{split: s, width: width, colours: colours}
	c.overview()
	c.measure()
	c.counts()
	c.names()
	return c.text.String()
}

// A chart draws a split.
type chart struct {
	split   *Split
	width   int
	colours bool
	line    strings.Builder
	text    strings.Builder // lines that have ended
}

// paint gives text a colour where colours are shown.
func (c *chart) paint(style lipgloss.Style, text string) string {
	if !c.colours {
		return text
	}
	return style.Render(text)
}

var (
	sizeStyle  = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
	noiseStyle = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	faintStyle = lipgloss.NewStyle().Faint(true)
	boldStyle  = lipgloss.NewStyle().Bold(true)
	plainStyle = lipgloss.NewStyle()
)

// A field is a column of the overview.
type field struct {
	title string
	style lipgloss.Style
	cell  func(rank int) string
}

// fields returns the columns that say something.
func (c *chart) fields() []field {
	s := c.split
	all := []field{
		{"WORKER", plainStyle, strconv.Itoa},
		{"SAMPLES", plainStyle, func(rank int) string { return strconv.Itoa(s.Sizes[rank]) }},
	}
	if s.weighted {
		all = append(all, field{"WEIGHT", plainStyle, func(rank int) string { return fmt.Sprintf("%.3f", s.Weights[rank]) }})
	}
	if slices.Max(s.Noise) > 0 {
		all = append(all, field{"WRONG LABELS", noiseStyle, func(rank int) string {
			return fmt.Sprintf("%d (%.3g %%)", s.Wrong[rank], 100*s.Noise[rank])
		}})
	}
	return append(all, field{"DISTANCE", plainStyle, func(rank int) string {
		return fmt.Sprintf("%.3f", s.Distances[rank])
	}})
}

const (
	longestBar = 60
	gap        = "  "
)

// overview draws a line for each worker.
func (c *chart) overview() {
	fields, taken := c.fields(), 0
	widths := make([]int, len(fields))
	for i, f := range fields {
		widths[i] = len(f.title)
		for rank := range c.split.Sizes {
			widths[i] = max(widths[i], len(f.cell(rank)))
		}
		taken += widths[i] + len(gap)
	}
	for i, f := range fields {
		c.line.WriteString(c.paint(boldStyle, fmt.Sprintf("%*s", widths[i], f.title)) + gap)
	}
	c.endLine()
	bar, largest := min(longestBar, c.width-taken), slices.Max(c.split.Sizes)
	for rank, size := range c.split.Sizes {
		for i, f := range fields {
			c.line.WriteString(c.paint(f.style, fmt.Sprintf("%*s", widths[i], f.cell(rank))) + gap)
		}
		if bar > 0 {
			c.line.WriteString(c.paint(sizeStyle, strings.Repeat("━", max(1, bar*size/largest))))
		}
		c.endLine()
	}
}

// endLine ends a line without blanks at its end.
func (c *chart) endLine() {
	c.text.WriteString(strings.TrimRight(c.line.String(), " ") + "\n")
	c.line.Reset()
}

// measure says how much the workers differ.
func (c *chart) measure() {
	s := c.split
	c.endLine()
	c.sentence(fmt.Sprintf("distance of a worker's labels from those of all (total variation, 0 to 1): %.3f on average, "+
		"%.3f at most", s.MeanDistance, s.MostDistance))
	if s.weighted {
		c.sentence(fmt.Sprintf("the objective is the mean over samples: gradients are multiplied by the weight, at most %.3f",
			slices.Max(s.Weights)))
	}
	if slices.Max(s.Noise) > 0 {
		c.sentence("the counts are those of the true labels")
	}
	c.endLine()
}

// sentence writes text in lines that fit.
func (c *chart) sentence(text string) {
	column := 0
	for word := range strings.FieldsSeq(text) {
		long := utf8.RuneCountInString(word)
		if column > 0 && column+1+long > c.width {
			c.endLine()
			column = 0
		}
		if column > 0 {
			c.line.WriteString(" ")
			column++
		}
		c.line.WriteString(word)
		column += long
	}
	c.endLine()
}

// levels are bars of one column, from an eighth to the whole.
var levels = []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// counts draws the samples by worker and label, each with a bar that the largest of all fills. Labels that do not fit
// follow in another table.
func (c *chart) counts() {
	s := c.split
	digits, largest := len(strconv.Itoa(len(s.Classes)-1)), 1
	for _, count := range s.Counts {
		largest = max(largest, slices.Max(count))
	}
	all := make([]int, len(s.Classes))
	for _, count := range s.Counts {
		for label, n := range count {
			all[label] += n
		}
	}
	for _, n := range slices.Concat(all, s.Unused) {
		digits = max(digits, len(strconv.Itoa(n)))
	}
	cell := digits + len(gap) + 1
	together := max(1, (c.width-len("WORKER"))/cell)
	for from := 0; from < len(s.Classes); from += together {
		to := min(from+together, len(s.Classes))
		title := "WORKER"
		for label := from; label < to; label++ {
			title += fmt.Sprintf("%s%*d ", gap, digits, label)
		}
		if from > 0 {
			c.endLine()
		}
		c.line.WriteString(c.paint(boldStyle, strings.TrimRight(title, " ")))
		c.endLine()
		row := func(name string, count []int, bars bool) {
			fmt.Fprintf(&c.line, "%*s", len("WORKER"), name)
			for _, n := range count[from:to] {
				c.line.WriteString(gap + c.count(n, digits, largest, bars))
			}
			c.endLine()
		}
		for rank, count := range s.Counts {
			row(strconv.Itoa(rank), count, true)
		}
		row("all", all, false)
		if slices.Max(s.Unused) > 0 {
			row("unused", s.Unused, false)
		}
	}
}

// count writes a number of samples, and its bar.
func (c *chart) count(n, digits, largest int, bar bool) string {
	text := fmt.Sprintf("%*d", digits, n)
	switch {
	case !bar:
		return text + " "
	case n == 0:
		return c.paint(faintStyle, text) + " "
	}
	return text + c.paint(sizeStyle, levels[(n*len(levels)-1)/largest])
}

// names lists the labels, unless their names are their numbers.
func (c *chart) names() {
	text, named := "labels:", false
	for label, name := range c.split.Classes {
		named = named || name != strconv.Itoa(label)
		text += fmt.Sprintf(" %d %s,", label, clean(name))
	}
	if named {
		c.sentence(strings.TrimSuffix(text, ","))
	}
}
