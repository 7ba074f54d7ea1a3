package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/peer"
)

// parent makes cmd a command that only groups others.
func parent(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(children...)
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		hint := "see " + cmd.CommandPath() + " --help"
		cmd.SuggestionsMinimumDistance = min(2, len(args[0])-1) // a word of two letters is no other one
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			hint = "did you mean " + cmd.CommandPath() + " " + near[0] + "?"
		}
		return advice.Usage(fmt.Errorf("unknown command %q", words(cmd, args[0])), hint)
	}
	return cmd
}

// arguments checks how many arguments a command got.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		hint := "usage: " + cmd.UseLine()
		address := dashAddress(cmd, args)
		switch {
		case address != "":
			return advice.Usage(fmt.Errorf("%s: unexpected argument %q", words(cmd), address),
				"an equals sign comes before the address: --dash="+address)
		case len(args) < least:
			return advice.Usage(fmt.Errorf("%s: an argument is missing", words(cmd)), hint)
		case len(args) > most:
			return advice.Usage(fmt.Errorf("%s: unexpected argument %q", words(cmd), args[most]), hint)
		}
		return nil
	}
}

// scripted is arguments for a command that takes a script's command after --. The script may take its time to end.
func (c *console) scripted(least, most int, script *[]string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if at := cmd.ArgsLenAtDash(); at >= 0 && at < len(args) {
			args, *script = args[:at], args[at:]
			c.resort.Extend(peer.ScriptGrace)
		}
		return arguments(least, most)(cmd, args)
	}
}

// words returns the words that name a command without the program's, and more.
func words(cmd *cobra.Command, more ...string) string {
	return strings.Join(append(strings.Fields(cmd.CommandPath())[1:], more...), " ")
}
