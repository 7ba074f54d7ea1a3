package main

import (
	"io"

	"github.com/spf13/cobra"

	"gossiptrainer/app/describe"
)

func newVersion(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "print the version of this program",
		Example: "  peer version --json",
		Args:    arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			b := describe.ReadBuild()
			return c.print(b, func(w io.Writer) error {
				_, err := io.WriteString(w, b.String())
				return err
			})
		},
	}
	c.addJSON(cmd)
	return cmd
}

// addVersion gives the program the flag that says the same as the command. Cobra's own
// flag would need a template.
func addVersion(root *cobra.Command) {
	wanted := root.Flags().Bool("version", false, "print the version of this program")
	run := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if !*wanted {
			return run(cmd, args)
		}
		_, err := io.WriteString(cmd.OutOrStdout(), describe.ReadBuild().String())
		return err
	}
}
