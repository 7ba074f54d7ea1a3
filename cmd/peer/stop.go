package main

import (
	"strings"

	"github.com/spf13/cobra"

	"gossiptrainer/app/status"
)

func newStop(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stop [RUN]",
		Short: "end a run for all its members",
		Long: `end a run for all its members

RUN is the name of a run with a peer on this machine, whose members come and go
(membership.mode: view); without it, it is the only run here. The members agree on an
exchange, and all end there: with models, summaries and logs, and one digest. Ctrl-C on a
member lets it leave, and the others go on. In other runs Ctrl-C on one machine ends the
run for all.`,
		Example: "  peer stop\n  peer stop crew",
		Args:    arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			dirs, err := status.Folders()
			if err != nil {
				return err
			}
			answer, err := status.Stop(strings.Join(args, ""), dirs...)
			return c.answer(answer, err)
		},
	}
	c.addJSON(cmd)
	return cmd
}
