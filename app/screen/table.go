package screen

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
)

// The colours are the terminal's sixteen, so that its theme applies.
var (
	bold  = lipgloss.NewStyle().Bold(true)
	faint = lipgloss.NewStyle().Faint(true)
	alarm = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	// colours by state; other states have none
	colours = map[record.State]lipgloss.Style{
		record.Waiting:  alarm,
		record.Lost:     lipgloss.NewStyle().Foreground(lipgloss.Red),
		record.Failed:   lipgloss.NewStyle().Foreground(lipgloss.Red),
		record.Finished: lipgloss.NewStyle().Foreground(lipgloss.Green),
	}
)

// A column of the table. A narrow terminal shows columns of high rank only.
type column struct {
	title string
	width int // of the widest usual cell
	rank  int
	cell  func(p *peer) string
}

var columns = []column{
	{"ROUND", 6, 12, func(p *peer) string { return strconv.Itoa(p.Last.Round) }},
	{"LOSS", 7, 11, func(p *peer) string { return known(p.Last.Loss, decimal) }},
	{"GAP", 7, 10, func(p *peer) string { return scarce(p.Last.Gap) }},
	{"THETA", 7, 3, func(p *peer) string { return known(positive(p.Last.Theta), scarce) }},
	{"BITS", 4, 2, func(p *peer) string { return strconv.Itoa(p.Last.Bits) }},
	{"COMPUTE ms", 10, 7, func(p *peer) string { return millis(p.compute.mean) }},
	{"WAIT ms", 7, 8, func(p *peer) string { return millis(p.wait.mean) }},
	{"WAITS FOR", 9, 4, func(p *peer) string { return p.awaited }},
	{"CODEC ms", 8, 5, func(p *peer) string { return millis(p.codec.mean) }},
	{"OUT Mbit/s", 10, 9, func(p *peer) string { return megabits(p.out.rate()) }},
	{"IN Mbit/s", 9, 6, func(p *peer) string { return megabits(p.in.rate()) }},
	{"SENT MB", 8, 1, func(p *peer) string { return strconv.FormatFloat(float64(p.Last.Sent.Wire)/1e6, 'f', 1, 64) }},
}

// Widths of the two columns that are always shown.
const (
	peerWidth  = 4
	stateWidth = 9 // returning
	gutter     = 2
)

// A Size is the size of a terminal in cells.
type Size struct{ Width, Height int }

// linesAround is the number of lines of the table that are neither rows of peers nor waits. They are two of head, a
// blank one, the titles, that of hidden peers, and one for the cursor.
const linesAround = 6

// linesOfWait is the most lines of a wait in a narrow terminal.
const linesOfWait = 2

// Table draws the dashboard at time now. It is neither wider nor higher than the terminal: a last line counts the peers
// that do not fit.
func (d *Dashboard) Table(now time.Time, size Size) string {
	shown := fitting(size.Width)
	lines := []string{d.head(), d.progress(now, size.Width), "", faint.Render(titles(shown))}
	rows := len(d.peers)
	waits := d.folded(now, size.Width)
	waits = waits[:max(0, min(len(waits), size.Height-linesAround-1))]
	if room := max(size.Height-linesAround-max(len(waits), maxExplained), 1); rows > room {
		rows = room
	}
	for i := range rows {
		lines = append(lines, d.peers[i].cells(shown))
	}
	if hidden := d.all() - rows; hidden > 0 {
		lines = append(lines, faint.Render(fmt.Sprintf("and %d more peers", hidden)))
	}
	for _, wait := range waits {
		lines = append(lines, alarm.Render(wait))
	}
	fit := lipgloss.NewStyle().MaxWidth(size.Width)
	for i, line := range lines {
		lines[i] = fit.Render(line)
	}
	return strings.Join(lines, "\n")
}

// folded returns the explanations of waits, in lines that fit.
func (d *Dashboard) folded(now time.Time, width int) []string {
	var lines []string
	for _, wait := range d.Waiting(now) {
		of := human.Fold(wait, width)
		lines = append(lines, of[:min(len(of), linesOfWait)]...)
	}
	return lines
}

