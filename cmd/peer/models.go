package main

import (
	"github.com/spf13/cobra"

	"gossiptrainer/internal/app/inspect"
	"gossiptrainer/internal/app/models"
)

func newEvaluate(c *console) *cobra.Command {
	var r models.Request
	cmd := &cobra.Command{
		Use:   "evaluate MODEL [FILE]",
		Short: "print loss and accuracy of a model file on a test split",
		Long: `print loss and accuracy of a model file on a test split

MODEL is a safetensors file, of a run or of another program: docs/models.md has the names
and shapes. Model and data are those of the run file FILE. Without it they are those that
the metadata of MODEL name.`,
		Example: `  peer evaluate runs/ring8-20260726-093015/model.safetensors
  peer evaluate trained.safetensors --data fashion-mnist --json
  peer evaluate trained.safetensors my-run.yaml`,
		Args: arguments(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			if r.Model = args[0]; len(args) > 1 {
				r.RunFile = args[1]
			}
			score, err := models.Evaluate(r)
			if err != nil {
				return err
			}
			return c.print(score, score.Write)
		},
	}
	cmd.Flags().StringVar(&r.Data, "data", "", "`name` of the data set, as data.name of a run file")
	cmd.Flags().StringArrayVar(&r.Set, "set", nil, "override a key of the run file, as in `key=value`; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("set", completeKeys)
	names := cobra.FixedCompletions(inspect.SetNames(), cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("data", names)
	cmd.ValidArgsFunction = completeFiles
	c.addJSON(cmd)
	return cmd
}

func newAverage(c *console) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "average FILE... -o OUT",
		Short: "average model files",
		Long: `average model files

The files are safetensors files of any program. They must have the same tensors. Sums are
in double precision; tensors of whole numbers are those of the first file.`,
		Example: `  peer average a/peer-0.safetensors b/peer-1.safetensors -o model.safetensors`,
		Args:    arguments(1, 1<<16),
		RunE: func(_ *cobra.Command, files []string) error {
			mean, err := models.AverageFiles(files, out)
			if err != nil {
				return err
			}
			return c.print(mean, mean.Write)
		},
		ValidArgsFunction: completeFiles,
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "the `file` to write")
	c.addJSON(cmd)
	return cmd
}

// completeFiles completes model files and run files.
func completeFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"safetensors", "yaml"}, cobra.ShellCompDirectiveFilterFileExt
}
