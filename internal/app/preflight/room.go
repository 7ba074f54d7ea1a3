package preflight

import (
	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/experiment"
)

// recordBytes is an upper estimate of the length of a record's line.
const recordBytes = 600

// CheckRoom compares the free space with the files that the command will write. It refuses a run without room for the
// final models and one checkpoint of each peer. The warning says that all checkpoints and the record together may not
// fit.
func CheckRoom(run *experiment.Run, mode string) (warning string, err error) {
	cfg := run.Config()
	peers, files := int64(run.N()), int64(run.N())+1 // one for the average
	if mode == "run" {
		peers, files = 1, 1
	}
	if cfg.Train.From != "" {
		files++ // the folder keeps the model that the run starts from
	}
	const float = 4 // bytes
	models := float * int64(run.Dim()) * files
	state := leastState(run, mode) * peers
	record := recordBytes * peers * int64(cfg.Train.Rounds/max(1, cfg.Output.Every))
	out := &runfolder.SpaceError{Dir: cfg.Output.Dir, Key: "output.dir", What: "the final models", Need: models}
	safe := &runfolder.SpaceError{Dir: cfg.Checkpoint.Dir, Key: "checkpoint.dir", What: "the checkpoints", Need: state}
	if cfg.Checkpoint.Dir == "" && state > 0 {
		out.What, out.Need = "the final models and a checkpoint of each peer", models+state
		safe = out
	}
	if out.Short() {
		return "", out
	}
	if state > 0 && safe.Short() {
		return "", safe
	}
	all := &runfolder.SpaceError{Dir: safe.Dir, Key: "checkpoint.keep"}
	all.What = "all checkpoints that are kept, the final models and the record"
	all.Need = models + record + int64(cfg.Checkpoint.Keep+1)*state // plus one during its writing
	if state > 0 && all.Short() {
		return all.Error(), nil
	}
	return "", nil
}

// leastState returns the least bytes of a worker's state: a model, and its momentum. It is 0 without checkpoints.
func leastState(run *experiment.Run, mode string) int64 {
	cfg := run.Config()
	if mode == "sim" || run.Reweights() || cfg.Checkpoint.Every == 0 && cfg.Checkpoint.Seconds == 0 {
		return 0
	}
	if cfg.Checkpoint.Dir != "" && len(runfolder.RanksIn(cfg.Checkpoint.Dir)) > 0 {
		return 0 // a resumed run replaces them
	}
	const float = 4 // bytes
	return float * int64(1+run.Moments()) * int64(run.Dim())
}
