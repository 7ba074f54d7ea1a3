package main

import (
	"github.com/spf13/cobra"
)

func newCompletion(c *console) *cobra.Command {
	shells := map[string]func(root *cobra.Command) error{
		"bash":       func(root *cobra.Command) error { return root.GenBashCompletionV2(c.out.file, true) },
		"zsh":        func(root *cobra.Command) error { return root.GenZshCompletion(c.out.file) },
		"fish":       func(root *cobra.Command) error { return root.GenFishCompletion(c.out.file, true) },
		"powershell": func(root *cobra.Command) error { return root.GenPowerShellCompletionWithDesc(c.out.file) },
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
				return oneOf("completion: shell", args[0], names)
			}
			return write(cmd.Root())
		},
	}
}
