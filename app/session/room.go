package session

import (
	"gossiptrainer/app/runfolder"
	"gossiptrainer/internal/budget"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/forecast"
	"gossiptrainer/internal/machine"
	"gossiptrainer/topology"
)

// results returns the bytes of what a process leaves at its end: models, a summary, and the record as far as memory can
// hold it.
func results(disk budget.Plan) int64 {
	const summary = 16 << 10
	return disk.Of(budget.Model) + disk.Of(budget.Average) +
		min(disk.Of(budget.Record), runfolder.MostWaiting) + summary
}

// FinalModel returns the bytes of the results that one peer writes.
func FinalModel(run *experiment.Run, rank topology.Rank) int64 {
	sizes := forecast.Sizes(run, rank)
	return results(sizes.Stored())
}

// LimitGarbage lets the memory of a peer's process grow as its plan says.
func LimitGarbage(run *experiment.Run, rank topology.Rank) {
	machine.LimitGarbage(forecast.Plan(run, rank).Percent())
}

// Least returns the bytes without which a run can keep neither its results nor the states of its peers.
func Least(run *experiment.Run, mode string) int64 {
	return results(forecast.Disk(run, mode)) + leastState(run, mode)
}

// CheckRoom compares the free space with the files that the command will write. It refuses a run without room for the
// results, and for the least with which each peer can keep its state. The warning says that all checkpoints, the
// journals and the record together may not fit.
func CheckRoom(run *experiment.Run, mode string) (warning string, err error) {
	cfg, disk := run.Config(), forecast.Disk(run, mode)
	needs, state := results(disk)+disk.Of(budget.Start), leastState(run, mode)
	out := &runfolder.SpaceError{Dir: cfg.Output.Dir, Key: "output.dir", What: "the results", Need: needs}
	safe := &runfolder.SpaceError{Dir: cfg.Checkpoint.Dir, Key: "checkpoint.dir", What: "the checkpoints", Need: state}
	if cfg.Checkpoint.Dir == "" && state > 0 {
		out.What, out.Need = "the results and the checkpoints", needs+state
		safe = out
	}
	if out.Short() {
		return "", out
	}
	if state > 0 && safe.Short() {
		return "", safe
	}
	all := &runfolder.SpaceError{Dir: safe.Dir, Key: "checkpoint.journal", Need: disk.Total()}
	all.What = "the longest journals, all checkpoints and the results"
	if state > 0 && all.Short() {
		return all.Error() + ": checkpoints follow each other sooner, so that journals are shorter", nil
	}
	return "", nil
}

// leastState returns the least bytes that the states of the peers here take on disk. It is 0 without checkpoints, and
// for a simulation, which goes on without.
func leastState(run *experiment.Run, mode string) (bytes int64) {
	cfg := run.Config()
	if mode == "sim" || run.Dim() == 0 {
		return 0
	}
	if cfg.Checkpoint.Dir != "" && len(runfolder.RanksIn(cfg.Checkpoint.Dir)) > 0 {
		return 0 // a resumed run replaces them
	}
	if mode == "run" {
		sizes := forecast.Sizes(run, 0)
		return sizes.Least()
	}
	for rank := range run.N() {
		sizes := forecast.Sizes(run, topology.Rank(rank))
		bytes += sizes.Least()
	}
	return bytes
}
