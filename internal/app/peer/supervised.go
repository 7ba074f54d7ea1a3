package peer

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/checkpoints"
	"gossiptrainer/internal/app/preflight"
	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/app/status"
	"gossiptrainer/internal/app/worker"
	"gossiptrainer/internal/lab"
	"gossiptrainer/internal/node/identity"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

// A Supervised is a peer that a supervisor has started.
type Supervised struct {
	Path string // the resolved run file, in the folder of the run
	Rank int
	From checkpoints.Start
	Log  *slog.Logger
	Out  io.Writer // gets messages to the user
}

// Run runs the peer up to its result, which it reports to the supervisor.
func (p *Supervised) Run(ctx context.Context, client *lab.Client) error {
	loaded, err := configs.Load(configs.Source{File: p.Path})
	if err != nil {
		return err
	}
	run, err := preflight.Assemble(loaded)
	if err != nil {
		return err
	}
	store := checkpoints.New(run, filepath.Dir(p.Path), topology.Rank(p.Rank), p.Log)
	defer store.Close()
	w, kept, err := store.Open(p.From)
	if err != nil {
		return err
	}
	o := nodeOptions(run)
	if kept != nil || run.Reweights() { // a peer that comes back is recognised by its key
		if o.Identity, err = identity.Open(filepath.Join(store.Dir(), runfolder.Key)); err != nil {
			return err
		}
		defer o.Identity.Close()
	}
	o.Logger, o.Throttled = p.Log, throttles(run)
	o.Observe = func(e record.Event) {
		if rankOf(e) == p.Rank { // the others report themselves
			_ = client.Report(e) // fails only if the parent is gone, which ends ctx
		}
	}
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
	final, err := worker.Train(ctx, n, run, w, worker.Options{
		Results:     worker.Results{Dir: filepath.Dir(p.Path), Saver: &runfolder.Saver{Log: p.Log, Stopped: ctx.Done()}},
		Observe:     o.Observe,
		Checkpoints: kept,
		Arbiter:     client,
		Trial:       tryOn(run, client, n),
		Through:     func(other topology.Rank) bool { return client.Finished(int(other)) },
	})
	if err != nil {
		return err
	}
	if err := client.Report(record.Event{Final: &final}); err != nil {
		return err
	}
	return client.Done()
}

func rankOf(e record.Event) int {
	switch {
	case e.Step != nil:
		return e.Step.Rank
	case e.Score != nil:
		return e.Score.Rank
	case e.Status != nil:
		return e.Status.Rank
	case e.Final != nil:
		return e.Final.Rank
	case e.Edge != nil:
		return e.Edge.Rank
	}
	return AnyRank
}
