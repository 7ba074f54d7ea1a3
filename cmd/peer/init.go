package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/peer"
	"gossiptrainer/app/screen"
	"gossiptrainer/app/setup"
)

// screen returns the screen of a command that sets up a run.
func (c *console) screen() setup.Screen {
	return setup.Screen{
		In: c.in, Talk: c.talk(), Interactive: !c.quiet && screen.Interactive(c.in, c.err), Log: c.logger(c.err),
		Print: func(result any, text func(io.Writer) error) error { return c.print(result, text) },
	}
}

func newInit(c *console) *cobra.Command {
	var b setup.Beginning
	var invite inviteFlags
	var force bool
	cmd := &cobra.Command{
		Use: "init", Short: setup.InitShort, Long: setup.InitLong, Example: setup.InitExample, Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			b.Screen, b.Overwrite, b.Given = c.screen(), setup.Overwrite(force), map[string]string{}
			for _, q := range setup.Questions() {
				if f := cmd.Flags().Lookup(q.Flag); f.Changed {
					b.Given[q.Flag] = f.Value.String()
				}
			}
			if b.Invite, err = invite.invitation(c); err != nil {
				return err
			}
			file, err := b.Begin(cmd.Context())
			switch {
			case err != nil || !invite.Runs:
				return stopped(cmd.Context(), err)
			case b.Here:
				return new(labFlags).run(cmd.Context(), c, []string{file})
			}
			return runAfter(cmd.Context(), c, file)
		},
	}
	for _, q := range setup.Questions() {
		cmd.Flags().String(q.Flag, "", q.Usage)
	}
	invite.add(cmd)
	cmd.Flags().StringVar(&b.Label, "label", "",
		"`column` of the classes in a table of yours (default: label, or the last)")
	cmd.Flags().BoolVar(&b.Alone, "no-invite", false, "write the files, and invite no machine")
	cmd.Flags().BoolVar(&force, "force", false, "replace files of this name")
	c.addJSON(cmd)
	return cmd
}

func newInvite(c *console) *cobra.Command {
	var flags inviteFlags
	var file runFile
	var machines int
	cmd := &cobra.Command{
		Use: "invite FILE", Short: setup.InviteShort, Long: setup.InviteLong, Example: setup.InviteExample,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			i, err := flags.invitation(c)
			if err != nil {
				return err
			}
			if i.Loaded, err = file.load(args); err != nil {
				return err
			}
			i.Screen, i.File, i.Machines = c.screen(), args[0], machines
			if err := i.Open(cmd.Context()); err != nil || !flags.Runs {
				return stopped(cmd.Context(), err)
			}
			return runAfter(cmd.Context(), c, args[0])
		},
	}
	cmd.Flags().IntVar(&machines, "machines", 0, "`number` of machines that the token admits (default: all others)")
	flags.add(cmd)
	c.addJSON(cmd)
	return cmd
}

// inviteFlags are those of commands that invite.
type inviteFlags struct{ setup.Invitation }

func (f *inviteFlags) add(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&f.Valid, "valid", setup.Valid, "how `long` the token is valid")
	cmd.Flags().IntVar(&f.Port, "port", 0, "TCP `port` of the invitation, for a firewall (default: a free one)")
	cmd.Flags().StringArrayVar(&f.Addresses, "address", nil,
		"IP `address` of this machine for the token; may be repeated (default: all)")
	cmd.Flags().BoolVar(&f.Roster, "roster", false,
		"list all addresses in the run file, for networks without multicast")
	cmd.Flags().BoolVar(&f.Runs, "run", false, "take part in the run as soon as all have joined")
}

// invitation returns the invitation of the flags. A command prints one result.
func (f *inviteFlags) invitation(c *console) (setup.Invitation, error) {
	if f.Runs && c.json {
		return f.Invitation, advice.Usagef("--run and --json print two results: leave out one of them")
	}
	return f.Invitation, nil
}

// runAfter starts the peer of a run file that was just written.
func runAfter(ctx context.Context, c *console, file string) error {
	return runPeer(ctx, c, &runFile{}, []string{file}, peerFlags{rank: peer.AnyRank})
}
