package describe

import (
	"fmt"
	"io"
	"strconv"

	"gossiptrainer/app/advice"
	"gossiptrainer/internal/human"
	"gossiptrainer/topology"
)

// Costs is the output of "topology show all:size". For each kind of graph it has the models that a worker must send
// until the disagreement of the worst first models is a share of what it was.
type Costs struct {
	Workers int    `json:"workers"`
	Kinds   []Cost `json:"kinds"`
}

// A Cost is the row of a kind. Models are those that the worker with the most sends, −1 if more than mostCost.
type Cost struct {
	Kind      topology.Kind `json:"kind"`
	PerRound  int           `json:"per_exchange"` // models that a worker sends in an exchange, at most
	Models    [3]int        `json:"models"`       // for the shares 0.1, 0.01 and 0.001
	Exchanges int           `json:"exchanges"`    // for the last share, −1 if too many
	S         float64       `json:"s"`            // path sum
}

// shares are those of the table.
var shares = [...]float64{0.1, 0.01, 0.001}

// mostCompared is the largest number of workers of the table.
const mostCompared = 128

// mostCost bounds the exchanges that are looked at.
const mostCost = 2000

// NewCosts computes the table for a number of workers, which a user has typed. Kinds that have no graph of this size
// are left out.
func NewCosts(size string) (*Costs, error) {
	workers, err := strconv.Atoi(size)
	if err != nil || workers < 1 || workers > mostCompared {
		return nil, advice.Usagef("topology: all:%s: want a number of workers from 1 to %d, as in all:32", size, mostCompared)
	}
	c := &Costs{Workers: workers}
	for _, kind := range topology.Kinds() {
		spec := topology.Spec{Kind: kind, N: workers, Slack: 1}
		if kind.Takes("rows") {
			spec.Rows, spec.Cols = topology.Sides(workers)
		}
		if setting, _ := spec.Check(); setting != "" || kind.Takes("file") || spec.Rows == 1 {
			continue
		}
		g, err := topology.New(spec)
		if err != nil {
			return nil, err
		}
		cost, err := costOf(g)
		if err != nil {
			return nil, err
		}
		c.Kinds = append(c.Kinds, cost)
	}
	return c, nil
}

func costOf(g *topology.Graph) (Cost, error) {
	cost := Cost{Kind: g.Spec().Kind, Models: [3]int{-1, -1, -1}, Exchanges: -1}
	for i := range g.N() {
		cost.PerRound = max(cost.PerRound, len(g.Row(topology.Rank(i), 0).Out))
	}
	sums, err := g.PathSums()
	if err != nil {
		return cost, err
	}
	cost.S = sums.S
	distances, err := g.Distances(mostCost, shares[len(shares)-1])
	if err != nil {
		return cost, err
	}
	for at, share := range shares {
		for s, d := range distances {
			if d < share {
				cost.Models[at], cost.Exchanges = (s+1)*cost.PerRound, s+1
				break
			}
		}
	}
	if cost.Models[len(shares)-1] < 0 {
		cost.Exchanges = -1
	}
	return cost, nil
}

// Write prints the table.
func (c *Costs) Write(w io.Writer) error {
	fmt.Fprintf(w, "models that a worker of %d sends until the disagreement is 0.1, 0.01, 0.001 of what it was\n\n",
		c.Workers)
	t := human.AlignRight(w)
	fmt.Fprintln(t, "kind\tper exchange\t0.1\t0.01\t0.001\texchanges\tS\t")
	for _, k := range c.Kinds {
		fmt.Fprintf(t, "%s\t%d\t", k.Kind, k.PerRound)
		for _, models := range append(k.Models[:], k.Exchanges) {
			text := "more"
			if models >= 0 {
				text = strconv.Itoa(models)
			}
			fmt.Fprintf(t, "%s\t", text)
		}
		fmt.Fprintf(t, "%.3g\t\n", k.S)
	}
	return t.Flush()
}
