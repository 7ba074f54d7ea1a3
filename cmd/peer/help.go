package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"gossiptrainer/internal/app/advice"
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

// helpTemplate is one screen: what it is, examples, then the rest.
const helpTemplate = `{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}

{{end}}{{if .HasExample}}Examples:
{{.Example}}

{{end}}Usage:
{{if .HasAvailableSubCommands}}  {{.CommandPath}} COMMAND{{else}}  {{.UseLine}}{{end}}
{{$cmds := .Commands}}{{if .Groups}}{{range $group := .Groups}}
{{.Title}}
{{range $cmds}}{{if and (eq .GroupID $group.ID) (or .IsAvailableCommand (eq .Name "help"))
}}  {{rpad .Name .NamePadding}} {{.Short}}
{{end}}{{end}}{{end}}{{else if .HasAvailableSubCommands}}
Commands:
{{range $cmds}}{{if .IsAvailableCommand}}  {{rpad .Name .NamePadding}} {{.Short}}
{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}
Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}
{{end}}{{if .HasAvailableInheritedFlags}}
Everywhere:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}
{{end}}`
