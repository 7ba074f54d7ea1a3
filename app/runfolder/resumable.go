package runfolder

import (
	"errors"
	"fmt"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/checkpoint"
)

// HintNothing adds advice to an error that says that there is no checkpoint. It returns other errors, and errors with a
// hint, unchanged.
func HintNothing(cfg configs.Config, err error) error {
	_, hinted := errors.AsType[*advice.Error](err)
	if hinted || !errors.Is(err, checkpoint.ErrNone) {
		return err
	}
	hint := WhyNothing(cfg) + ", or is kept elsewhere: start without --resume, or name its folder in place of the run file"
	switch kept := cfg.Checkpoint; {
	case cfg.Faults.OnLostNeighbor == "reweight":
		hint = WhyNothing(cfg) + ": start without --resume; where the others of a ring go on, they take this peer back"
	case kept.Every == 0 && kept.Seconds == 0:
		hint = WhyNothing(cfg) + ": start without --resume"
	}
	return advice.With(err, hint)
}

// WhyNothing says why there may be no checkpoint.
func WhyNothing(cfg configs.Config) string {
	switch kept := cfg.Checkpoint; {
	case cfg.Faults.OnLostNeighbor == "reweight":
		return "with the policy reweight no checkpoints are taken"
	case kept.Every == 0 && kept.Seconds == 0:
		return "checkpoint.every and checkpoint.seconds are 0, so none are taken"
	}
	return "the run ended before its first checkpoint"
}

// SafeRounds returns the smallest and the largest round of the newest checkpoints
// of all ranks, and whether there are any.
func SafeRounds(cfg configs.Config, folder string, peers int) (low, high int, there bool) {
	for rank := range peers {
		round, ok := checkpoint.Newest(RankFolder(cfg, folder, rank))
		switch {
		case !ok:
			continue
		case !there:
			low, high, there = round, round, true
		}
		low, high = min(low, round), max(high, round)
	}
	return low, high, there
}

// NameRounds names one round or a range.
func NameRounds(low, high int) string {
	if low == high {
		return fmt.Sprintf("round %d", low)
	}
	return fmt.Sprintf("rounds %d to %d", low, high)
}
