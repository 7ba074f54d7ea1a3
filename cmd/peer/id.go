package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"gossiptrainer/app/peer"
	"gossiptrainer/node/identity"
)

// A shownIdentity is the output of the id commands.
type shownIdentity struct {
	ID  string `json:"id"`
	Key string `json:"key"` // file of the private key
}

func newID(c *console) *cobra.Command {
	return parent(&cobra.Command{
		Use:     "id",
		Short:   "make or show this machine's identity, make a join secret",
		Example: "  peer id new\n  peer id show --key site-a.key\n  peer id secret lan.secret",
	}, newIDNew(c), newIDShow(c), newIDSecret(c))
}

func newIDSecret(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "secret FILE",
		Short: "make a join secret, in a file that only you can read",
		Long: `make a join secret, in a file that only you can read

Copy the file to every machine of a run, with mode 0600, and name it in the run file:
node.join_secret_file.`,
		Example: "  peer id secret lan.secret",
		Args:    arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := peer.NewSecret(args[0]); err != nil {
				return err
			}
			c.say("%s holds a new join secret: copy it to every machine of the run, readable by its owner alone",
				args[0])
			return nil
		},
	}
}

func newIDNew(c *console) *cobra.Command {
	return idCommand(c, &cobra.Command{
		Use:     "new",
		Short:   "make a key and print the peer id that goes into a roster",
		Example: "  peer id new\n  peer id new --key site-a.key",
	}, peer.NewKey)
}

func newIDShow(c *console) *cobra.Command {
	return idCommand(c, &cobra.Command{
		Use:     "show",
		Short:   "print the peer id of a key",
		Example: "  peer id show\n  peer id show --json",
	}, peer.ReadKey)
}

// idCommand completes a command that gets an identity from a key file and prints it.
func idCommand(c *console, cmd *cobra.Command, get func(path string) (*identity.Identity, error)) *cobra.Command {
	var path string
	cmd.Args = arguments(0, 0)
	cmd.Flags().StringVar(&path, "key", "", "`file` of the private key (default: the user's own)")
	c.addJSON(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		path, err := peer.KeyPath(path)
		if err != nil {
			return err
		}
		who, err := get(path)
		if err != nil {
			return err
		}
		return c.print(shownIdentity{who.ID(), path}, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, who.ID())
			return err
		})
	}
	return cmd
}
