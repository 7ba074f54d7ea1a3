package peer

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/script"
	"gossiptrainer/app/session"
	"gossiptrainer/app/status"
	"gossiptrainer/app/worker"
	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/fleet"
	"gossiptrainer/internal/record"
	"gossiptrainer/node"
	"gossiptrainer/node/identity"
	"gossiptrainer/topology"
)

// A Supervised is a peer that a supervisor has started.
type Supervised struct {
	Path   string // the resolved run file, in the folder of the run
	Rank   int
	From   worker.Start
	Log    *slog.Logger
	Out    io.Writer      // gets messages to the user
	Script script.Options // of an external model
}

// Run runs the peer up to its result, which it reports to the supervisor.
func (p *Supervised) Run(ctx context.Context, client *fleet.Client) error {
	loaded, err := configs.Load(configs.Source{File: p.Path})
	if err != nil {
		return err
	}
	if p.Script.Env, err = p.environment(loaded.Config); err != nil {
		return err
	}
	run, child, err := Assemble(ctx, loaded, session.Assemble, p.Script)
	if err != nil {
		return err
	}
	defer child.Close()
	if cfg := run.Config(); cfg.Views() {
		return p.sits(ctx, client, run, child)
	}
	session.LimitGarbage(run, topology.Rank(p.Rank))
	saver, err := p.saver(ctx, run)
	if err != nil {
		return err
	}
	store := worker.NewStore(run, filepath.Dir(p.Path), topology.Rank(p.Rank), p.Log)
	store.Peers = run.N()
	defer store.Close()
	begin := beginning{Child: child, run: run, store: store, rank: topology.Rank(p.Rank)}
	if err := begin.find(p.From); err != nil {
		return err
	}
	o := nodeOptions(run)
	if begin.at.Kept || run.Config().Reweights() { // a peer that comes back is recognised by its key
		if o.Identity, err = identity.Open(filepath.Join(store.Dir(), runfolder.Key)); err != nil {
			return err
		}
		defer o.Identity.Close()
	}
	o.Logger, o.Throttled = p.Log, throttles(run)
	o.Observe = p.observe(client)
	n, err := Meet(ctx, client, o)
	if err != nil {
		return err
	}
	defer n.Close()
	server, err := status.Open(run.Config(), filepath.Dir(p.Path), p.Rank, n, p.Out)
	if err != nil {
		return err
	}
	defer server.Close()
	if err := begin.meet(ctx, n, o.Observe); err != nil {
		return err
	}
	begin.spends(saver)
	return p.train(ctx, client, n, &begin, saver)
}

// environment tells the script its place among those of this machine, and a folder of its own, which it makes.
func (p *Supervised) environment(cfg configs.Config) ([]string, error) {
	if !cfg.External() {
		return nil, nil
	}
	rank, size := strconv.Itoa(p.Rank), strconv.Itoa(cfg.Topology.Size)
	dir := scriptFolder(filepath.Dir(p.Path), rank)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("the folder of the script of worker %s: %w", rank, err)
	}
	output, err := os.OpenFile(outputOf(filepath.Dir(p.Path), rank), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the output of the script of worker %s: %w", rank, err)
	}
	p.Script.Keep = output // until this process ends
	env := []string{"PEER_LOCAL_RANK=" + rank, "PEER_LOCAL_SIZE=" + size, "PEER_DIR=" + dir}
	if !cfg.Views() { // members have the ranks of their views
		env = append(env, "PEER_RANK="+rank, "PEER_SIZE="+size)
	}
	return env, nil
}

// train trains the worker and reports its result.
func (p *Supervised) train(ctx context.Context, client *fleet.Client, n *node.Node, b *beginning,
	saver *runfolder.Saver) error {
	final, err := worker.Train(ctx, n, b.run, b.w, worker.Options{
		Results:     worker.Results{Dir: filepath.Dir(p.Path), Saver: saver},
		Observe:     p.observe(client),
		Checkpoints: b.kept, Store: b.store, Returned: p.From != worker.Fresh,
		Script:  b.Child,
		Arbiter: client,
		Trial:   tryOn(b.run, client, n),
		Through: func(other topology.Rank) bool { return client.Finished(int(other)) },
	})
	if err != nil {
		return err
	}
	b.store.Finish()
	if err := client.Report(record.Event{Final: &final}); err != nil {
		return err
	}
	return client.Done()
}

// observe returns a function that reports the events of this peer. The others report themselves.
func (p *Supervised) observe(client *fleet.Client) func(record.Event) {
	return func(e record.Event) {
		if e.Rank() == p.Rank {
			_ = client.Report(e) // fails only if the parent is gone, which ends the context of the run
		}
	}
}

// saver returns the saver of the final model, which has set room aside for it. A run that goes on may make room as it
// does.
func (p *Supervised) saver(ctx context.Context, run *experiment.Run) (*runfolder.Saver, error) {
	saver := &runfolder.Saver{Log: p.Log, Stopped: ctx.Done()}
	err := saver.SetAside(runfolder.SpaceError{
		Dir: filepath.Dir(p.Path), Key: "output.dir", What: "a final model",
		Need: session.FinalModel(run, topology.Rank(p.Rank)),
	})
	if err != nil && p.From != worker.Fresh {
		p.Log.Warn("no room is set aside for the final model", "why", err)
		return saver, nil
	}
	return saver, err
}
