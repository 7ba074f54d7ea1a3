package main

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/describe"
	"gossiptrainer/configs"
)

func newCompletion(c *console) *cobra.Command {
	shells := map[string]func(root *cobra.Command) error{
		"bash":       func(root *cobra.Command) error { return bashCompletion(c.out.File, root) },
		"zsh":        func(root *cobra.Command) error { return root.GenZshCompletion(c.out.File) },
		"fish":       func(root *cobra.Command) error { return root.GenFishCompletion(c.out.File, true) },
		"powershell": func(root *cobra.Command) error { return root.GenPowerShellCompletionWithDesc(c.out.File) },
	}
	names := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "print the completion script of a shell",
		Example: `  source <(peer completion bash)
  peer completion fish > ~/.config/fish/completions/peer.fish`,
		Args:      arguments(1, 1),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := shells[args[0]]
			if !ok {
				return advice.OneOf("completion: shell", args[0], names)
			}
			return write(cmd.Root())
		},
	}
}

// bashCompletion writes the script for bash. Once in a shell it names the package that it needs, where that is missing.
func bashCompletion(w io.Writer, root *cobra.Command) error {
	var script strings.Builder
	if err := root.GenBashCompletionV2(&script, true); err != nil {
		return err
	}
	const call = `    _get_comp_words_by_ref "$@" cur prev words cword
`
	const check = `    if ! declare -F _get_comp_words_by_ref >/dev/null; then
        if [[ -z ${__peer_told_needs-} ]]; then
            __peer_told_needs=1
            printf '\n%s\n' \
                'peer: completion needs the package bash-completion: install it, start a new shell' >&2
        fi
        return 1
    fi
`
	before, after, found := strings.Cut(script.String(), call)
	if !found {
		return errors.New("completion: the script does not call _get_comp_words_by_ref")
	}
	_, err := io.WriteString(w, before+check+call+after)
	return err
}

// completeKeys completes key=value of a run file.
func completeKeys(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return completing(describe.CompleteKey(word))
}

// completeUntil completes key=value of --until.
func completeUntil(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return completing(describe.CompleteUntil(word))
}

// completing adds the directive without file names, in which a value follows a key.
func completing(all []string, valued bool) ([]string, cobra.ShellCompDirective) {
	if valued {
		return all, cobra.ShellCompDirectiveNoFileComp
	}
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeLabels completes the labels of the algorithms of a comparison.
func completeLabels(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var labels []string
	if len(args) > 0 {
		if file, err := configs.LoadComparison(args[0], nil); err == nil {
			for _, a := range file.Algorithms {
				labels = append(labels, a.Label)
			}
		}
	}
	return labels, cobra.ShellCompDirectiveNoFileComp
}

// completeNames completes the only argument of a command with the names of embedded files.
func completeNames(embedded []configs.Preset) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, p := range embedded {
			names = append(names, describe.Suggestion(p.Name, p.About))
		}
		return names, cobra.ShellCompDirectiveDefault
	}
}

// addUntil adds the flag of commands whose runs may end early.
func addUntil(cmd *cobra.Command, settings *[]string) {
	cmd.Flags().StringArrayVar(settings, "until", nil,
		"end it early at time, loss or accuracy: `key=value`; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("until", completeUntil)
}
