package handover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	ma "github.com/multiformats/go-multiaddr"

	"gossiptrainer/node/handshake"
)

// writeTime bounds the time in which a machine writes its files.
const writeTime = 10 * time.Second

// answer serves a caller.
func (i *Invitation) answer(s network.Stream) {
	t := handshake.New(s)
	defer s.Reset()
	// The proof comes first. The hello is accepted as it is: it names the machine.
	accept := func(handshake.Hello) *handshake.RefusedError { return nil }
	keep := context.AfterFunc(i.ctx, func() { s.Reset() })
	err := t.Greet(&i.admission, i.hello, accept)
	keep()
	if err != nil {
		if no, ok := errors.AsType[*handshake.UnprovenError](err); ok {
			i.p.refused.Tell(i.p.log, "refused a machine without the token", no.Counter(),
				"why", no.Detail, "address", s.Conn().RemoteMultiaddr())
		}
		s.Conn().Close() // another try costs another connection, which the gate counts
		return
	}
	i.p.gate.Admitted(s.Conn())
	s.SetDeadline(time.Now().Add(handshake.Timeout))
	who := handshake.MachineName(t.Theirs.Host, handshake.Short(t.Peer))
	taken, err := i.receive(t)
	if no, refused := errors.AsType[*handshake.RefusedError](err); refused {
		t.Refuse(no)
		i.terms.Tell(News{who, "was refused: " + no.Detail})
	}
	if err != nil {
		return
	}
	err = i.hand(t, who, taken)
	i.mu.Lock()
	i.seats.leave(taken)
	here := i.seats.count(joined)
	text := i.describe(taken, err, here)
	over := err == nil && here == i.terms.Seats
	i.mu.Unlock()
	i.terms.Tell(News{who, text})
	if over {
		i.once.Do(func() { close(i.done) })
	}
}

// describe says how a conversation has ended.
func (i *Invitation) describe(with *seat, err error, here int) string {
	no, refused := errors.AsType[*handshake.RefusedError](err)
	switch {
	case err == nil && i.terms.Offer.Open:
		return fmt.Sprintf("has run file and secret, and may join: %d of %d", here, i.terms.Seats)
	case err == nil:
		return fmt.Sprintf("has joined: %d of %d machines are here", 1+here, 1+i.terms.Seats)
	case refused && no.Remote:
		return "has not joined, and says: " + no.Detail
	case refused:
		return "was refused: " + no.Detail
	case with.stage >= granted:
		return "may have the run file and the secret, but its connection was lost: type the same command there again"
	}
	return "has gone before it joined"
}

// otherProgram says that the versions of two machines differ: here, and on another one.
const otherProgram = "another version of the program: here %v, on %s %v: install the same version on all machines"

// receive reads the request of a machine and gives it a seat. The error is a *handshake.RefusedError if the machine is
// refused.
func (i *Invitation) receive(t *handshake.Talk) (*seat, error) {
	body, err := t.Expect(aboutRequest, mostRequest)
	if err != nil {
		return nil, errForm
	}
	r, err := parseRequest(body)
	if err != nil {
		return nil, handshake.Refusal(handshake.Protocol, "%v", err)
	}
	host := handshake.Printable(i.hello.Host)
	if ours := i.terms.Offer.Program; !ours.fits(r.Program) {
		no := handshake.Refusal(handshake.Protocol, otherProgram, ours, "that machine", r.Program)
		no.There = fmt.Sprintf(otherProgram, r.Program, host, ours)
		return nil, no
	}
	if t.Peer.String() == i.terms.Self {
		return nil, handshake.Refusal(handshake.Duplicate, sameKey, host+", which invites")
	}
	from, _, _ := split(t.Stream.Conn().RemoteMultiaddr())
	i.mu.Lock()
	undecided := i.seats.manner == Undecided
	taken, no := i.seats.enter(t.Peer, from, host, r.Heard)
	gathers := i.seats.manner == Gathered
	if no == nil && taken.stage < granted {
		taken.port, taken.at = r.Port, i.linkAddr(t.Stream.Conn().RemoteMultiaddr(), r.Port)
		i.roster.own = i.linkAddr(t.Stream.Conn().LocalMultiaddr(), i.terms.Port)
	}
	i.mu.Unlock()
	if no != nil {
		return nil, no
	}
	if undecided && gathers {
		i.terms.Tell(News{"", "multicast does not arrive at " + handshake.Printable(t.Theirs.Host) + ": the run file will " +
			"list the addresses of all machines, so each waits until all have joined"})
	}
	return taken, nil
}

