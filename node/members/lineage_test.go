package members

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/gossip/member"
	views "gossiptrainer/gossip/view"
	"gossiptrainer/node/handshake"
	"gossiptrainer/topology"
)

// again returns another process of a machine.
func (m *machine) again() *machine {
	next := *m
	next.Hello.Epoch++
	next.maker = &maker{job: m.maker.job, latest: map[views.ID]*worker{}}
	next.watch, next.leave, next.done = new(watch), make(chan struct{}), make(chan struct{})
	return &next
}

// Two of five lose the others for good, leave, and found another run of the same name, file and secret. A member of the
// old run that is back is refused, learns what to do, and changes nothing. Its next process joins the new run.
func TestARunWithoutMajorityNeverMixesWithTheOld(t *testing.T) {
	j := job{dim: 100, rounds: 100_000, kind: topology.Ring, pause: 5 * time.Millisecond}
	old := founded(t, j, 5)
	until(t, "training", func() bool { return old[0].maker.begun() > 20 })
	here, there := old[:2], old[2]
	for _, dead := range old[3:] {
		dead.kill()
		<-dead.done
	}
	cut(there, here...)
	for _, m := range old[:3] {
		until(t, "a part without a majority", func() bool { return m.watch.says("it goes on when they are back") })
	}
	var all []*machine
	for _, m := range here {
		close(m.leave)
		<-m.done
		if m.err != nil || m.out.Standing != member.Left {
			t.Fatalf("standing %v, error %v: want one that has left", m.out.Standing, m.err)
		}
		all = append(all, m.again())
	}
	parent := views.Parent{Lineage: here[0].out.Log.At(0).Lineage, View: here[0].out.Log.Last().View}
	found(t, &parent, all...)
	until(t, "training of the new run", func() bool { return all[0].maker.begun() > 20 })
	heal(old[:3]...)
	until(t, "a member of the old run that knows what to do", func() bool {
		return there.watch.says("machine m0, machine m1 went on in another run of the name crew: Ctrl-C ends this process")
	})
	until(t, "refusals", func() bool { return all[0].Refused.Read()["refused lineage"] > 0 })

	close(there.leave)
	<-there.done
	back := there.again()
	joins(t, back, all[1])
	until(t, "training with the newcomer", func() bool { return back.maker.begun() > 0 })
	if id := back.seat.ID(); id != 2 {
		t.Fatalf("the newcomer has id %d, want that of its member of the old run, 2", id)
	}
	stale := there.Peer // the old process of that machine, with the key and the id of the newcomer
	stale.Hello.Lineage = parent.Lineage
	g := guest{Peer: stale, process: 5}
	_, err := g.ask(t.Context(), all[0].Host.ID())
	if no, _ := errors.AsType[*handshake.RefusedError](err); no == nil || no.Reason != handshake.OtherLineage ||
		no.Advice != handshake.OtherRunOfName ||
		!strings.Contains(no.Detail, fmt.Sprintf(": theirs goes on from view %d of ours", parent.View)) {
		t.Errorf("a process of the old run asks: error %v", err)
	}
	all[0].seat.Stop()
	log := finished(t, append(all, back)...)
	first := log.At(0)
	if log.Len() != 3 || first.Parent == nil || *first.Parent != parent || first.Lineage == parent.Lineage ||
		log.Last().Lineage != first.Lineage || first.Lineage == 0 {
		t.Errorf("views %q, of lineage %d with the parent %+v, want %+v", reasons(log), first.Lineage, first.Parent, parent)
	}
}

// Two of a crew that was switched off hear nothing of each other, and each resumes the run. When they meet each refuses
// the letters and the requests of the other, and both go on alone.
func TestTwoThatResumeARunNeverMix(t *testing.T) {
	t.Parallel()
	j := job{dim: 100, rounds: 100_000, kind: topology.Ring, pause: 5 * time.Millisecond}
	var both []*machine
	for _, m := range founded(t, j, 3)[:2] {
		until(t, "training", func() bool { return m.maker.begun() > 20 })
		close(m.leave)
		<-m.done
		if m.err != nil || m.kept == nil {
			t.Fatalf("error %v, a state was kept: %v", m.err, m.kept != nil)
		}
		next := m.again()
		next.resumes(t, m.out.Log)
		both = append(both, next)
	}
	for i, m := range both {
		other := both[1-i]
		until(t, "training alone", func() bool { return m.maker.begun() > m.kept.Exchange+20 })
		stale := m.Peer
		stale.Hello.Lineage = m.Hello.Epoch
		from, there := m.parent, other.parent
		stale.Hello.Parent = handshake.Parent{Lineage: from.Lineage, View: from.View}
		parted := fmt.Sprintf("both go on from lineage %d, theirs from its view %d, ours from its view %d", from.Lineage,
			there.View, from.View)
		stale.Host.Peerstore().AddAddrs(other.Host.ID(), other.Host.Addrs(), time.Hour)
		g := guest{Peer: stale, process: 5}
		_, err := g.ask(t.Context(), other.Host.ID())
		no, _ := errors.AsType[*handshake.RefusedError](err)
		if no == nil || no.Reason != handshake.OtherLineage || no.Advice != handshake.OtherRunOfName ||
			!strings.HasPrefix(no.Detail, "another run of the name crew: its lineage is ") ||
			!strings.Contains(no.Detail, parted) {
			t.Errorf("a member of one run asks the other: error %v", err)
		}
		s := postOffice{process: &stale, self: m.seat.ID(), log: m.Log, detect: time.Second}
		one := &lane{post: &s, to: other.seat.ID(), peer: other.Host.ID()}
		if err := one.serve(t.Context()); !s.book.isApart(one.to) {
			t.Errorf("letters of one run to the other: error %v", err)
		}
	}
	for _, m := range both {
		before := m.maker.begun()
		until(t, "training alone", func() bool { return m.maker.begun() > before+20 })
		m.seat.Stop()
		<-m.done
		if n := len(m.out.Log.Last().Members); m.err != nil || n != 1 || len(m.out.Models) != 1 {
			t.Errorf("member %d: error %v, %d members, views %q", m.out.ID, m.err, n, reasons(m.out.Log))
		}
	}
}

// resumes lets another process of a machine resume its run.
func (m *machine) resumes(t *testing.T, log *views.Log) {
	t.Helper()
	log, err := views.Resume(log, m.kept.Report, m.Hello.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	o := m.options()
	o.Hello.Lineage, m.parent = m.Hello.Epoch, log.At(0).Parent
	if m.seat, err = Resume(o, log, m.kept.State, m.kept.Report.ID); err != nil {
		t.Fatal(err)
	}
	m.run(t)
}

// heal lets machines hear each other again.
func heal(all ...*machine) {
	for _, m := range all {
		m.Gate.Sever(nil)
	}
}

// cut lets a machine hear nothing of others, nor they of it.
func cut(one *machine, others ...*machine) {
	apart := map[peer.ID]bool{}
	for _, m := range others {
		m.Gate.Sever(map[peer.ID]bool{one.Host.ID(): true})
		apart[m.Host.ID()] = true
	}
	one.Gate.Sever(apart)
	for id := range apart {
		one.Host.Network().ClosePeer(id)
	}
}
