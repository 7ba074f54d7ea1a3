package views

import (
	"context"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/session"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/membership"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/train"
	"gossiptrainer/topology"
)

// Found writes the log of a run in which the founders stay, and returns its views.
func Found(s *session.Session) ([]record.Membership, error) {
	log, err := view.New(membership.Base(s.Run), founders(s.Run))
	if err != nil {
		return nil, err
	}
	return membership.Told(log), runfolder.WriteViews(runfolder.ViewsPath(s.Folder.Dir), log)
}

// Train computes a run in which members join, leave and die, and reports it to its session: log of views, results and
// models of the members at the end. It returns these models, by rank in the last view, and the views.
func Train(ctx context.Context, s *session.Session, h Happening) (score.InMemory, []record.Membership, error) {
	h.Observe = s.Event
	h.Began = func(f fault.Fault) { s.Log(int(f.First()), "fault: "+f.String()) }
	h.Waits = func(id view.ID, waits bool) {
		text := "goes on"
		if waits {
			text = "waits: it hears no majority of the oldest members"
		}
		s.Log(int(id), text)
	}
	o, err := Simulate(ctx, s.Run, h)
	if err != nil {
		return nil, nil, err
	}
	if err := o.Save(runfolder.ViewsPath(s.Folder.Dir)); err != nil {
		return nil, nil, err
	}
	for _, f := range o.Pending {
		s.Missed(f, o.Time)
	}
	for _, f := range o.Absent {
		s.Missed(f, session.Absent)
	}
	run, finals, err := o.Finals()
	if err != nil {
		return nil, nil, err
	}
	models := o.Models()
	end := session.Members{Run: run, Last: o.last(), Finals: finals}
	for rank := range finals {
		f := &finals[rank]
		if f.Data, err = run.Data().Rows(topology.Rank(rank)); err != nil {
			return nil, nil, err
		}
		id := int(o.IDs[rank])
		end.IDs = append(end.IDs, id)
		saved := run.Files().Final(models[rank].X, models[rank].Statistics,
			record.Final{Rank: id, Rounds: f.Rounds, Digest: f.Digest})
		space := runfolder.SpaceError{Dir: s.Folder.Dir, Key: "output.dir", What: "a final model",
			Need: 4 * int64(len(models[rank].X))}
		err := s.Saver.Save(space, func() error { return train.Write(runfolder.ModelPath(s.Folder.Dir, id), saved) })
		if err != nil {
			return nil, nil, err
		}
		known := *f
		known.Rank = id
		s.Event(record.Event{Final: &known}) // the record has members by their ids
	}
	session.Remain(s, end)
	return models, membership.Told(o.Log), nil
}
