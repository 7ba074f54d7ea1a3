package main

import (
	"github.com/spf13/cobra"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/worker"
	"gossiptrainer/internal/experiment"
)

// addResume adds the flag of commands that can resume a run.
func (f *runFile) addResume(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.resume, "resume", false, "resume the run where it stopped; FILE is its run file or its folder")
}

// start returns where the workers of the command begin.
func (f *runFile) start() worker.Start {
	if f.resume {
		return worker.Resume
	}
	return worker.Fresh
}

// folderOf returns the folder of the run to resume: that of the peer with this id, or of a lab for ofLab. It is "" for
// a new run, and for a run whose checkpoints are elsewhere: the caller then makes a folder. It fails, without changing
// the folder, if the run cannot resume from its checkpoints.
func (f *runFile) folderOf(run *experiment.Run, id string) (string, error) {
	dir, _, err := f.resumed(run, id)
	return dir, err
}

// resumed is folderOf for a peer on a LAN. It also returns the run, with the rows on which the machines agreed when it
// began.
func (f *runFile) resumed(run *experiment.Run, id string) (string, *experiment.Run, error) {
	if !f.resume {
		return "", run, nil
	}
	dir := f.folder
	if dir == "" && run.Config().Checkpoint.Dir == "" {
		var err error
		if dir, err = runfolder.Find(run.Config(), id); err != nil {
			return "", nil, runfolder.HintNothing(run.Config(), err)
		}
	}
	if _, apart := run.Data().Apart(); apart && run.Config().Data.Sizes.Law != "shares" {
		if rows := worker.StoredRows(run, dir); rows != nil {
			var err error
			if run, err = run.WithRows(rows); err != nil {
				return "", nil, err
			}
		}
	}
	return dir, run, worker.CheckStores(run, dir)
}
