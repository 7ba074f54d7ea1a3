package peer

import (
	"context"
	"fmt"
	"strings"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/script"
	"gossiptrainer/app/session"
	"gossiptrainer/app/status"
	"gossiptrainer/app/worker"
	"gossiptrainer/node"
)

// AnyRank stands for the rank that the roster or the roll call gives.
const AnyRank = -1

// A Part is the part of one peer in a run on a LAN.
type Part struct {
	*session.Session
	Node node.Options
	Rank int          // that the peer must get, or AnyRank
	From worker.Start // of its worker
	// Script trains an external model; nil: the model is built in.
	Script *script.Child
	// Locate adds the line of the run file to an error.
	Locate func(error) error
}

// Take joins the other peers, trains, and waits for the results of all peers, which come as events.
func (p *Part) Take(ctx context.Context) error {
	n, err := node.New(p.Node)
	if err != nil {
		return err
	}
	defer n.Close()
	warnings, err := n.CheckReach()
	for _, w := range warnings {
		p.Warn(w)
	}
	if err != nil {
		return err
	}
	server, err := status.Open(p.Session.Run.Config(), p.Folder.Dir, 0, n, p.Display)
	if err != nil {
		return err
	}
	defer server.Close()
	fmt.Fprintf(p.Display, "this peer is %s at %s\n", n.ID(), strings.Join(n.Addrs(), " "))
	given, err := n.Join(ctx)
	if err != nil {
		return err
	}
	if p.Rank != AnyRank && int(given) != p.Rank {
		return advice.Usage(
			fmt.Errorf("run: --rank %d: this peer has rank %d", p.Rank, given),
			"the rank follows from the key: by the roster, or by the order of the peer ids",
		)
	}
	p.SetOwner(given)
	if err := p.agree(ctx, n); err != nil {
		return err
	}
	session.LimitGarbage(p.Session.Run, given)
	store := worker.NewStore(p.Session.Run, p.Folder.Dir, given, p.Node.Logger)
	defer store.Close()
	begin := beginning{Child: p.Script, run: p.Session.Run, store: store, rank: given}
	if err := begin.find(p.From); err != nil {
		return err
	}
	if err := begin.meet(ctx, n, p.Hear); err != nil {
		return err
	}
	begin.spends(p.Saver)
	final, err := worker.Train(ctx, n, begin.run, begin.w, worker.Options{
		Results: worker.Results{Dir: p.Folder.Dir, Saver: p.Saver}, Observe: p.Hear, Checkpoints: begin.kept, Store: store,
		Returned: p.From != worker.Fresh, Script: p.Script,
	})
	if err != nil {
		return err
	}
	store.Finish()
	_, err = n.Finish(ctx, final)
	return err
}
