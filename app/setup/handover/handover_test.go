package handover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/identity"
)

// A lan replaces multicast: machines on it hear of each other, unless it is silent.
type lan struct {
	silent bool
	away   bool // no host is there: give up soon
	mu     sync.Mutex
	here   []func(peer.AddrInfo)
	all    []peer.AddrInfo
}

func (l *lan) find(_ context.Context, h host.Host, found func(peer.AddrInfo)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.silent {
		return
	}
	me := peer.AddrInfo{ID: h.ID(), Addrs: h.Addrs()}
	for i, hear := range l.here {
		hear(me)
		found(l.all[i])
	}
	l.here, l.all = append(l.here, found), append(l.all, me)
}

// patience is zero for what does not come, and long for what does.
func (l *lan) patience() *patience {
	p := &patience{reach: time.Minute, hear: time.Minute}
	if l.silent {
		p.hear = time.Millisecond
	}
	if l.away {
		p.reach = time.Millisecond
	}
	return p
}

func ephemeral(t testing.TB) *identity.Identity {
	t.Helper()
	who, err := identity.Ephemeral()
	if err != nil {
		t.Fatal(err)
	}
	return who
}

func (l *lan) appear(t testing.TB, role Role) *Presence {
	t.Helper()
	return l.appearAs(t, role, ephemeral(t))
}