// fitting returns the columns that fit into a width.
func fitting(width int) []column {
	for least := 0; ; least++ {
		used := peerWidth + gutter + stateWidth
		var shown []column
		for _, c := range columns {
			if c.rank > least {
				shown = append(shown, c)
				used += gutter + c.width
			}
		}
		if used <= width || len(shown) == 0 {
			return shown
		}
	}
}

func (d *Dashboard) head() string {
	return bold.Render(d.run.Name) + "  " + d.run.Method + "  " + d.run.Topology
}

func (d *Dashboard) progress(now time.Time, width int) string {
	text := "round " + human.Fraction(d.Round(), d.run.Rounds)
	share := d.share()
	if t, what, ok := d.testing(); ok {
		text, share = what, t.share
	}
	tail, here, eta := fmt.Sprintf("%3.0f %%", 100*share), fmt.Sprintf("  peers %d/%d", d.Present(), d.run.Peers), ""
	if d.run.Open {
		here = fmt.Sprintf("  members %d", d.Present())
	}
	if left, ok := d.left(now); ok {
		eta = "  eta " + human.Clock(left)
	}
	if len(text)+gutter+len(tail+here+eta) <= width {
		tail += here // with room for one of both, the remaining time is shown
	}
	tail += eta
	const widest = 30
	cells := min(widest, width-len(text)-len(tail)-2*gutter)
	if cells < 5 {
		return text + "  " + tail
	}
	full := int(share * float64(cells))
	bar := strings.Repeat("━", full) + faint.Render(strings.Repeat("─", cells-full))
	return text + "  " + bar + "  " + tail
}

// share returns the finished share of the run, 0 to 1. Asynchronous workers also do the steps of lost workers.
func (d *Dashboard) share() float64 {
	rounds, peers := d.count()
	if d.run.Rounds == 0 {
		return 0
	}
	return min(1, float64(rounds)/max(1, float64(d.run.Rounds*peers)))
}

func titles(shown []column) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%-*s%*s%-*s", peerWidth, "PEER", gutter, "", stateWidth, "STATE")
	for _, c := range shown {
		fmt.Fprintf(&s, "%*s%*s", gutter, "", c.width, c.title)
	}
	return s.String()
}

// cells writes the row of a peer.
func (p *peer) cells(shown []column) string {
	name := string(p.State)
	if p.State == record.Testing && p.test.share > 0 {
		name = p.test.percent()
	}
	state := fmt.Sprintf("%-*s", stateWidth, name)
	if style, ok := colours[p.State]; ok {
		state = style.Render(state)
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%*d%*s%s", peerWidth, p.number, gutter, "", state)
	for _, c := range shown {
		text := "-"
		if p.Last.Round > 0 {
			text = c.cell(p)
		}
		fmt.Fprintf(&s, "%*s%*s", gutter, "", c.width, text)
	}
	return s.String()
}

// decimal writes a number with as many digits as fit into a column.
func decimal(v float64) string {
	if math.Abs(v) < 100 {
		return strconv.FormatFloat(v, 'f', 4, 64)
	}
	return scarce(v)
}

// scarce writes a number with few digits.
func scarce(v float64) string { return strconv.FormatFloat(v, 'e', 1, 64) }

// known writes a number, or a dash for NaN: a loss that no script logs, a round without theta.
func known(v float64, write func(float64) string) string {
	if math.IsNaN(v) {
		return "-"
	}
	return write(v)
}

// positive returns a number that is NaN where 0 says that there is none.
func positive(v float64) float64 {
	if v == 0 {
		return math.NaN()
	}
	return v
}

func millis(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 1, 64)
}

func megabits(bitsPerSecond float64) string {
	if math.IsNaN(bitsPerSecond) {
		return "-"
	}
	return strconv.FormatFloat(bitsPerSecond/1e6, 'f', 1, 64)
}
