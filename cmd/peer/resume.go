package main

import (
	"github.com/spf13/cobra"

	"gossiptrainer/internal/app/checkpoints"
	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/experiment"
)

// addResume adds the flag of commands that can go on with a run.
func (f *runFile) addResume(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.resume, "resume", false, "go on where the run stopped; FILE is its run file or its folder")
}

// start is where the workers of the command begin.
func (f *runFile) start() checkpoints.Start {
	if f.resume {
		return checkpoints.Resume
	}
	return checkpoints.Fresh
}

// folderOf returns the folder of the run to continue. It is "" for a new run, and for one whose checkpoints are
// elsewhere: the caller then makes a folder. The folder belongs to the peer with this id, or is ofLab. It fails, before
// anything in the folder changes, if the run cannot continue from its checkpoints.
func (f *runFile) folderOf(run *experiment.Run, id string) (string, error) {
	if !f.resume {
		return "", nil
	}
	dir := f.folder
	if dir == "" && run.Config().Checkpoint.Dir == "" {
		var err error
		if dir, err = runfolder.Find(run.Config(), id); err != nil {
			return "", runfolder.HintNothing(run.Config(), err)
		}
	}
	if err := checkpoints.CheckAny(run, dir); err != nil {
		return "", err
	}
	return dir, nil
}