func (l *lan) appearAs(t testing.TB, role Role, who *identity.Identity) *Presence {
	t.Helper()
	p, err := Appear(Place{Identity: who, Role: role, Log: slog.New(slog.DiscardHandler), find: l.find,
		wait: l.patience()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// A board collects news.
type board struct {
	mu  sync.Mutex
	all []string
	new chan struct{}
}

func (b *board) tell(n News) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name, _, _ := strings.Cut(n.Machine, " ")
	b.all = append(b.all, strings.TrimSpace(name+" "+n.Text))
	select {
	case b.new <- struct{}{}:
	default:
	}
}

// await waits until the news have a text.
func (b *board) await(t *testing.T, text string) {
	t.Helper()
	for {
		b.mu.Lock()
		said := strings.Join(b.all, "\n")
		b.mu.Unlock()
		if strings.Contains(said, text) {
			return
		}
		select {
		case <-b.new:
		case <-t.Context().Done():
			t.Fatalf("the news are %q, want %q", said, text)
		}
	}
}

func terms(seats int, b *board) Terms {
	return Terms{
		Seats: seats, Valid: time.Minute, Addrs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}, Host: "alpha",
		Self: "self", Port: 4001, Secret: "sesame", Tell: b.tell,
		Offer: Offer{
			Program: Program{Version: "v1"}, Name: "lan", Machines: seats + 1, RunFile: "name: lan\n",
			Data: json.RawMessage(`{"fingerprint":"1"}`),
		},
		Compose: func(all []Member) (string, error) { return fmt.Sprintf("roster: %v\n", all), nil },
	}
}

// invite begins an invitation and serves it. The outcome comes on the channel.
func invite(t *testing.T, p *Presence, with Terms) (Token, <-chan error, *Outcome) {
	t.Helper()
	i, err := p.Invite(t.Context(), with)
	if err != nil {
		t.Fatal(err)
	}
	ended, outcome := make(chan error, 1), new(Outcome)
	go func() {
		var err error
		*outcome, err = i.Serve()
		ended <- err
	}()
	return i.Token, ended, outcome
}

var visitor = Visitor{Host: "beta", Program: Program{Version: "v1"}, Port: 4002}

func visit(t *testing.T, p *Presence, to Token) *Visit {
	t.Helper()
	v, err := p.Visit(t.Context(), to, visitor)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

func news() *board { return &board{new: make(chan struct{}, 1)} }

func TestMachinesGetRunFileAndSecret(t *testing.T) {
	l, b := new(lan), news()
	with := terms(2, b)
	to, ended, outcome := invite(t, l.appear(t, Host), with)
	for n := range 2 {
		v := visit(t, l.appear(t, Guest), to)
		if v.Offer.RunFile != with.Offer.RunFile || v.Offer.Gathers || string(v.Offer.Data) != string(with.Offer.Data) ||
			!strings.HasPrefix(v.From, "alpha (") {
			t.Errorf("offer %+v from %s", v.Offer, v.From)
		}
		if g, err := v.Accept(); err != nil || g.Secret != "sesame" || g.RunFile != with.Offer.RunFile ||
			g.Rank != Unranked || g.Number != 2+n {
			t.Errorf("grant %+v, error %v", g, err)
		}
		if err := v.Finish(); err != nil {
			t.Error(err)
		}
		b.await(t, fmt.Sprintf("beta has joined: %d of 3 machines are here", 2+n))
	}
	if err := <-ended; err != nil || outcome.Joined != 2 || outcome.Members != nil {
		t.Errorf("%+v, error %v", outcome, err)
	}
	unanswered(t, to)
}

// unanswered checks that no machine answers a token.
func unanswered(t *testing.T, to Token) *UnreachableError {
	t.Helper()
	_, err := (&lan{silent: true, away: true}).appear(t, Guest).Visit(t.Context(), to, visitor)
	away, ok := errors.AsType[*UnreachableError](err)
	if !ok {
		t.Fatalf("error %v, want that no machine answers", err)
	}
	return away
}

// refused checks that a visit is refused with these words.
func refused(t *testing.T, p *Presence, to Token, as Visitor, words ...string) {
	t.Helper()
	_, err := p.Visit(t.Context(), to, as)
	no, ok := errors.AsType[*handshake.RefusedError](err)
	if !ok {
		t.Errorf("error %v, want a refusal", err)
		return
	}
	for _, w := range words {
		if !strings.Contains(no.Detail, w) {
			t.Errorf("%q does not say %q", no.Detail, w)
		}
	}
}

func TestATokenAdmitsSoManyMachines(t *testing.T) {
	l, b := new(lan), news()
	to, _, _ := invite(t, l.appear(t, Host), terms(1, b))
	who := ephemeral(t)
	first := l.appearAs(t, Guest, who)
	v := visit(t, first, to)
	refused(t, l.appear(t, Guest), to, visitor, "this token has been used: it admits 1")
	refused(t, first, to, visitor, "the identity of this machine is joining already")
	v.Close()
	b.await(t, "beta has gone before it joined")
	v = visit(t, l.appear(t, Guest), to) // the seat is free again
	if g, err := v.Accept(); err != nil || g.Secret != "sesame" {
		t.Errorf("%+v, error %v", g, err)
	}
}

// A machine whose connection is lost after it has the secret may come again, and no other one in its place.
func TestAMachineMayComeAgain(t *testing.T) {
	l, b := new(lan), news()
	to, ended, _ := invite(t, l.appear(t, Host), terms(1, b))
	p := l.appear(t, Guest)
	v := visit(t, p, to)
	if _, err := v.Accept(); err != nil {
		t.Fatal(err)
	}
	v.t.Stream.Reset()
	b.await(t, "its connection was lost: type the same command there again")
	refused(t, l.appear(t, Guest), to, visitor, "has been used")
	v = visit(t, p, to)
	if _, err := v.Accept(); err != nil {
		t.Fatal(err)
	}
	v.Refuse(errors.New("no space left"))
	b.await(t, "beta has not joined, and says: no space left")
	v = visit(t, p, to)
	if _, err := v.Accept(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(v.Finish(), <-ended); err != nil {
		t.Error(err)
	}
}

func TestAnotherTokenIsRefused(t *testing.T) {
	l, b := new(lan), news()
	to, _, _ := invite(t, l.appear(t, Host), terms(1, b))
	guess, elsewhere := to, to
	guess.Key[0]++
	_, err := l.appear(t, Guest).Visit(t.Context(), guess, visitor)
	if no, ok := errors.AsType[*handshake.UnprovenError](err); !ok ||
		!strings.Contains(no.Error()+no.Hint(), "the key of the token is not that of the invitation") {
		t.Errorf("error %v, want that the token is another one", err)
	}
	elsewhere.Inviter = ephemeral(t).Peer()
	unanswered(t, elsewhere) // a machine with another key does not pass for the host
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.all) > 0 {
		t.Errorf("strangers make news: %q", b.all)
	}
}

func TestAnotherVersionIsRefused(t *testing.T) {
	l, b := new(lan), news()
	to, _, _ := invite(t, l.appear(t, Host), terms(1, b))
	as := visitor
	as.Program = Program{Version: "v2", Commit: "0123456789abcdef"}
	refused(t, l.appear(t, Guest), to, as, "another version of the program: here v2 (0123456789ab), on alpha v1")
	b.await(t, "beta was refused: another version of the program: here v1")
}

func TestARosterIsGatheredWithoutMulticast(t *testing.T) {
	l, b := &lan{silent: true}, news()
	with := terms(2, b)
	to, ended, outcome := invite(t, l.appear(t, Host), with)
	visits := []*Visit{visit(t, l.appear(t, Guest), to), visit(t, l.appear(t, Guest), to)}
	b.await(t, "multicast does not arrive at beta")
	var wg sync.WaitGroup
	grants := make([]Grant, 2)
	for n, v := range visits {
		if !v.Offer.Gathers {
			t.Error("the offer does not say that it waits for all")
		}
		wg.Go(func() {
			var err error
			if grants[n], err = v.Accept(); err != nil {
				t.Error(err)
			}
			v.Finish()
		})
		b.await(t, "beta is ready and waits for the others")
	}
	wg.Wait()
	if err := <-ended; err != nil || len(outcome.Members) != 3 {
		t.Fatalf("%+v, error %v", outcome, err)
	}
	const there = "/ip4/127.0.0.1/tcp/4002"
	want := fmt.Sprintf("roster: [{self [/ip4/127.0.0.1/tcp/4001]} {%s [%s]} {%s [%s]}]\n",
		visits[0].t.Stream.Conn().LocalPeer(), there, visits[1].t.Stream.Conn().LocalPeer(), there)
	for n, g := range grants {
		if g.RunFile != want || g.Rank != 1+n || g.Port != 4002 {
			t.Errorf("machine %d: %+v, want %s", n, g, want)
		}
	}
}

func TestSeatsKeepToTheFirstManner(t *testing.T) {
	ids, home := []peer.ID{"a", "b", "c", "d"}, netip.MustParseAddr("10.0.0.1")
	s := seats{total: 2}
	if _, no := s.enter("a", home, "alpha", true); no != nil || s.manner != Multicast {
		t.Errorf("%v, manner %d", no, s.manner)
	}
	if _, no := s.enter("b", home, "alpha", false); no == nil || !strings.Contains(no.Detail, "--roster") {
		t.Errorf("%v, want the fix for a machine that hears nothing", no)
	}
	s = seats{total: 2, manner: Listed, listed: ids[:3]}
	if _, no := s.enter("d", home, "alpha", true); no == nil || no.Reason != handshake.Stranger {
		t.Errorf("%v, want that it is not listed", no)
	}
	c, no := s.enter("c", home, "alpha", false)
	if no != nil || s.rank(c) != 2 {
		t.Errorf("%v, rank %d", no, s.rank(c))
	}
	s = seats{total: 3, manner: Gathered}
	for _, id := range ids[:3] {
		if _, no := s.enter(id, home, "alpha", true); no != nil {
			t.Error(no)
		}
	}
	s.leave(s.taken[0])
	if ranks := []int{s.rank(s.taken[0]), s.rank(s.taken[1])}; !slices.Equal(ranks, []int{1, 2}) {
		t.Errorf("ranks %v after one has left", ranks)
	}
}

// A machine with a copy of another one's key is told so, also by the machine that has the key itself.
func TestAMachineWithACopiedKeyIsRefused(t *testing.T) {
	home, away := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	s := seats{total: 2}
	first, no := s.enter("a", home, "alpha", true)
	if no != nil {
		t.Fatal(no)
	}
	s.reach(first, granted)
	s.leave(first)
	if _, no := s.enter("a", away, "alpha", true); no != nil {
		t.Errorf("a machine whose connection was lost: %v", no)
	}
	s.reach(first, joined)
	s.leave(first)
	if _, no := s.enter("a", home, "alpha", true); no == nil || no.Reason != handshake.Duplicate ||
		!strings.Contains(no.There, "takes part already: it has joined from 10.0.0.2") {
		t.Errorf("%v, want that the key is a copy", no)
	}
	if _, no := s.enter("a", away, "alpha", true); no != nil {
		t.Errorf("the same machine again: %v", no)
	}
	l, b, who := new(lan), news(), ephemeral(t)
	with := terms(1, b)
	with.Self = who.ID()
	to, _, _ := invite(t, l.appear(t, Host), with)
	refused(t, l.appearAs(t, Guest, who), to, visitor, "takes part already: alpha, which invites")
	b.await(t, "beta was refused: a machine with the identity of this one takes part already")
}

// A token that expires turns away the machines that wait, and says so at both ends.
func TestATokenExpires(t *testing.T) {
	l, b := &lan{silent: true}, news()
	i, err := l.appear(t, Host).Invite(t.Context(), terms(2, b))
	if err != nil {
		t.Fatal(err)
	}
	v := visit(t, l.appear(t, Guest), i.Token)
	go func() {
		b.await(t, "is ready and waits")
		i.cancel(errExpired)
	}()
	_, err = v.Accept()
	no, ok := errors.AsType[*handshake.RefusedError](err)
	if !ok || !strings.Contains(no.Detail, "the token has expired") {
		t.Errorf("error %v", err)
	}
	_, err = i.Serve()
	if e, ok := errors.AsType[*ExpiredError](err); !ok || e.Joined != 0 ||
		!strings.Contains(err.Error(), "0 of 2 machines") {
		t.Errorf("error %v", err)
	}
	i.Token.Expires = time.Now().Add(-time.Hour)
	if e := unanswered(t, i.Token); e.Ended.IsZero() || !strings.Contains(e.Hint(), "expired at") {
		t.Errorf("error %v, hint %s", e, e.Hint())
	}
}

// The end of an invitation, by Ctrl-C, does so as well.
func TestAnInvitationIsEnded(t *testing.T) {
	l, b := &lan{silent: true}, news()
	ctx, cancel := context.WithCancelCause(t.Context())
	i, err := l.appear(t, Host).Invite(ctx, terms(2, b))
	if err != nil {
		t.Fatal(err)
	}
	v := visit(t, l.appear(t, Guest), i.Token)
	why := errors.New("stopped")
	cancel(why)
	_, err = v.Accept()
	no, ok := errors.AsType[*handshake.RefusedError](err)
	if !ok || !strings.Contains(no.Detail, "the invitation was ended on alpha") {
		t.Errorf("error %v", err)
	}
	if _, err := i.Serve(); !errors.Is(err, why) {
		t.Errorf("error %v, want the cause", err)
	}
}

func TestAGuestAnswersNoCaller(t *testing.T) {
	l := new(lan)
	guest, caller := l.appear(t, Guest), l.appear(t, Guest)
	<-caller.await(guest.host.ID())
	<-guest.await(caller.host.ID())
	if caller.Others() != 1 || guest.Others() != 1 {
		t.Errorf("%d and %d others, want 1", guest.Others(), caller.Others())
	}
	caller.wait.reach = time.Second
	if s, err := caller.reach(t.Context(), guest.host.ID()); err == nil {
		t.Errorf("a guest has let in a caller: %v", s)
	}
}
