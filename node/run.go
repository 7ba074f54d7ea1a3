package node

import (
	"context"
	"errors"
	"fmt"
	"slices"

	libp2p "github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/budget"
	"gossiptrainer/internal/machine"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/work"
	"gossiptrainer/node/link"
	"gossiptrainer/node/socket"
	"gossiptrainer/node/vector"
	"gossiptrainer/topology"
)

// Run trains to the end of the last round and stays until no neighbour needs this worker any more. The
// result lacks the figures of the test set.
//
// It fails with *TrainingError, *NetworkError or *StoppedError. Then it tells the other workers why,
// so that they stop as well, unless no neighbour works with it. When ctx ends, Run fails within 1.5 s
// with an error that wraps its cause; a worker with checkpoints writes its state meanwhile. A Gradient
// under way then goes on in the background. Call Run a second time only after ErrLeftBehind, with the
// Place that ComeBack returns.
func (n *Node) Run(ctx context.Context, w Worker) (record.Final, error) {
	n.mu.Lock()
	r := n.roster
	n.mu.Unlock()
	if r == nil || r.Self != w.Rank {
		return record.Final{}, fmt.Errorf("node: run: worker %d has not joined", w.Rank)
	}
	links, err := link.Start(n.linksOf(&w))
	if err != nil {
		return record.Final{}, err
	}
	n.mu.Lock()
	first := n.links == nil
	n.links, n.lost = links, w.absence()
	n.mu.Unlock()
	topic, err := n.joinTopic(&w)
	if err != nil {
		return record.Final{}, errors.Join(err, links.Close())
	}
	w.equip(links)
	n.vectors.NoStart()
	if roll := n.roll; roll != nil && first {
		n.wg.Go(func() { roll.Release(n.needs) })
	}
	d, err := newDriver(w, links)
	if err != nil {
		return record.Final{}, errors.Join(err, links.Close())
	}
	if w.Lost == Reweight && w.Save != nil && !w.Asynchronous {
		reception := n.receive(links)
		defer reception.close()
		d.hosting.requests = reception.requests
	}
	d.refused, d.log, d.observe = &n.refused, n.log, func(e record.Event) { n.observe(e); topic.Post(e) }
	if w.Program != nil {
		d.observe, w.Program.links = w.Program.Late(d.observe), links
		vector.Show(n.vectors, Newest, w.Program.Newest)
	}
	d.stopped, d.vitals, d.ending.announce = topic.Stopped(), &n.vitals, topic.StopOthers
	d.through = func(rank topology.Rank) bool { return topic.Ended(rank) || w.Through != nil && w.Through(rank) }
	n.vitals.begin(d.round, w.Rounds)

	err = d.run(ctx)
	if err != nil && !errors.Is(err, ErrLeftBehind) && !errors.Is(err, work.ErrGone) {
		d.status(record.Failed, err.Error(), nil)
		if !isUnwanted(err) {
			d.passOn(err)
			topic.Flush(d.ending.told)
		}
	}
	if err == nil && w.Arbiter != nil {
		w.Arbiter.Held(d.round)
	}
	err = errors.Join(err, links.Close())
	return d.final(), err
}

// mostRounds returns the most rounds that one of n workers finishes: without rounds, a fast one does steps of slow
// ones.
func (w *Worker) mostRounds(n int) int {
	if w.Asynchronous {
		return n * w.Rounds
	}
	return w.Rounds
}

// equip lends the machine buffers and free cores, if it can use them.
func (w *Worker) equip(links *link.Links) {
	if m, ok := w.Machine.(gossip.Borrower); ok && w.inTurn() {
		m.Borrow(links.Buffers())
	}
	if m, ok := w.Machine.(gossip.Parallel); ok && machine.FreeCores() > 1 {
		m.Use(func(parts int, work func(part int)) {
			machine.Do(machine.FreeCores(), parts, func(_, part int) { work(part) })
		})
	}
}

// linksOf returns the settings of the links of w.
func (n *Node) linksOf(w *Worker) link.Config {
	hello := n.me
	hello.Round, hello.Durable = w.place(), w.durable()
	slots := gossip.SlotsOf(w.Machine)
	message := slots.Parts() * w.MaxPayload
	messages := max(1, len(w.Rows.At(0).In)) * (slots.Lead + 1)
	c := link.Config{
		Host: n.host, Members: n.roster.Members, Hello: hello, Admission: &n.admission,
		Rows: w.Rows, Limit: w.MaxPayload, Room: messages * message, Detect: n.opts.Detect,
		Fit:    link.Fit{Paced: !w.Asynchronous, Lead: slots.Lead, Elastic: w.Lost == Reweight},
		Coding: w.Coding, Ways: n.ways, Refused: &n.refused.Refusals, Log: n.log,
	}
	if j := w.journal(); j != nil {
		c.Fit.Oldest = func() int { first, _ := j.Span(); return first }
	}
	if w.follows() {
		c.Rest = func(rank topology.Rank) bool { return !n.vectors.Serves(rank) }
	}
	if w.inTurn() {
		c.InTurn, c.Room = &slots, (len(w.Rows.At(0).In)+slots.Lead+1)*message
	}
	return c
}

// ways returns the routes to a worker of another machine. The addresses of a roster choose the networks. The host
// resolves names in it.
func (n *Node) ways(rank topology.Rank) []socket.Route {
	n.mu.Lock()
	r, listed := n.roster, n.roll == nil
	n.mu.Unlock()
	if listed && int(rank) < len(r.Addrs) {
		if own := r.Addrs[rank]; len(own) > 0 && !slices.ContainsFunc(own, socket.Named) {
			return socket.Routes(own)
		}
	}
	return socket.Routes(n.host.Peerstore().Addrs(r.IDs[rank]))
}

// inTurn reports whether messages are read only when the machine has come to their exchange, because they are large. A
// worker that may cut an edge reads all: the neighbour's words about edges stand behind its messages.
func (w *Worker) inTurn() bool {
	slots := gossip.SlotsOf(w.Machine)
	paced := !w.Asynchronous && w.Lost != Reweight && slots.Lead == 1 && slots.Parts() > 1 && w.Rows.Period() == 1
	return paced && budget.InTurn(len(w.Rows.At(0).In), slots.Parts()*w.MaxPayload)
}

// needs reports whether the links or the vectors use the connection with id.
func (n *Node) needs(id libp2p.ID) bool {
	n.mu.Lock()
	l, r := n.links, n.roster
	n.mu.Unlock()
	rank, known := r.Rank(id)
	return l.Serves(id) || known && n.vectors.Serves(rank)
}

// isUnwanted reports whether no neighbour works with this worker. Then it must not stop the run of the
// others, which wait for a worker that fits.
func isUnwanted(err error) bool {
	var net *NetworkError
	return errors.As(err, &net) && net.Op == opJoin
}

// final returns the result as far as the worker knows it.
func (d *driver) final() record.Final {
	sent, _ := d.meter.Bytes()
	return d.w.Final(record.Final{Rounds: d.round, Sent: sent, Messages: d.meter.Messages(), Time: d.took})
}
