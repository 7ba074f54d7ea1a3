package describe

import (
	"fmt"
	"io"
	"strings"

	"gossiptrainer/internal/human"
	"gossiptrainer/topology"
)

// A Report is a description that prints itself as text.
type Report interface {
	Write(w io.Writer) error
}

// Show describes a graph: as a Graph if it is static, else as a Sequence.
func Show(g *topology.Graph) (Report, error) {
	if g.Spec().Kind.Static() {
		return newGraph(g)
	}
	return newSequence(g)
}

// A sequence is the output of "topology show" for a graph that changes from exchange to exchange, or is directed.
type sequence struct {
	Spec       string    `json:"spec"`
	Workers    int       `json:"workers"`
	Slack      float64   `json:"slack"`
	Period     int       `json:"period"`      // exchanges; 0: the matrices never repeat
	Symmetric  bool      `json:"symmetric"`   // neighbours always send to each other
	ExactAfter int       `json:"exact_after"` // exchanges after which all models equal their mean; 0: never
	Reach      int       `json:"reach"`       // exchanges until all know the news of one worker
	S          float64   `json:"s"`
	S1         float64   `json:"s1"`
	Messages   int       `json:"messages"`  // most of a worker in an exchange
	Distances  []float64 `json:"distances"` // |W^(s)…W^(0) − J|₂ for s = 0, 1, …
	Phases     []phase   `json:"phases"`

	drawing int // phases that are drawn
}

// A phase has the edges of one exchange of a period.
type phase struct {
	// Edges are pairs of sender and receiver; where matrices are symmetric, each pair once.
	Edges [][2]topology.Rank `json:"edges"`
}

const (
	shownDistances = 40    // exchanges whose distance is computed
	farAway        = 1e-12 // distance at which the rest is rounding
	endlessPhases  = 4     // exchanges that are drawn of a graph that never repeats
)

// newSequence computes the figures of a graph that is not static.
func newSequence(g *topology.Graph) (*sequence, error) {
	sums, err := g.PathSums()
	if err != nil {
		return nil, err
	}
	spec := g.Spec()
	r := &sequence{
		Spec: spec.String(), Workers: g.N(), Slack: spec.Slack, Period: g.Period(), Symmetric: g.Symmetric(),
		Reach: g.Reach(), S: sums.S, S1: sums.S1,
	}
	if r.ExactAfter, _, err = g.ExactAfter(); err != nil {
		return nil, err
	}
	if r.Distances, err = g.Distances(shownDistances, farAway); err != nil {
		return nil, err
	}
	r.drawing = r.Period
	if r.Period == 0 {
		r.drawing = endlessPhases
	}
	for s := range r.drawing {
		r.Phases = append(r.Phases, r.phase(g, s))
	}
	return r, nil
}

// phase returns the edges of an exchange.
func (r *sequence) phase(g *topology.Graph, s int) phase {
	p := phase{Edges: [][2]topology.Rank{}}
	for i, row := range g.Rows(s) {
		r.Messages = max(r.Messages, len(row.Out))
		for _, e := range row.In {
			if !r.Symmetric || int(e.Peer) > i {
				p.Edges = append(p.Edges, [2]topology.Rank{e.Peer, topology.Rank(i)})
			}
		}
	}
	return p
}

// Write draws one frame per phase and prints the figures.
func (r *sequence) Write(w io.Writer) error {
	for s, p := range r.Phases {
		fmt.Fprintf(w, "exchange %d\n%s", s, r.draw(p))
	}
	if r.Period == 0 {
		fmt.Fprintln(w, "and so on, drawn from the seed")
	}
	fmt.Fprintln(w)
	kind := "directed"
	if r.Symmetric {
		kind = "symmetric"
	}
	t := human.AlignLeft(w)
	fmt.Fprintf(t, "workers\t%d, %s, slack %g\n", r.Workers, kind, r.Slack)
	fmt.Fprintf(t, "period\t%s\n", r.period())
	fmt.Fprintf(t, "reach\t%s until all know the news of one worker\n", human.Count(r.Reach, "exchange"))
	fmt.Fprintf(t, "path sums\tS = %.6g, S1 = %.6g: what the certified theta grows with\n", r.S, r.S1)
	fmt.Fprintf(t, "messages\tat most %d of a worker in an exchange: %d bytes per parameter, %d at 8 bits\n",
		r.Messages, 4*r.Messages, r.Messages)
	fmt.Fprintf(t, "distance\tfrom the mean after 1, 2, ... exchanges:%s\n", r.distances())
	return t.Flush()
}

func (r *sequence) period() string {
	switch {
	case r.Period == 0:
		return "none: each exchange draws its edges; never exact"
	case r.ExactAfter > 0:
		return fmt.Sprintf("%s; exact: all models equal their mean after %d", human.Count(r.Period, "exchange"), r.ExactAfter)
	}
	return fmt.Sprintf("%s; not exact", human.Count(r.Period, "exchange"))
}

// shortList is the number of distances that are printed.
const shortList = 8

func (r *sequence) distances() string {
	var text strings.Builder
	for _, d := range r.Distances[:min(len(r.Distances), shortList)] {
		if d < farAway {
			d = 0
		}
		fmt.Fprintf(&text, " %.3g", d)
	}
	return text.String()
}

// frameWidth is the width of a frame in columns.
const frameWidth = 78

// draw lists the edges of a phase: pairs that meet, or senders and receivers.
func (r *sequence) draw(p phase) string {
	arrow := " → "
	if r.Symmetric {
		arrow = " ─ "
	}
	if len(p.Edges) == 0 {
		return "  no edges\n"
	}
	digits := len(fmt.Sprint(r.Workers - 1))
	var text strings.Builder
	column := 0
	for _, e := range p.Edges {
		from, to := e[0], e[1]
		if r.Symmetric {
			from, to = to, from
		}
		item := fmt.Sprintf("  %*d%s%-*d", digits, from, arrow, digits, to)
		if width := 2*digits + 5; column+width > frameWidth {
			text.WriteByte('\n')
			column = width
		} else {
			column += width
		}
		text.WriteString(item)
	}
	lines := strings.Split(text.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ") + "\n"
	}
	return strings.Join(lines, "")
}
