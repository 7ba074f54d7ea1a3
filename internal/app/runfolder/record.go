package runfolder

import (
	"path/filepath"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/regular"
)

// OpenRecord reads the run of a folder and holds its record against its run file. A run file that
// this version cannot assemble bounds nothing.
func OpenRecord(dir string) (*record.Run, error) {
	run, err := record.Open(dir)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, RunFile)
	if regular.Check(file) != nil {
		return run, nil
	}
	loaded, err := configs.Load(configs.Source{File: file})
	if err != nil {
		return run, nil
	}
	of, err := experiment.New(loaded.Config)
	if err != nil {
		return run, nil
	}
	return run, run.Within(Limits(of))
}

// Limits bounds the record of a run. A worker that is fast does steps of slow ones
// where all do as many together.
func Limits(run *experiment.Run) record.Limits {
	l := record.Limits{Peers: run.N(), Rounds: run.Config().Train.Rounds}
	if run.Asynchronous() {
		l.Rounds *= run.N()
	}
	return l
}
