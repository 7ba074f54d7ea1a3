package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/gossip/member"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/experiment"
)

// The states of a member of a run whose members come and go are checkpoints, too. They are in its run folder.

// reportTensor has the report of a member in its checkpoint, as JSON.
const reportTensor = "member/report"

// WriteState writes the state of a member. It removes older ones, but for as many as the run file keeps.
func WriteState(run *experiment.Run, folder string, k member.Kept) error {
	text, err := json.Marshal(k.Report)
	if err != nil {
		return err
	}
	s := &state.Snapshot{Tensors: append(slices.Clone(k.Snapshot.Tensors),
		state.Tensor{Name: reportTensor, Type: "U8", Data: text})}
	cfg, id := run.Config(), int(k.Report.ID)
	m := stateOf(run, id, k.Exchange*cfg.Algorithm.LocalSteps)
	return checkpoint.Write(runfolder.RankFolder(cfg, folder, id), m, s, cfg.Checkpoint.Keep)
}

// ReadState returns the newest state in a folder, of the member with the largest id: a machine gets a larger one in
// each life. Settings that differ, and a run that has done its rounds, are errors.
func ReadState(run *experiment.Run, folder string) (k member.Kept, err error) {
	ids := append([]int{0}, runfolder.RanksIn(runfolder.CheckpointsOf(run.Config(), folder))...)
	id := ids[len(ids)-1]
	found, err := checkpoint.Latest(runfolder.RankFolder(run.Config(), folder, id))
	if err == nil {
		err = found.Check(stateOf(run, id, 0), (&Store{run: run}).legal)
	}
	if errors.Is(err, checkpoint.ErrNone) {
		return k, advice.With(err, "start without --resume: where another machine has resumed the run, this one joins it")
	} else if err != nil {
		return k, err
	}
	text := bytesOf(found.State, reportTensor)
	if err := json.Unmarshal(text, &k.Report); err != nil {
		return k, fmt.Errorf("%s is not the state of a member: %s: %w", found.Path, reportTensor, err)
	}
	if rounds := int(run.Config().Train.Rounds); found.Round >= rounds {
		return k, fmt.Errorf("the run in %s has done its %d rounds: with more train.rounds it goes on, where step sizes are "+
			"constant", folder, rounds)
	}
	k.State = member.State{Exchange: k.Report.Next, Snapshot: found.State}
	return k, nil
}

// stateOf describes the state of a member. The machines that it calls may differ later.
func stateOf(run *experiment.Run, id, k int) checkpoint.Manifest {
	m := checkpoint.Manifest{Run: run.Config().Name, Rank: id, Round: k}
	for _, section := range run.PeerSections() {
		m.Settings = append(m.Settings, checkpoint.Section{Name: section.Name, JSON: section.JSON})
	}
	return m
}
