package membership

import (
	"fmt"
	"strings"

	"gossiptrainer/configs"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/experiment"
)

// Where each machine has files of its own, a member trains on all rows of those of its machine, in every view. On one
// machine they are in folders by the ids of members. One that was taken for dead comes back with the same files, under
// another id: the first id of the machine counts.

// An owned has the data of a member.
type owned struct {
	run   *experiment.Run
	shard data.Set
}

// own returns the run with the data of one member, and all its rows.
func (m *Maker) own(run *experiment.Run, log *view.Log, id view.ID) (*experiment.Run, data.Set, error) {
	id = view.Origin(log, id)
	if m.owned[id] == nil {
		o := &owned{}
		var err error
		if o.run, err = experiment.Owned(m.run, id); err == nil {
			o.shard, err = o.run.Data().Shard(0)
		}
		if err != nil {
			return nil, data.Set{}, fmt.Errorf("the files of %s: %w", named(log, id), err)
		}
		m.owned[id] = o
	}
	return experiment.Sharing(run, m.owned[id].run), m.owned[id].shard, nil
}

// Ended returns the run of the members at the end, by rank in this order.
func (m *Maker) Ended(log *view.Log, ids []view.ID) (*experiment.Run, error) {
	run, err := m.resized(len(ids))
	if err != nil {
		return nil, err
	}
	return Manned(run, log, ids)
}

// Manned returns a run with the data of members, where each has files of its own.
func Manned(run *experiment.Run, log *view.Log, ids []view.ID) (*experiment.Run, error) {
	if !run.Data().Local() {
		return run, nil
	}
	first := make([]view.ID, len(ids))
	for i, id := range ids {
		first[i] = view.Origin(log, id)
	}
	own, err := experiment.Owned(run, first...)
	if err != nil {
		return nil, fmt.Errorf("the files of the members at the end: %w", err)
	}
	return own, nil
}

// Lacking returns an error if this machine lacks files of members of a log, nil if they are here or all share one set.
func Lacking(run *experiment.Run, log *view.Log) error {
	d, seen := run.Config().Data, map[view.ID]bool{}
	if !run.Data().Local() {
		return nil
	}
	var names, missing []string
	for v := range log.Len() {
		for _, m := range log.At(v).Members {
			id := view.Origin(log, m.ID)
			if seen[id] {
				continue
			}
			seen[id] = true
			names = append(names, fmt.Sprintf("%d for %s", id, named(log, id)))
			if !d.PerRank() {
				continue
			}
			if _, err := experiment.Owned(run, id); err != nil {
				missing = append(missing, fmt.Sprintf("the files of %s: %v", named(log, id), err))
			}
		}
	}
	var problem string
	switch {
	case !d.PerRank():
		problem = "each member has trained on files of its own, and the run file names those of one machine"
	case len(missing) > 0:
		problem = strings.Join(missing, "; ")
	default:
		return nil
	}
	e := configs.Errorf(d.FolderKey(), "%s", problem)
	e.Problems[0].Hint = fmt.Sprintf("copy the files of all machines to this one, and write %s for the id of a member in "+
		"--set %s=...: %s", configs.RankPattern, d.FolderKey(), strings.Join(names, ", "))
	return e
}

// named names a member and its machine for people.
func named(log *view.Log, id view.ID) string {
	for v := range log.Len() {
		r := log.At(v)
		if rank, member := r.Rank(id); member && r.Members[rank].Name != "" {
			return fmt.Sprintf("member %d (machine %s)", id, r.Members[rank].Name)
		}
	}
	return fmt.Sprintf("member %d", id)
}