// linkAddr returns the address of links at the IP address of a connection.
func (i *Invitation) linkAddr(seen ma.Multiaddr, number int) string {
	ip, _, ok := split(seen)
	if !ok {
		return ""
	}
	family := "ip6"
	if ip.Is4() {
		family = "ip4"
	}
	if i.terms.QUIC {
		return fmt.Sprintf("/%s/%s/udp/%d/quic-v1", family, ip, number)
	}
	return fmt.Sprintf("/%s/%s/tcp/%d", family, ip, number)
}

// hand offers, waits for consent and for the others where the roster needs them, and hands the secret over. It returns
// nil when the machine has its files.
func (i *Invitation) hand(t *handshake.Talk, who string, to *seat) error {
	i.mu.Lock()
	offer := i.terms.Offer
	offer.Gathers = i.seats.manner == Gathered
	i.mu.Unlock()
	if err := say(t, aboutOffer, offer); err != nil {
		return err
	}
	// The machine may examine its data for long: the end of the invitation or of the connection ends the wait.
	t.Stream.SetDeadline(time.Time{})
	steps := i.listen(t)
	if err := i.await(t, steps); err != nil {
		return err
	}
	if err := i.consent(to); err != nil {
		no := handshake.Refusal(handshake.RunOver, "%v", err)
		return errors.Join(no, t.RefuseOnly(no))
	}
	if offer.Gathers {
		i.terms.Tell(News{who, "is ready and waits for the others"})
		select {
		case <-i.all:
		case err := <-steps:
			return lost(err)
		case <-i.ctx.Done():
			return i.turnAway(t, steps)
		}
	}
	i.mu.Lock()
	i.seats.reach(to, granted) // from here on the machine may have the secret
	grant := Grant{
		RunFile: i.roster.final, Secret: i.terms.Secret, Rank: i.seats.rank(to), Port: to.port, QUIC: i.terms.QUIC,
		Number: 2 + i.seats.index(to.id),
	}
	i.mu.Unlock()
	t.Stream.SetWriteDeadline(time.Now().Add(handshake.Timeout))
	if err := say(t, aboutGrant, grant); err != nil {
		return err
	}
	late := time.NewTimer(writeTime)
	defer late.Stop()
	select {
	case err := <-steps:
		if err != nil {
			return err
		}
	case <-late.C:
		return errLate
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.seats.reach(to, joined)
	return nil
}

var (
	errLate = errors.New("handover: a machine has not written its files in time")
	errGone = errors.New("handover: a machine has gone")
)

// lost returns the error of a machine that goes where it should wait.
func lost(err error) error {
	if err == nil {
		return errGone
	}
	return err
}

// listen reads the messages of a machine after its request: that it accepts, and that it has written its files. An
// error ends them.
func (i *Invitation) listen(t *handshake.Talk) <-chan error {
	steps := make(chan error, 2)
	i.wg.Go(func() {
		for _, about := range []handshake.Subject{aboutReady, aboutDone} {
			_, err := t.Expect(about, 0)
			steps <- err
			if err != nil {
				return
			}
		}
	})
	return steps
}

// await waits for the next message of a machine.
func (i *Invitation) await(t *handshake.Talk, steps <-chan error) error {
	select {
	case err := <-steps:
		return err
	case <-i.ctx.Done():
		return i.turnAway(t, steps)
	}
}

// turnAway tells a machine that the invitation is over, and waits until it has heard that.
func (i *Invitation) turnAway(t *handshake.Talk, steps <-chan error) error {
	text := errExpired.Error()
	if !errors.Is(context.Cause(i.ctx), errExpired) {
		text = "the invitation was ended on " + handshake.Printable(i.hello.Host)
	}
	no := handshake.Refusal(handshake.RunOver, "%s", text)
	t.Stream.SetReadDeadline(time.Now().Add(time.Second))
	if t.RefuseOnly(no) == nil {
		<-steps
	}
	return no
}

// consent notes that a machine accepts. Of Gathered, the last one completes the roster.
func (i *Invitation) consent(by *seat) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.seats.reach(by, ready)
	if i.seats.manner != Gathered || i.roster.members != nil || !i.seats.complete() {
		return nil
	}
	members := []Member{{i.terms.Self, []string{i.roster.own}}}
	for _, one := range i.seats.taken {
		members = append(members, Member{one.id.String(), []string{one.at}})
		i.seats.reach(one, granted) // the roster is fixed: the seat stays, whatever becomes of the connection
	}
	final, err := i.terms.Compose(members)
	if err != nil {
		i.cancel(err)
		return err
	}
	i.roster.members, i.roster.final = members, final
	close(i.all)
	return nil
}

// say sends a message in JSON.
func say(t *handshake.Talk, about handshake.Subject, what any) error {
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	return t.Say(about, body)
}
