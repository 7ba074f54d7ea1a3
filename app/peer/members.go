package peer

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/script"
	"gossiptrainer/app/seat"
	"gossiptrainer/app/session"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/fleet"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/score"
	"gossiptrainer/node"
	"gossiptrainer/node/identity"
	"gossiptrainer/topology"
)

// sits takes part in a run whose members come and go. A process beyond the founders is a newcomer.
func (p *Supervised) sits(ctx context.Context, client *fleet.Client, run *experiment.Run,
	child *script.Child) error {
	dir := runfolder.MemberPath(filepath.Dir(p.Path), p.Rank)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	o := nodeOptions(run)
	var err error
	if o.Identity, err = identity.Open(filepath.Join(dir, runfolder.Key)); err != nil { // it may come back
		return err
	}
	defer o.Identity.Close()
	o.Logger, o.Listen, o.Host = p.Log, []string{loopback(o.Transport)}, fmt.Sprint("peer ", p.Rank)
	introduced := func(ctx context.Context, n *node.Node) ([]node.Peer, error) {
		contacts, err := client.Introduce(ctx, fleet.Contact{ID: n.ID(), Addrs: n.Addrs()})
		peers := make([]node.Peer, len(contacts))
		for i, contact := range contacts {
			peers[i] = node.Peer(contact)
		}
		return peers, err
	}
	m := seat.Member{Run: run, Script: child, Dir: dir, Out: io.Discard,
		Saver:   &runfolder.Saver{Log: p.Log, Stopped: ctx.Done()},
		Hear:    func(e record.Event) { _ = client.Report(e) }, // fails only if the parent is gone
		Process: p.Rank,
		Seated:  func(id topology.Rank) { client.Seated(int(id)) }, Begins: client.Begins,
		Meet: seat.Newcomer(introduced)}
	if p.Rank < run.N() {
		m.Meet = seat.Founder(introduced)
	}
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-client.Hold():
			m.Stop()
		case <-over:
		}
	}()
	result, err := m.Take(ctx, o, client.Leaves())
	if err != nil {
		return err
	}
	if err := result.Keep(dir); err != nil {
		return err
	}
	return client.Done()
}

// RunMembers starts the founders and plays the script. It returns the final models by rank in the last view, and the
// views.
func (l *Lab) RunMembers(ctx context.Context) (score.Replicas, []record.Membership, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("lab: cannot find the path of this program: %w", err)
	}
	run := l.Session.Run
	l.sayShown(run.N())
	err = fleet.Run(ctx, fleet.Options{
		Peers:      run.N(),
		Command:    func(rank, _ int) *exec.Cmd { return l.member(program, rank) },
		Expendable: func(f fleet.Failure) bool { return f.Died || f.Code == l.Lost },
		Script:     experiment.Script(run.Config()),
		Missed:     l.Missed,
		Absent:     func(f fault.Fault) { l.Missed(f, session.Absent) },
		End:        l.Over(),
		Still:      l.Still,
		History:    l.History,
		Event:      l.Event,
		Log:        l.Log,
		Grace:      l.grace(),
	})
	if err != nil {
		return nil, nil, err
	}
	return seat.Gather(l.Session)
}

// member returns the command that starts a member.
func (l *Lab) member(program string, rank int) *exec.Cmd {
	args := []string{"run", l.Folder.Path(runfolder.RunFile), "--rank", strconv.Itoa(rank), "--supervised"}
	return l.command(program, append(args, l.words(rank)...))
}
