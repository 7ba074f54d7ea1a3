package main

import (
	"strings"

	"github.com/spf13/cobra"

	"gossiptrainer/app/describe"
	"gossiptrainer/app/screen"
	"gossiptrainer/topology"
)

func newTopology(c *console) *cobra.Command {
	return parent(&cobra.Command{
		Use:     "topology",
		Short:   "show communication graphs and their mixing matrices",
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

SPEC is kind:size as in ring:8, torus:rowsxcols as in torus:4x4, a run file,
or all:size, which lists the kinds and what consensus costs on each.`,
		Example: `  peer topology show ring:8
  peer topology show all:32
  peer topology show ring8-fashion --json`,
		Args: arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if n, all := strings.CutPrefix(args[0], "all:"); all {
				return c.answer(during(c, "computing path sums", func(*screen.Task) (*describe.Costs, error) {
					return describe.NewCosts(n)
				}))
			}
			return c.answer(during(c, "computing the spectrum", func(*screen.Task) (describe.Report, error) {
				g, err := findGraph(&file, args[0], slack)
				if err != nil {
					return nil, err
				}
				return describe.Show(g)
			}))
		},
	}
	file.addFlags(cmd)
	cmd.Flags().StringVar(&slack, "slack", "", "mix with `gamma` W + (1 - gamma) I (default: the run file's, or 1)")
	c.addJSON(cmd)
	return cmd
}

// findGraph builds the graph of a short form, such as ring:8, or of a run file.
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
	return describe.ParseGraph(spec, slack)
}
