package main

import (
	"strings"

	"github.com/spf13/cobra"

	"gossiptrainer/internal/app/inspect"
	"gossiptrainer/topology"
)

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
			return c.answer(inspect.NewGraph(g))
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
	return inspect.ParseGraph(spec, slack)
}
