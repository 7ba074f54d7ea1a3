package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"gossiptrainer/app/status"
)

func newStatus(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "show the state of this machine's running peers",
		Long: `show the state of this machine's running peers

RUN is the name of a run; without it, all of this user's peers are asked. If no peer of RUN
answers, the command exits with ` + fmt.Sprint(exitOther) + `.`,
		Example: "  peer status\n  peer status ring8 --json",
		Args:    arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			dirs, err := status.Folders()
			if err != nil {
				return err
			}
			found := status.AskAll(dirs...)
			if len(args) > 0 {
				of, absent := found.Of(args[0])
				if err := c.print(of, func(w io.Writer) error { return of.Write(w, c.out.Width()) }); err != nil {
					return err
				}
				return absent
			}
			if len(found.Peers)+len(found.Silent) == 0 {
				c.say("no peer is running on this machine")
			}
			return c.print(found, func(w io.Writer) error { return found.Write(w, c.out.Width()) })
		},
	}
	c.addJSON(cmd)
	return cmd
}
