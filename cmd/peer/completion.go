package main

import (
	"strings"

	"github.com/spf13/cobra"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/advice"
)

func newCompletion(c *console) *cobra.Command {
	shells := map[string]func(root *cobra.Command) error{
		"bash":       func(root *cobra.Command) error { return root.GenBashCompletionV2(c.out.File, true) },
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

// suggestion returns a word that completes another, and its meaning.
func suggestion(word, meaning string) string { return word + "\t" + meaning }

// completeKeys completes key=value of a run file: first the key, then its values, or its default if it has no list of
// values.
func completeKeys(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	key, _, valued := strings.Cut(word, "=")
	var all []string
	for _, k := range configs.Reference() {
		switch {
		case !valued:
			all = append(all, suggestion(k.Name+"=", k.Description))
		case k.Name != key:
		case len(k.Values) > 0:
			for _, v := range k.Values {
				all = append(all, suggestion(key+"="+v, k.Description))
			}
		case k.Default != "":
			all = append(all, suggestion(key+"="+k.Default, "default; "+k.Description))
		}
	}
	return all, completing(valued)
}

// completeUntil completes key=value of --until, with a value as an example.
func completeUntil(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	key, _, valued := strings.Cut(word, "=")
	var all []string
	for _, end := range [][3]string{
		{"time=", "10m", "virtual time in sim, wall clock in lab"},
		{"loss=", "0.5", "training loss, as a report sees it"},
		{"accuracy=", "0.9", "on the test set; needs output.evaluate"},
	} {
		switch {
		case !valued:
			all = append(all, suggestion(end[0], end[2]))
		case end[0] == key+"=":
			all = append(all, suggestion(end[0]+end[1], end[2]))
		}
	}
	return all, completing(valued)
}

// completing returns a directive without file names, in which a value follows a key.
func completing(valued bool) cobra.ShellCompDirective {
	if valued {
		return cobra.ShellCompDirectiveNoFileComp
	}
	return cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
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
			names = append(names, suggestion(p.Name, p.About))
		}
		return names, cobra.ShellCompDirectiveDefault
	}
}

// addUntil adds the flag of commands whose runs may end early.
func addUntil(cmd *cobra.Command, settings *[]string) {
	cmd.Flags().StringArrayVar(settings, "until", nil,
		"end it early at time, or loss and accuracy: `key=value`; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("until", completeUntil)
}
