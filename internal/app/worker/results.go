package worker

import (
	"fmt"
	"strconv"
	"time"

	"gossiptrainer/internal/app/machine"
	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/train"
)

// Results are the destination of the final models of a run.
type Results struct {
	Dir   string // the folder of the run
	Saver *runfolder.Saver
}

// Complete adds the score of the replica to a result, and saves the model. It tells watch how many samples of how many
// are done. A NaN or infinite loss is an error that wraps train.ErrDiverged. The result of an external model has the
// score that its script has told.
func (r *Results) Complete(
	final *record.Final, run *experiment.Run, w *experiment.Worker, watch func(done, all int),
) error {
	if w.Evaluate != nil {
		if err := score(final, run, w, watch); err != nil {
			return err
		}
	}
	var err error
	if final.Data, err = run.Rows(w.Rank); err != nil {
		return err
	}
	final.Theta, final.Bits, final.Peak = w.Bound(final.Rounds), w.MeanBits(), machine.PeakMemory()
	x := w.Machine.Params()
	model := train.Saved{X: x, Layout: run.Layout(), Metadata: map[string]string{
		"run": run.Config().Name, "rank": strconv.Itoa(final.Rank), "rounds": strconv.Itoa(final.Rounds),
	}}
	const float = 4 // bytes
	space := runfolder.SpaceError{Dir: r.Dir, Key: "output.dir", What: "a final model", Need: float * int64(len(x))}
	return r.Saver.Save(space, func() error { return train.Write(runfolder.ModelPath(r.Dir, final.Rank), model) })
}

// score adds the score of the replica to a result.
func score(final *record.Final, run *experiment.Run, w *experiment.Worker, watch func(done, all int)) error {
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

// Models reads the final models of the peers that finished the run, by rank; nil for the others.
func Models(f *runfolder.Folder, peers int, finals []record.Final) ([][]float32, error) {
	models := make([][]float32, peers)
	for _, final := range finals {
		saved, err := train.Read(f.ModelPath(final.Rank))
		if err != nil {
			return nil, err
		}
		models[final.Rank] = saved.X
	}
	return models, nil
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
