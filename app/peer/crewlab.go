package peer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/crew"
	"gossiptrainer/app/machine"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/session"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/fleet"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/score"
	"gossiptrainer/node"
	"gossiptrainer/topology"
)

// The members of a lab have folders of their own in the folder of the run: the parent takes their results from there.

// memberFolder returns the folder of a member, by the number of its process.
func memberFolder(dir string, process int) string {
	return filepath.Join(dir, "members", strconv.Itoa(process))
}

// resultName is the file with the CrewResult of a member.
const resultName = "member.json"

// crew takes part in a run whose members come and go. A process beyond the founders is a newcomer.
func (p *Supervised) crew(ctx context.Context, client *fleet.Client, run *experiment.Run) error {
	dir := memberFolder(filepath.Dir(p.Path), p.Rank)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	o := nodeOptions(run)
	o.Logger, o.Listen, o.Host = p.Log, []string{loopback(o.Transport)}, fmt.Sprint("peer ", p.Rank)
	var others []node.Peer
	c := Crew{Run: run, Dir: dir, Saver: &runfolder.Saver{Log: p.Log, Stopped: ctx.Done()}, Out: io.Discard,
		Hear:   func(e record.Event) { _ = client.Report(e) }, // fails only if the parent is gone
		Seated: func(id view.ID) { client.Seated(int(id)) }, Begins: client.Begins,
		Meet: func(ctx context.Context, n *node.Node, again bool) (*node.Meeting, error) {
			if !again {
				contacts, err := client.Introduce(ctx, fleet.Contact{ID: n.ID(), Addrs: n.Addrs()})
				if err != nil {
					return nil, err
				}
				for _, contact := range contacts {
					others = append(others, node.Peer(contact))
				}
			}
			if p.Rank < run.N() && !again {
				return node.Listed(n, others[:run.N()])
			}
			return node.Ask(ctx, n, others)
		}}
	result, err := c.Take(ctx, o, client.Leaves())
	if err != nil {
		return err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, resultName), text, runfolder.Readable); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return client.Done()
}

// RunCrew starts the founders, plays the script, and returns the final models by rank in the last view, and the views.
func (l *Lab) RunCrew(ctx context.Context) (score.Replicas, []record.Membership, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("lab: cannot find the path of this program: %w", err)
	}
	run := l.Session.Run
	err = fleet.Run(ctx, fleet.Options{
		Peers:      run.N(),
		Command:    func(rank, _ int) *exec.Cmd { return l.member(program, rank) },
		Expendable: func(f fleet.Failure) bool { return f.Died || f.Code == l.Lost },
		Script:     run.Script(),
		Missed:     l.Missed,
		Absent:     func(f fault.Fault) { l.Missed(f, session.Absent) },
		Still:      l.Still,
		History:    l.History,
		Event:      l.Event,
		Log:        l.Log,
	})
	if err != nil {
		return nil, nil, err
	}
	return l.gather(run)
}

// member returns the command that starts a member.
func (l *Lab) member(program string, rank int) *exec.Cmd {
	cmd := exec.Command(program, append([]string{"run", l.Folder.Path(runfolder.RunFile), "--rank", strconv.Itoa(rank),
		"--supervised"}, l.words(rank)...)...)
	cmd.Env = machine.ShareProcessors(os.Environ(), l.Session.Run.N())
	return cmd
}

// gather takes the results of the members at the end from their folders.
func (l *Lab) gather(run *experiment.Run) (score.Replicas, []record.Membership, error) {
	files, err := filepath.Glob(filepath.Join(memberFolder(l.Folder.Dir, 0), "..", "*", resultName))
	if err != nil {
		return nil, nil, err
	}
	var all []CrewResult
	for _, file := range files {
		var r CrewResult
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
	slices.SortFunc(all, func(a, b CrewResult) int { return cmp.Compare(a.Member, b.Member) })
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
	log, err := runfolder.KeepViews(l.Folder.Dir, text, run.Graph().Spec())
	if err != nil {
		return nil, nil, err
	}
	return l.remain(run, all, log)
}

// remain makes the session that of the members at the end.
func (l *Lab) remain(run *experiment.Run, all []CrewResult, log *view.Log) (
	score.Replicas, []record.Membership, error,
) {
	sized, err := experiment.Resized(run, len(all))
	if err != nil {
		return nil, nil, err
	}
	var last []record.Step
	var paths []string
	for rank := range all {
		r := &all[rank]
		r.Final.Rank, r.Last.Rank = rank, rank
		if r.Final.Data, err = sized.Data().Rows(topology.Rank(rank)); err != nil {
			return nil, nil, err
		}
		path := l.Folder.ModelPath(rank)
		if err := os.Rename(r.File, path); err != nil {
			return nil, nil, fmt.Errorf("lab: %w", err)
		}
		last, paths = append(last, r.Last), append(paths, path)
	}
	session.Remain(l.Session, sized, last)
	for rank := range all {
		l.Event(record.Event{Final: &all[rank].Final})
	}
	models, err := sized.Saved(paths)
	return models, crew.Told(log), err
}
