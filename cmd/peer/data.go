package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/report"
)

func newData(c *console) *cobra.Command {
	return parent(&cobra.Command{
		Use:   "data",
		Short: "list, fetch and check data sets, and see how they are split",
		Example: `  peer data fetch fashion-mnist
  peer data split ring8 --set data.partition=dirichlet --set data.alpha=0.1`,
	}, newDataList(c), newDataFetch(c), newDataVerify(c), newDataSplit(c))
}

// A listed set is one line of "data list".
type listed struct {
	data.Info
	State string `json:"state"` // built in, here, damaged or missing
}

func newDataList(c *console) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "list the data sets and which of them are here",
		Example: "  peer data list",
		Args:    arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			root, err := data.Root(dir)
			if err != nil {
				return err
			}
			var sets []listed
			for _, info := range data.Sets() {
				sets = append(sets, listed{info, stateOf(info, root)})
			}
			return c.print(map[string]any{"folder": root, "sets": sets}, func(w io.Writer) error { return writeSets(w, sets) })
		},
	}
	addDir(cmd, &dir)
	c.addJSON(cmd)
	return cmd
}

func stateOf(info data.Info, root string) string {
	if len(info.Files) == 0 {
		return "built in"
	}
	_, err := data.Verify(info.Name, root)
	switch {
	case isA[*data.MissingError](err):
		return "missing"
	case err != nil:
		return "damaged"
	}
	return "here"
}

func writeSets(w io.Writer, sets []listed) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tSTATE\tTRAIN\tTEST\tSAMPLE\tCLASSES\tTITLE")
	for _, s := range sets {
		sample := fmt.Sprint(s.Shape.Features())
		if s.Shape.H > 1 {
			sample = fmt.Sprintf("%dx%dx%d", s.Shape.H, s.Shape.W, s.Shape.C)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%d\t%s\n", s.Name, s.State, s.Train, s.Test, sample, len(s.Classes), s.Title)
	}
	return t.Flush()
}

func addDir(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "dir", "", "`folder` of the data sets (default: PEER_DATA, else the user's cache)")
}

func setNames() []string {
	var names []string
	for _, info := range data.Sets() {
		names = append(names, info.Name)
	}
	return names
}

func newDataFetch(c *console) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:       "fetch NAME",
		Short:     "download a data set from its publisher and check it",
		Example:   "  peer data fetch fashion-mnist\n  peer data fetch mnist --dir data",
		Args:      arguments(1, 1),
		ValidArgs: setNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			info, root, err := findSet(args[0], dir)
			if err != nil {
				return err
			}
			if len(info.Files) == 0 {
				c.say("%s is built in: nothing to fetch", info.Name)
				return nil
			}
			bar := c.newProgress()
			err = data.Fetch(cmd.Context(), info.Name, root, bar.show)
			bar.end()
			if err != nil {
				return stopped(cmd.Context(), err)
			}
			fmt.Fprintf(c.out, "%s: complete in %s\n", info.Name, root)
			return nil
		},
	}
	addDir(cmd, &dir)
	return cmd
}

// findSet returns a set by name and the folder of the sets.
func findSet(name, dir string) (data.Info, string, error) {
	info, err := data.Lookup(name)
	if err != nil {
		return info, "", advice.OneOf("data: set", name, setNames())
	}
	root, err := data.Root(dir)
	return info, root, err
}

// A verified file is one line of "data verify".
type verified struct {
	Set string `json:"set"`
	data.FileReport
	Error string `json:"error,omitempty"`
}

func newDataVerify(c *console) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:       "verify [NAME...]",
		Short:     "compare the files of data sets with the published checksums",
		Example:   "  peer data verify fashion-mnist\n  peer data verify",
		ValidArgs: setNames(),
		RunE: func(_ *cobra.Command, names []string) error {
			files, err := verifySets(names, dir)
			if err != nil {
				return err
			}
			if len(files) == 0 {
				c.say("no files to check: peer data list shows what there is")
			}
			result := map[string]any{"files": files}
			return errors.Join(c.print(result, func(w io.Writer) error { return writeFiles(w, files) }), wrongFiles(files))
		},
	}
	addDir(cmd, &dir)
	c.addJSON(cmd)
	return cmd
}

// verifySets checks the files of the named sets, or of those that are here at
// least in part.
func verifySets(names []string, dir string) ([]verified, error) {
	files := []verified{}
	named := len(names) > 0
	if !named {
		names = setNames()
	}
	for _, name := range names {
		info, root, err := findSet(name, dir)
		if err != nil {
			return nil, err
		}
		reports, _ := data.Verify(info.Name, root) // its error joins those of the files
		here := slices.ContainsFunc(reports, func(r data.FileReport) bool { return r.Path != "" })
		if !named && !here {
			continue
		}
		for _, r := range reports {
			v := verified{Set: name, FileReport: r}
			if r.Err != nil {
				v.Error = r.Err.Error()
			}
			files = append(files, v)
		}
	}
	return files, nil
}

// wrongFiles returns an error that counts the files that are not as they should
// be, and wraps those of the files.
func wrongFiles(files []verified) error {
	var errs []error
	for _, f := range files {
		if f.Err != nil {
			errs = append(errs, f.Err)
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return &filesError{fmt.Sprintf("data: %d of %d files are missing or not the published ones", len(errs), len(files)), errs}
}

// A filesError stands for the errors of several files.
type filesError struct {
	text string
	errs []error
}

func (e *filesError) Error() string   { return e.text }
func (e *filesError) Unwrap() []error { return e.errs }

func writeFiles(w io.Writer, files []verified) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SET\tFILE\tSIZE\tSTATE")
	for _, f := range files {
		state := "ok"
		switch {
		case isA[*data.MissingError](f.Err):
			state = "missing"
		case isA[*data.ChecksumError](f.Err):
			state = "wrong checksum " + f.SHA256
		case f.Err != nil:
			state = f.Err.Error()
		case f.Note != "":
			state = "ok: " + f.Note
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", f.Set, f.File, report.Size(f.Size), state)
	}
	return t.Flush()
}

func newDataSplit(c *console) *cobra.Command {
	var file runFile
	cmd := &cobra.Command{
		Use:   "split [FILE]",
		Short: "print how many samples of every label each worker of a run has",
		Example: `  peer data split ring8-fashion
  peer data split ring8 --set data.partition=labels --set data.per_worker=2`,
		Args: arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			run, err := file.assemble(args)
			if err != nil {
				return err
			}
			partition, err := run.Partition()
			if err != nil {
				return err
			}
			return c.print(partition, partition.Table)
		},
	}
	file.addFlags(cmd)
	c.addJSON(cmd)
	return cmd
}
