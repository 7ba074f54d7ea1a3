package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gossiptrainer/internal/app/advice"
	"gossiptrainer/topology"
)

// A graphReport is what "topology show" prints.
type graphReport struct {
	Spec     string             `json:"spec"`
	Workers  int                `json:"workers"`
	Slack    float64            `json:"slack"`
	Edges    [][2]topology.Rank `json:"edges"`
	Diameter int                `json:"diameter"`

	Lambda2      float64   `json:"lambda_2"`
	LambdaN      float64   `json:"lambda_n"`
	Rho          float64   `json:"rho"` // max(|λ₂|, |λₙ|)
	Gap          float64   `json:"gap"` // 1 − ρ
	S            float64   `json:"s"`
	S1           float64   `json:"s1"`
	D2Admissible bool      `json:"d2_admissible"`
	D2MaxSlack   float64   `json:"d2_max_slack"`
	Eigenvalues  []float64 `json:"eigenvalues"`

	W [][]float64 `json:"w,omitempty"` // of graphs small enough to look at

	graph *topology.Graph
}

// widest is the largest W that is printed: its rows fit 80 columns.
const widest = 10

// largestW is the largest W that goes into JSON.
const largestW = 64

func newTopology(c *console) *cobra.Command {
	return parent(&cobra.Command{
		Use:     "topology",
		Short:   "look at communication graphs and their mixing matrices",
		Example: "  peer topology show ring:8",
	}, newTopologyShow(c))
}

func newTopologyShow(c *console) *cobra.Command {
	var file runFile
	var slack string
	cmd := &cobra.Command{
		Use:   "show SPEC",
		Short: "draw a graph and print what the theory says of its mixing matrix",
		Long: `draw a graph and print what the theory says of its mixing matrix

SPEC is kind:size as in ring:8, torus:rowsxcols as in torus:4x4, or a run file.
The kinds are ` + kindNames() + `.`,
		Example: `  peer topology show ring:8
  peer topology show torus:4x4 --slack 0.5
  peer topology show ring8-fashion --json`,
		Args: arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			g, err := findGraph(&file, args[0], slack)
			if err != nil {
				return err
			}
			report, err := reportGraph(g)
			if err != nil {
				return err
			}
			return c.print(report, report.write)
		},
	}
	file.addFlags(cmd)
	cmd.Flags().StringVar(&slack, "slack", "", "mix with `gamma` W + (1 - gamma) I (default: the run file's, or 1)")
	c.addJSON(cmd)
	return cmd
}

func kindNames() string {
	var names []string
	for _, k := range topology.Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// findGraph builds the graph of a short form or of a run file.
func findGraph(file *runFile, spec, slack string) (*topology.Graph, error) {
	if !strings.Contains(spec, ":") {
		if slack != "" {
			file.set = append(file.set, "topology.slack="+slack)
		}
		run, err := file.assemble([]string{spec})
		if err != nil {
			return nil, err
		}
		return run.Graph(), nil
	}
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

func reportGraph(g *topology.Graph) (*graphReport, error) {
	s, err := g.Spectrum()
	if err != nil {
		return nil, err
	}
	r := &graphReport{
		Spec: g.Spec().String(), Workers: g.N(), Slack: g.Spec().Slack, Edges: g.Edges(), Diameter: g.Diameter(),
		Lambda2: s.Lambda2, LambdaN: s.LambdaN, Rho: s.Rho, Gap: s.Gap, S: s.S, S1: s.S1,
		D2Admissible: s.D2Admissible(), D2MaxSlack: s.D2MaxSlack(), Eigenvalues: s.Values, graph: g,
	}
	if r.Edges == nil {
		r.Edges = [][2]topology.Rank{}
	}
	if g.N() <= largestW {
		w := g.W()
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

func (r *graphReport) write(w io.Writer) error {
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
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "workers\t%d, %d edges, diameter %d, slack %g\n", r.Workers, len(r.Edges), r.Diameter, r.Slack)
	fmt.Fprintf(t, "rho\t%.6f, gap %.6f: distance to consensus after a round of mixing alone, at most\n", r.Rho, r.Gap)
	fmt.Fprintf(t, "lambda\tsecond %.6f, least %.6f\n", r.Lambda2, r.LambdaN)
	fmt.Fprintf(t, "path sums\tS = %.6g, S1 = %.6g: what the certified theta grows with\n", r.S, r.S1)
	fmt.Fprintf(t, "D2\t%s\n", r.d2())
	return t.Flush()
}

func (r *graphReport) d2() string {
	if r.D2Admissible {
		return "admissible: the least eigenvalue is above -1/3"
	}
	return fmt.Sprintf("not admissible: the least eigenvalue is not above -1/3; slack below %.4g makes it so", r.D2MaxSlack*r.Slack)
}
