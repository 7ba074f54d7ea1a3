package main

import (
	"github.com/spf13/cobra"

	"gossiptrainer/app/peer"
	"gossiptrainer/app/setup"
)

func newJoin(c *console) *cobra.Command {
	var j setup.Joining
	var file runFile
	var force, start bool
	cmd := &cobra.Command{
		Use: "join [TOKEN] [-- COMMAND...]", Short: setup.JoinShort, Long: setup.JoinLong, Example: setup.JoinExample,
		Args: c.scripted(0, 1, &file.script),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args = args[:len(args)-len(file.script)]; len(args) > 0 {
				j.Token = args[0]
			}
			j.Screen, j.Overwrite = c.screen(), setup.Overwrite(force)
			joined, err := j.Join(cmd.Context())
			if err != nil {
				return stopped(cmd.Context(), err)
			}
			if start {
				args := append([]string{joined.RunFile}, file.script...)
				return runPeer(cmd.Context(), c, &file, args, peerFlags{rank: peer.AnyRank})
			}
			if err := c.print(joined, joined.Write); err != nil {
				return err
			}
			c.next(joined.Next(), "takes part in the run")
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&j.Set, "set", nil,
		"a key that may differ between machines, as in `key=value`; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("set", completeKeys)
	cmd.Flags().BoolVar(&force, "force", false, "replace files of this name")
	cmd.Flags().BoolVar(&start, "run", false, "take part in the run at once")
	c.addJSON(cmd)
	return cmd
}
