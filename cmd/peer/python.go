package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"gossiptrainer/app/script"
	"gossiptrainer/internal/bridge"
)

func newPython(c *console) *cobra.Command {
	return parent(&cobra.Command{
		Use:     "python",
		Short:   "install gossiptrainer for Python scripts started without a peer",
		Example: "  PYTHONPATH=\"$(peer python path)\" python3 train.py\n  peer python install",
	}, &cobra.Command{
		Use:     "path",
		Short:   "print a folder with the package, for PYTHONPATH",
		Example: "  PYTHONPATH=\"$(peer python path)\" python3 train.py",
		Args:    arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			dir, err := script.ModuleFolder()
			if err == nil {
				fmt.Fprintln(c.out, dir)
			}
			return err
		},
	}, &cobra.Command{
		Use:   "attach",
		Short: "lend a peer to a notebook that runs already: the COMMAND of a run",
		Long: `lend a peer to a notebook that runs already: the COMMAND of a run

A peer starts this command in place of a script. It prints the line with which a notebook,
or another Python that runs already, joins as that peer. Between two cells the worker mixes
without updates. The run ends when the notebook calls peer.leave() or peer.finish(), or ends.`,
		Example: "  peer run my-run.yaml -- peer python attach",
		Args:    arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			return bridge.Relay(func(address string) {
				fmt.Fprintf(c.out, "gossiptrainer.join(model, optimizer, peer=%q)\n", address)
			})
		},
	}, &cobra.Command{
		Use:     "install [PYTHON]",
		Short:   "copy gossiptrainer to the packages of PYTHON (default: python3)",
		Example: "  peer python install\n  peer python install /usr/bin/python3",
		Args:    arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := script.InstallModule(cmd.Context(), append(args, "python3")[0])
			if err == nil {
				fmt.Fprintln(c.out, path)
			}
			return err
		},
	})
}
