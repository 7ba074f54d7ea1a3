package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gossiptrainer/app/dash"
	"gossiptrainer/app/describe"
)

func newDash(c *console) *cobra.Command {
	o := dash.Options{Version: describe.ReadBuild().Version}
	cmd := &cobra.Command{
		Use: "dash [FOLDER]", Short: dash.Short, Long: dash.Long, Example: dash.Example, Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return dash.Serve(cmd.Context(), strings.Join(args, ""), o, c.err)
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	}
	cmd.Flags().StringVar(&o.Listen, "listen", "", dash.ListenUsage)
	cmd.Flags().StringVar(&o.TokenFile, "token-file", "", dash.TokenFileUsage)
	_ = cmd.MarkFlagFilename("token-file")
	return cmd
}

// A dashFlag is the flag of commands that train, and the page that it opens. The zero value is that of other commands.
type dashFlag struct {
	options dash.Options
	open    *dash.Dash // nil: it was not asked for
}

// addDash adds the flag. All commands share it, because one of them runs.
func (c *console) addDash(cmd *cobra.Command) {
	if c.dash == nil {
		c.dash = &dashFlag{options: dash.Options{Version: describe.ReadBuild().Version}}
	}
	cmd.Flags().StringVar(&c.dash.options.Listen, "dash", "", dash.FlagUsage)
	cmd.Flags().Lookup("dash").NoOptDefVal = dash.Anywhere
}

// dashAddress returns the argument that is an address beside --dash, "" if there is none.
func dashAddress(cmd *cobra.Command, args []string) string {
	if flag := cmd.Flags().Lookup("dash"); flag == nil || !flag.Changed {
		return ""
	}
	return dash.AddressIn(args)
}

// openDash opens the page if it was asked for, so that a bad address ends the command before it trains.
func (c *console) openDash() (err error) {
	if c.dash == nil || c.dash.options.Listen == "" || c.dash.open != nil {
		return nil
	}
	c.dash.open, err = dash.Open(c.dash.options)
	return err
}

// showDash shows a folder on the page, if it is open.
func (c *console) showDash(folder string) error {
	if c.dash == nil || c.dash.open == nil {
		return nil
	}
	return c.dash.open.Show(folder, dash.WithRun)
}

// sayDash prints the address of the page, also to users who want only errors: without it the page is of no use.
func (c *console) sayDash() {
	if c.dash != nil && c.dash.open != nil {
		fmt.Fprintf(c.err, "dash: %s\n", c.dash.open.URL())
	}
}

// endDash closes the page after its run.
func (c *console) endDash() {
	if c.dash == nil || c.dash.open == nil {
		return
	}
	c.dash.open.End()
	if again := c.dash.open.Again(); again != "" {
		c.next(again, "the page of the run again")
	}
}
