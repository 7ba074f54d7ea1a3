package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"gossiptrainer/app/describe"
	"gossiptrainer/app/doctor"
	"gossiptrainer/app/screen"
	"gossiptrainer/configs"
)

func newDoctor(c *console) *cobra.Command {
	var file runFile
	var pairs string
	r := doctor.Request{Build: describe.ReadBuild()}
	cmd := &cobra.Command{
		Use: "doctor [FILE]", Short: doctor.Short, Long: doctor.Long, Example: doctor.Example, Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.Pairs = pairs != ""; r.Pairs {
				args = append(args, pairs)
			}
			if err := arguments(0, 1)(cmd, args); err != nil {
				return err
			}
			if len(args) > 0 {
				r.Load = func() (*configs.Loaded, error) { return file.load(args) }
			}
			what := "examining this machine"
			if r.Load != nil {
				what = fmt.Sprintf("examining, for %s at most", r.Wait)
			}
			report, err := during(c, what, func(*screen.Task) (*doctor.Report, error) {
				return doctor.Examine(cmd.Context(), r)
			})
			return errors.Join(c.print(report, report.Write), err)
		},
	}
	file.addFlags(cmd)
	cmd.Flags().StringVar(&pairs, "peers", "", "examine for `FILE`, require all its peers, measure their links")
	cmd.Flags().DurationVar(&r.Wait, "wait", doctor.Wait, "how `long` to wait for the other machines")
	_ = cmd.MarkFlagFilename("peers")
	c.addJSON(cmd)
	return cmd
}
