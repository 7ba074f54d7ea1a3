package seat

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/session"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/membership"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/score"
	"gossiptrainer/topology"
)

// The members of a lab have folders of their own in the folder of the run: the parent takes their results from there.

// resultName is the file with the Result of a member.
const resultName = "member.json"

// Keep writes the result into the folder of the member.
func (r *Result) Keep(dir string) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, resultName), text, runfolder.Readable)
	}
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// Gather takes the results of the members at the end from their folders, in that of the run. The session becomes that
// of these members. Gather returns their models by rank in the last view, and the views.
func Gather(s *session.Session) (score.Replicas, []record.Membership, error) {
	run := s.Run
	files, err := filepath.Glob(filepath.Join(runfolder.MemberPath(s.Folder.Dir, 0), "..", "*", resultName))
	if err != nil {
		return nil, nil, err
	}
	var all []Result
	for _, file := range files {
		var r Result
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("lab: the result of a member: %w", err)
		}
		if r.Digest != "" {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil, nil, advice.With(errors.New("lab: no member is there at the end of the run"),
			"let fewer members leave or die at once: a majority of the older ones must stay")
	}
	slices.SortFunc(all, func(a, b Result) int { return cmp.Compare(a.Member, b.Member) })
	for _, r := range all {
		if r.Digest != all[0].Digest || r.Members != len(all) {
			return nil, nil, fmt.Errorf("internal error: lab: members %d and %d end with different digests of the run",
				all[0].Member, r.Member)
		}
	}
	text, err := os.ReadFile(all[0].Log)
	if err != nil {
		return nil, nil, fmt.Errorf("lab: %w", err)
	}
	log, err := runfolder.KeepViews(s.Folder.Dir, text, membership.Base(run))
	if err != nil {
		return nil, nil, err
	}
	return remain(s, all, log)
}

// remain makes the session that of the members at the end.
func remain(s *session.Session, all []Result, log *view.Log) (score.Replicas, []record.Membership, error) {
	sized, err := experiment.Resized(s.Run, len(all))
	if err == nil {
		var ids []view.ID
		for _, r := range all {
			ids = append(ids, view.ID(r.Member))
		}
		sized, err = membership.Manned(sized, log, ids)
	}
	if err != nil {
		return nil, nil, err
	}
	end := session.Members{Run: sized}
	var paths []string
	for rank := range all {
		r := &all[rank]
		r.Final.Rank, r.Last.Rank = rank, rank
		if r.Final.Data, err = sized.Data().Rows(topology.Rank(rank)); err != nil {
			return nil, nil, err
		}
		known := r.Final
		known.Rank = r.Member
		s.Event(record.Event{Final: &known}) // the record has members by their ids
		path := s.Folder.ModelPath(r.Member)
		if err := os.Rename(r.File, path); err != nil {
			return nil, nil, fmt.Errorf("lab: %w", err)
		}
		end.Last, end.Finals = append(end.Last, r.Last), append(end.Finals, r.Final)
		end.IDs, paths = append(end.IDs, r.Member), append(paths, path)
	}
	session.Remain(s, end)
	models, err := sized.Files().Replicas(paths)
	return models, membership.Told(log), err
}
