package worker

import (
	"fmt"
	"time"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/machine"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/train"
)

// Results are the destination of the final models of a run.
type Results struct {
	Dir   string // the folder of the run
	Saver *runfolder.Saver
}

// Complete adds the score of the replica to a result, and saves the model. It tells watch how many samples of how many
// are done. A NaN or infinite loss is an error that wraps train.ErrDiverged. The result of an external model has the
// evaluate that its script has told.
func (r *Results) Complete(
	final *record.Final, run *experiment.Run, w *build.Worker, watch func(done, all int),
) error {
	if w.Evaluate != nil {
		if err := evaluate(final, run, w, watch); err != nil {
			return err
		}
	}
	var err error
	if final.Data, err = run.Data().Rows(w.Rank); err != nil {
		return err
	}
	final.Theta, final.Bits, final.Peak = w.Bound(final.Rounds), w.MeanBits(), machine.PeakMemory()
	if Stacks(run) {
		return nil
	}
	return r.save(final, run, w)
}

// fewReplicas is the number of replicas of a simulation up to which each has a file.
const fewReplicas = 256

// Stacks reports whether the final models of a simulation are in one file, see SaveReplicas. Workers that faults may
// take away have files of their own.
func Stacks(run *experiment.Run) bool {
	cfg := run.Config()
	return run.N() > fewReplicas && len(run.Config().Faults.Script) == 0 && !cfg.External()
}

// SaveReplicas writes the final models of a simulation that Stacks.
func (r *Results) SaveReplicas(run *experiment.Run, models score.InMemory, rounds int) error {
	metadata := run.Files().All(rounds)
	space := runfolder.SpaceError{
		Dir: r.Dir, Key: "output.dir", What: "the final models", Need: floatBytes * int64(run.Dim()) * int64(len(models)),
	}
	return r.Saver.Save(space, func() error {
		return train.WriteReplicas(runfolder.ReplicasPath(r.Dir), len(models), metadata, func(i int) train.Saved {
			return run.Files().Tensors(models[i].X, models[i].Statistics)
		})
	})
}

// SaveMean writes the mean of final models that are in memory, as SaveAverage does.
func (r *Results) SaveMean(run *experiment.Run, models score.InMemory, digest string) error {
	statistics, err := score.MeanStatistics(models)
	if err != nil {
		return err
	}
	mean := run.Files().Mean(models.Mean(), statistics, len(models), digest)
	space := runfolder.SpaceError{
		Dir: r.Dir, Key: "output.dir", What: "the average model", Need: floatBytes * int64(run.Dim()),
	}
	return r.Saver.Save(space, func() error { return train.Write(runfolder.AveragePath(r.Dir), mean) })
}

// evaluate adds the score of the replica to a result.
func evaluate(final *record.Final, run *experiment.Run, w *build.Worker, watch func(done, all int)) error {
	score, err := w.Evaluate(w.Machine.Params(), watch)
	if err != nil {
		return err
	}
	if record.Number(score.Loss) == nil {
		return run.Diverged(fmt.Errorf("worker %d: after round %d: test loss is %g: %w",
			final.Rank, final.Rounds, score.Loss, train.ErrDiverged))
	}
	final.Loss, final.Accuracy = score.Loss, score.Accuracy
	return nil
}

// floatBytes are the bytes of a number in a model file.
const floatBytes = 4

// save writes the replica of a worker.
func (r *Results) save(final *record.Final, run *experiment.Run, w *build.Worker) error {
	own := w.Model()
	model := run.Files().Final(own.X, own.Statistics, *final)
	space := runfolder.SpaceError{
		Dir: r.Dir, Key: "output.dir", What: "a final model", Need: floatBytes * int64(len(own.X)),
	}
	return r.Saver.Save(space, func() error { return train.Write(runfolder.ModelPath(r.Dir, final.Rank), model) })
}

// SaveAverage writes the mean of the replicas of the workers that finished the run, from their files. digest is that of
// the run. Without a finished worker it writes nothing. watch hears how many bytes have been read,
// unless it is nil.
func (r *Results) SaveAverage(
	run *experiment.Run, finals []record.Final, digest string, watch func(done, all int64),
) error {
	if len(finals) == 0 {
		return nil
	}
	mean := train.Averaging{Watch: watch, Metadata: run.Files().Average(digest)}
	for _, final := range finals {
		mean.Files = append(mean.Files, runfolder.ModelPath(r.Dir, final.Rank))
	}
	space := runfolder.SpaceError{
		Dir: r.Dir, Key: "output.dir", What: "the average model", Need: floatBytes * int64(run.Dim()),
	}
	return r.Saver.Save(space, func() error {
		_, err := mean.Write(runfolder.AveragePath(r.Dir))
		return err
	})
}

// Models opens the final models of the peers that finished the run, in the order of ranks.
func Models(f *runfolder.Folder, run *experiment.Run, finals []record.Final) (score.Replicas, error) {
	var paths []string
	for _, final := range finals {
		paths = append(paths, f.ModelPath(final.Rank))
	}
	return run.Files().Replicas(paths)
}

// EachSecond reports the finished share of a test once a second and at its end. It reports nothing of a test that takes
// less than a second.
func EachSecond(tell func(share float64)) func(done, all int) {
	last, told := time.Now(), false
	return func(done, all int) {
		if now := time.Now(); now.Sub(last) >= time.Second || told && done == all {
			last, told = now, true
			tell(float64(done) / float64(all))
		}
	}
}
