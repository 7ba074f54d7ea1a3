package peer

import (
	"context"
	"slices"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/script"
	"gossiptrainer/app/session"
	"gossiptrainer/app/worker"
	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/node"
	"gossiptrainer/topology"
)

// Own prepares a run file for a peer on a LAN, which has a secret and may have data of its own. It checks the command
// of the script; line is the command line without it.
func Own(loaded *configs.Loaded, command []string, line string) (secret string, err error) {
	if err := script.Check(loaded, command, line); err != nil {
		return "", err
	}
	if err := session.Unplayed(loaded); err != nil {
		return "", err
	}
	if secret, err = Secret(loaded); err != nil {
		return "", err
	}
	return secret, OwnFolder(loaded)
}

// Assemble builds a run from a run file. It starts the script of an external model first, which alone knows the size of
// the model. The caller must Close the child, which is nil for a built-in model.
func Assemble(
	ctx context.Context, loaded *configs.Loaded, build func(*configs.Loaded) (*experiment.Run, error), o script.Options,
) (*experiment.Run, *script.Child, error) {
	if !loaded.Config.External() {
		run, err := build(loaded)
		return run, nil, err
	}
	o.Seed, o.Views = loaded.Config.Seed, loaded.Config.Views()
	child, err := script.Begin(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	loaded.Config.Model.Outline = child.Outline()
	run, err := build(loaded)
	if err != nil {
		child.Refuse(err)
		return nil, nil, err
	}
	return run, child, nil
}

// A beginning is a worker that is about to begin. A built-in model is built as soon as its checkpoint is known. An
// external one needs the vector of worker 0 first, and so the other peers.
type beginning struct {
	*script.Child // nil: built in
	run           *experiment.Run
	store         *worker.Store
	rank          topology.Rank

	at   worker.Origin
	w    *build.Worker
	kept *node.Checkpoints
}

// find finds the checkpoint, and builds the worker of a built-in model.
func (b *beginning) find(from worker.Start) (err error) {
	if b.at, err = b.store.Find(from); err != nil || b.Child != nil {
		return err
	}
	b.w, b.kept, err = b.store.Begin(b.at, b.run, nil)
	return err
}

// spends lets a saver have the room of the worker's messages for results.
func (b *beginning) spends(s *runfolder.Saver) { s.GiveUp = func() { b.store.GiveUp(b.kept) } }

// meet builds the worker of an external model, among the others on n, and tells the script where it begins.
func (b *beginning) meet(ctx context.Context, n *node.Node, observe func(record.Event)) error {
	if b.Child == nil {
		return nil
	}
	b.Tell(int(b.rank), observe)
	b.Enter(ctx, n, func() script.Topic {
		if t := n.Topic(); t != nil {
			return t
		}
		return nil
	})
	if b.at.State != nil || b.at.Start != nil {
		n.LendStart(b.store.StartVector)
	}
	p := experiment.Program{Gradient: b.Gradient}
	if b.at.State == nil {
		if err := b.Meet(ctx, n, b.at.Start); err != nil {
			return err
		}
		p.Start = slices.Clone(b.Start())
	}
	var err error
	if p.Exact, err = b.exact(); err != nil {
		return err
	}
	b.run = b.run.Programmed(p)
	if b.w, b.kept, err = b.store.Begin(b.at, b.run, b.Child); err != nil {
		return err
	}
	cfg := b.run.Config()
	most := b.w.Rounds
	if b.w.Asynchronous { // a fast worker does steps of slow ones
		most *= b.run.N()
	}
	return b.Welcome(script.Place{
		Run: cfg.Name, Seed: cfg.Seed, Rank: int(b.rank), Size: b.run.N(),
		Rounds: cfg.Train.Rounds.Known(), Round: b.at.Round,
		Most: most, Free: b.w.Asynchronous, Sheds: b.run.Config().Reweights(), Checkpoints: b.kept != nil, Ended: b.at.Ended,
		After: gossip.SlotsOf(b.w.Machine).Succession,
	}, b.w.Machine.Params(), b.at.Blob)
}

// exact returns what the exact elements were at the start of the run. A vector that has changed since then ends with
// the same ones, unless its buffers have changed.
func (b *beginning) exact() ([]float32, error) {
	x := b.Start()
	if b.at.State != nil {
		var err error
		if x, err = b.store.StartVector(); err != nil {
			return nil, err
		}
	}
	cfg := b.run.Config()
	return slices.Clone(x[max(0, len(x)-cfg.Model.Outline.Exact):]), nil
}
