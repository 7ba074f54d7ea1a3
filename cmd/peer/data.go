package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"gossiptrainer/app/describe"
	"gossiptrainer/app/screen"
	"gossiptrainer/internal/data"
)

func newData(c *console) *cobra.Command {
	return parent(&cobra.Command{
		Use:   "data",
		Short: "list, fetch and check data sets, and see how they are split",
		Example: `  peer data fetch fashion-mnist
  peer data split ring8 --set data.partition=dirichlet --set data.alpha=0.1
  peer data check iris.csv`,
	}, newDataList(c), newDataFetch(c), newDataVerify(c), newDataSplit(c), newDataCheck(c))
}

func newDataList(c *console) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "list the data sets and their state on this machine",
		Example: "  peer data list",
		Args:    arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			root, err := data.Root(dir)
			if err != nil {
				return err
			}
			sets := describe.Sets(root)
			return c.print(map[string]any{"folder": root, "sets": sets},
				func(w io.Writer) error { return describe.WriteSets(w, sets) })
		},
	}
	addDir(cmd, &dir)
	c.addJSON(cmd)
	return cmd
}

func addDir(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "dir", "", "`folder` of the data sets (default: PEER_DATA, else the user's cache)")
}

func newDataFetch(c *console) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:       "fetch NAME",
		Short:     "download a data set from its publisher and check it",
		Example:   "  peer data fetch fashion-mnist\n  peer data fetch mnist --dir data",
		Args:      arguments(1, 1),
		ValidArgs: describe.SetNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			info, root, err := describe.FindSet(args[0], dir)
			if err != nil {
				return err
			}
			if len(info.Files) == 0 {
				c.say("%s is built in: nothing to fetch", info.Name)
				return nil
			}
			if err := c.fetch(cmd.Context(), info.Name, root); err != nil {
				return stopped(cmd.Context(), err)
			}
			fmt.Fprintf(c.out, "%s: complete in %s\n", info.Name, root)
			return nil
		},
	}
	addDir(cmd, &dir)
	return cmd
}

// fetch downloads a data set into the folder of all sets.
func (c *console) fetch(ctx context.Context, set, root string) error {
	bar := c.newProgress()
	defer bar.End()
	return data.Fetch(ctx, set, root, func(at data.Progress) { bar.Show(at, time.Now()) })
}

func newDataVerify(c *console) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:       "verify [NAME...]",
		Short:     "compare the files of data sets with the published checksums",
		Example:   "  peer data verify fashion-mnist\n  peer data verify",
		ValidArgs: describe.SetNames(),
		RunE: func(_ *cobra.Command, names []string) error {
			files, err := during(c, "computing checksums", func(*screen.Task) ([]describe.File, error) {
				return describe.VerifySets(names, dir)
			})
			if err != nil {
				return err
			}
			if len(files) == 0 {
				c.say("no files to check: peer data list shows what there is")
			}
			result := map[string]any{"files": files}
			return errors.Join(c.print(result, func(w io.Writer) error { return describe.WriteFiles(w, files) }),
				describe.WrongFiles(files))
		},
	}
	addDir(cmd, &dir)
	c.addJSON(cmd)
	return cmd
}

func newDataSplit(c *console) *cobra.Command {
	var file runFile
	cmd := &cobra.Command{
		Use:   "split [FILE]",
		Short: "draw which samples each worker of a run has, and how much they differ",
		Example: `  peer data split ring8-fashion
  peer data split ring8 --set data.sizes.law=power --set data.weights=samples`,
		Args: arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			return c.answer(during(c, "reading the data", func(*screen.Task) (*describe.Split, error) {
				run, err := file.assemble(args)
				if err != nil {
					return nil, err
				}
				return describe.NewSplit(run)
			}))
		},
	}
	file.addFlags(cmd)
	c.addJSON(cmd)
	return cmd
}

func newDataCheck(c *console) *cobra.Command {
	var file runFile
	cmd := &cobra.Command{
		Use:   "check DATA [FILE]",
		Short: "describe a data file of your own, and how a run would split it",
		Example: `  peer data check iris.csv
  peer data check pictures ring8 --set data.test_share=0.1 --set data.partition=dirichlet`,
		Args: arguments(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			file.set = append(describe.OwnFile(args[0]), file.set...)
			loaded, err := file.load(args[1:])
			if err != nil {
				return err
			}
			check, err := during(c, "reading the data", func(*screen.Task) (*describe.DataCheck, error) {
				return describe.CheckData(loaded)
			})
			return errors.Join(c.print(check, check.Write), err)
		},
	}
	file.addFlags(cmd)
	c.addJSON(cmd)
	return cmd
}
