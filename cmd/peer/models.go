package main

import (
	"github.com/spf13/cobra"

	"gossiptrainer/app/models"
	"gossiptrainer/app/screen"
)

func newEvaluate(c *console) *cobra.Command {
	var r models.Request
	cmd := &cobra.Command{
		Use:     "evaluate MODEL [FILE]",
		Short:   "print loss and accuracy of a model file on test rows",
		Long:    models.AboutEvaluate,
		Example: models.ExampleEvaluate,
		Args:    arguments(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			return c.answer(during(c, "evaluating", func(t *screen.Task) (models.Score, error) {
				return models.Evaluate(r.Of(args), t.Reach)
			}))
		},
		ValidArgsFunction: completeNames(nil),
	}
	cmd.Flags().StringVar(&r.Data, "data", "", "`name` of the data set, as data.name of a run file, or a file of your own")
	cmd.Flags().StringArrayVar(&r.Set, "set", nil, "override a key of the run file, as in `key=value`; may be repeated")
	cmd.Flags().StringVarP(&r.Picture, "output", "o", "", "draw the classes into a `file`: png, svg or pdf")
	_ = cmd.RegisterFlagCompletionFunc("set", completeKeys)
	c.addJSON(cmd)
	return cmd
}

func newAverage(c *console) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:     "average FILE... -o OUT",
		Short:   "average model files",
		Long:    models.AboutAverage,
		Example: models.ExampleAverage,
		Args:    arguments(1, models.MostFiles),
		RunE: func(_ *cobra.Command, files []string) error {
			return c.answer(during(c, "averaging", func(t *screen.Task) (models.Average, error) {
				return models.AverageFiles(files, out, t.Reach)
			}))
		},
		ValidArgsFunction: completeNames(nil),
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "the `file` to write")
	c.addJSON(cmd)
	return cmd
}

func newPredict(c *console) *cobra.Command {
	var r models.PredictRequest
	cmd := &cobra.Command{
		Use:     "predict MODEL FILE",
		Short:   "predict the class of each sample in a file",
		Long:    models.AboutPredict,
		Example: models.ExamplePredict,
		Args:    arguments(2, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			r.Model, r.File = args[0], args[1]
			done, err := models.Predict(r)
			for _, note := range done.Notes {
				c.say("note: %s", note)
			}
			return c.answer(done, err)
		},
		ValidArgsFunction: completeNames(nil),
	}
	cmd.Flags().StringVarP(&r.Out, "output", "o", "", "the `file` to write (default: the terminal)")
	cmd.Flags().BoolVar(&r.All, "all", false, "write a column with the probability of every class")
	cmd.Flags().StringArrayVar(&r.Set, "set", nil, "override a key of the data, as in `key=value`; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("set", completeKeys)
	c.addJSON(cmd)
	return cmd
}
