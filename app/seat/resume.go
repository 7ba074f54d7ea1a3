package seat

import (
	"fmt"
	"os"
	"sync"
	"time"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/worker"
	"gossiptrainer/gossip/member"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/membership"
	"gossiptrainer/node/members"
)

// A crew that was switched off goes on from what its members keep in their run folders: now and then, when they leave,
// and when the run is stopped. One of them resumes the run alone, and the others join it.

// A Kept is what a member has kept in a run folder.
type Kept struct {
	member.Kept
	log *view.Log
}

// ReadKept returns what a member has kept in a run folder.
func ReadKept(run *experiment.Run, dir string) (*Kept, error) {
	k := new(Kept)
	var err error
	if k.Kept, err = worker.ReadState(run, dir); err != nil {
		return nil, err
	}
	file, err := os.Open(runfolder.ViewsPath(dir))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if k.log, err = view.Read(file, membership.Base(run)); err != nil {
		return nil, fmt.Errorf("%s: %w", runfolder.ViewsPath(dir), err)
	}
	return k, nil
}

// A keeper writes the states of a member, one after the other.
type keeper struct {
	from *Kept // the state that the member resumes unless another machine has resumed the run; nil: none
	m    *Member
	busy sync.WaitGroup
	said bool // that nothing can be written
}

// keeping says when the member keeps its state. Members of a lab, of scripts and of pairs keep none.
func (k *keeper) keeping() members.Keeping {
	if k == nil {
		return members.Keeping{}
	}
	if !experiment.KeepsMembers(k.m.Run) {
		return members.Keeping{}
	}
	c := k.m.Run.Config().Checkpoint
	keep := members.Keeping{Take: k.take}
	keep.Rounds, keep.Time = c.Every, time.Duration(c.Seconds*float64(time.Second))
	return keep
}

// take writes a state, while the member trains. The caller hands it over.
func (k *keeper) take(kept member.Kept) {
	k.busy.Wait()
	k.busy.Go(func() {
		m := k.m
		space := runfolder.SpaceError{Dir: m.Dir, Key: "output.dir", What: "a checkpoint", Need: kept.Snapshot.Bytes()}
		err := m.Saver.Save(space, func() error { return worker.WriteState(m.Run, m.Dir, kept) })
		if err != nil && !k.said {
			k.said = true
			fmt.Fprintf(m.Out, "member %d keeps no checkpoint: %v\n", kept.Report.ID, err)
		}
	})
}
