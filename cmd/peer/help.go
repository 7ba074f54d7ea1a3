package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gossiptrainer/app/advice"
)

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "explain a command",
		Example: "  peer help lab\n  peer help config show",
		RunE: func(cmd *cobra.Command, args []string) error {
			target, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return advice.Usage(fmt.Errorf("help: there is no command %q", advice.Command(args...)), "see peer --help")
			}
			return target.Help()
		},
	}
}

// writeHelp writes one screen: the purpose, examples, then the rest. It does not use cobra's templates. They call
// methods by name, so that the linker keeps every exported method of all packages.
func writeHelp(w io.Writer, cmd *cobra.Command) {
	purpose := cmd.Long
	if purpose == "" {
		purpose = cmd.Short
	}
	fmt.Fprintf(w, "%s\n\n", strings.TrimRightFunc(purpose, unicode.IsSpace))
	if cmd.HasExample() {
		fmt.Fprintf(w, "Examples:\n%s\n\n", cmd.Example)
	}
	fmt.Fprintln(w, "Usage:")
	if alone := strings.Contains(cmd.Use, " "); alone || !cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s COMMAND\n", cmd.CommandPath())
	}
	for _, g := range cmd.Groups() {
		writeCommands(w, g.Title, cmd, func(c *cobra.Command) bool { return c.GroupID == g.ID })
	}
	if len(cmd.Groups()) == 0 && cmd.HasAvailableSubCommands() {
		writeCommands(w, "Commands:", cmd, (*cobra.Command).IsAvailableCommand)
	}
	writeFlags(w, "Flags:", cmd.LocalFlags())
	writeFlags(w, "Everywhere:", cmd.InheritedFlags())
}

func writeCommands(w io.Writer, title string, cmd *cobra.Command, belongs func(*cobra.Command) bool) {
	fmt.Fprintf(w, "\n%s\n", title)
	for _, c := range cmd.Commands() {
		if belongs(c) && (c.IsAvailableCommand() || c.Name() == "help") {
			fmt.Fprintf(w, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
		}
	}
}

func writeFlags(w io.Writer, title string, flags *pflag.FlagSet) {
	if flags.HasAvailableFlags() {
		fmt.Fprintf(w, "\n%s\n%s\n", title, strings.TrimRightFunc(flags.FlagUsages(), unicode.IsSpace))
	}
}
