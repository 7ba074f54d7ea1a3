package main

import (
	"io"

	"github.com/spf13/cobra"

	"gossiptrainer/internal/app/inspect"
)

func newVersion(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "print which program this is",
		Example: "  peer version --json",
		Args:    arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			b := inspect.ReadBuild()
			return c.print(b, func(w io.Writer) error {
				_, err := io.WriteString(w, b.String())
				return err
			})
		},
	}
	c.addJSON(cmd)
	return cmd
}
