package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"gossiptrainer/internal/app/status"
)

func newStatus(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "ask the running peers of this machine how they are doing",
		Long: `ask the running peers of this machine how they are doing

RUN is the name of a run; without it, all of this user's peers are asked. If no peer of RUN
answers, the command exits with ` + fmt.Sprint(exitOther) + `.`,
		Example: "  peer status\n  peer status ring8 --json",
		Args:    arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := status.Folder()
			if err != nil {
				return err
			}
			found := status.AskAll(dir)
			if len(args) > 0 {
				of, absent := found.Of(args[0])
				if err := c.print(of, of.Write); err != nil {
					return err
				}
				return absent
			}
			if len(found.Peers)+len(found.Silent) == 0 {
				c.say("no peer is running on this machine")
			}
			return c.print(found, found.Write)
		},
	}
	c.addJSON(cmd)
	return cmd
}
