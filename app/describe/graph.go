// Package describe prints graphs and their spectra, compressors at work on a vector, data sets
// and their files, the keys of run files, and runs. Each description is a value with JSON keys that
// also writes itself as text.
package describe

import (
	"fmt"
	"io"
	"strconv"

	"gossiptrainer/app/advice"
	"gossiptrainer/internal/human"
	"gossiptrainer/topology"
)

// A shownGraph is the output of "topology show".
type shownGraph struct {
	Spec     string             `json:"spec"`
	Workers  int                `json:"workers"`
	Slack    float64            `json:"slack"`
	Edges    [][2]topology.Rank `json:"edges"`
	Diameter int                `json:"diameter"`

	spectrum

	W [][]float64 `json:"w,omitempty"` // of graphs small enough to look at

	graph *topology.Graph
}

// A spectrum holds the figures that follow from the eigenvalues of a mixing matrix.
type spectrum struct {
	Lambda2      float64   `json:"lambda_2"`
	LambdaN      float64   `json:"lambda_n"`
	Rho          float64   `json:"rho"` // max(|λ₂|, |λₙ|)
	Gap          float64   `json:"gap"` // 1 − ρ
	S            float64   `json:"s"`
	S1           float64   `json:"s1"`
	D2Admissible bool      `json:"d2_admissible"`
	D2MaxSlack   float64   `json:"d2_max_slack"`
	Eigenvalues  []float64 `json:"eigenvalues"`
}

// widest is the largest W that is printed: its rows fit 80 columns.
const widest = 10

// largestW is the largest W that goes into JSON.
const largestW = 64

// newGraph computes the theoretical figures of a graph's mixing matrix.
func newGraph(g *topology.Graph) (*shownGraph, error) {
	s, err := g.Spectrum()
	if err != nil {
		return nil, err
	}
	r := &shownGraph{
		Spec: g.Spec().String(), Workers: g.N(), Slack: g.Spec().Slack, Edges: g.Edges(), Diameter: g.Reach(),
		graph: g,
		spectrum: spectrum{
			Lambda2: s.Lambda2, LambdaN: s.LambdaN, Rho: s.Rho, Gap: s.Gap, S: s.S, S1: s.S1,
			D2Admissible: s.D2Admissible(), D2MaxSlack: s.D2MaxSlack(), Eigenvalues: s.Values,
		},
	}
	if r.Edges == nil {
		r.Edges = [][2]topology.Rank{}
	}
	if g.N() <= largestW {
		w := g.W(0)
		for i := range g.N() {
			row := make([]float64, g.N())
			for j := range row {
				row[j] = w.At(i, j)
			}
			r.W = append(r.W, row)
		}
	}
	return r, nil
}

// Write draws the graph and prints its mixing matrix and its spectrum.
func (r *shownGraph) Write(w io.Writer) error {
	if err := r.graph.Draw(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if r.Workers <= widest {
		for _, row := range r.W {
			for _, v := range row {
				fmt.Fprintf(w, "%7.4f", v)
			}
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w)
	}
	t := human.AlignLeft(w)
	fmt.Fprintf(t, "workers\t%d, %s, diameter %d, slack %g\n",
		r.Workers, human.Count(len(r.Edges), "edge"), r.Diameter, r.Slack)
	fmt.Fprintf(t, "rho\t%.6f, gap %.6f: distance to consensus after a round of mixing, at most\n", r.Rho, r.Gap)
	fmt.Fprintf(t, "lambda\tsecond %.6f, least %.6f\n", r.Lambda2, r.LambdaN)
	fmt.Fprintf(t, "path sums\tS = %.6g, S1 = %.6g: what the certified theta grows with\n", r.S, r.S1)
	fmt.Fprintf(t, "D2\t%s\n", r.d2())
	return t.Flush()
}

func (r *shownGraph) d2() string {
	if r.D2Admissible {
		return "admissible: the least eigenvalue is above -1/3"
	}
	return fmt.Sprintf("not admissible: the least eigenvalue is not above -1/3; slack below %.4g makes it so",
		r.D2MaxSlack*r.Slack)
}

// ParseGraph builds the graph of a short form, such as ring:8, with a slack, "" for 1.
func ParseGraph(spec, slack string) (*topology.Graph, error) {
	s, err := topology.ParseSpec(spec)
	if err != nil {
		return nil, advice.Usage(err, "peer topology show ring:8")
	}
	s.Slack = 1
	if slack != "" {
		if s.Slack, err = strconv.ParseFloat(slack, 64); err != nil {
			return nil, advice.Usagef("topology: --slack %s: not a number", slack)
		}
	}
	g, err := topology.New(s)
	if err != nil {
		return nil, advice.Usage(err, "")
	}
	return g, nil
}
