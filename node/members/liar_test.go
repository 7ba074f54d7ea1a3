package members

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/member"
	"gossiptrainer/gossip/state"
	views "gossiptrainer/gossip/view"
	"gossiptrainer/internal/wire"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/internal/wire/still"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/join"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// pretends lets a machine send letters in the name of a member.
func (m *machine) pretends(t *testing.T, name views.ID, to *machine, l letter) *postOffice {
	t.Helper()
	o := &postOffice{process: &m.Peer, self: name, log: m.Log, detect: time.Second, mostPayload: 1 << 20,
		room: newRoom(nil), inbox: make(chan arrival, 8), lost: make(chan id, 8), leaves: make(chan struct{}),
		over: make(chan struct{}), lanes: map[id]*[lanes]*lane{}}
	o.book.enter(views.Member{ID: to.seat.ID(), Key: to.Host.ID().String(), Address: addressOf(to.Host.Addrs())})
	o.open()
	o.send(to.seat.ID(), l)
	t.Cleanup(o.close)
	return o
}

// A machine without the secret gets no place, and one with it sends no letters in the name of another.
func TestStrangersAndLiarsChangeNothing(t *testing.T) {
	t.Parallel()
	j := job{dim: 100, rounds: 200, kind: topology.Ring, pause: 5 * time.Millisecond}
	all := founded(t, j, 3)
	leave := letter{Letter: member.Letter{Council: &council.Message{Word: &council.Word{Leave: true}}}}
	bye := letter{Letter: member.Letter{Council: &council.Message{Word: &council.Word{Bye: true}}}}
	stranger := newMachine(t, j, "not the secret of this run 8")
	stranger.Host.Peerstore().AddAddrs(all[1].Host.ID(), all[1].Host.Addrs(), time.Hour)
	g := guest{Peer: stranger.Peer, process: 9}
	_, err := g.ask(t.Context(), all[1].Host.ID())
	if _, unproven := errors.AsType[*handshake.UnprovenError](err); !unproven {
		t.Errorf("a stranger asks: error %v", err)
	}
	stranger.pretends(t, 2, all[1], leave)
	liar := newMachine(t, j, secret)
	liar.pretends(t, 2, all[1], leave)
	another := newMachine(t, j, secret)
	another.pretends(t, 0, all[1], bye)
	until(t, "refusals", func() bool {
		by := all[1].Refused.Read()
		return by["impostor"] >= 2 && by["refused join secret"] >= 2
	})
	if log := finished(t, all...); log.Len() != 1 {
		t.Errorf("views %v", reasons(log))
	}
}

// A member that sends coded messages which nothing decodes ends no other one. Its own messages count.
func TestMalformedCodingEndsNoMember(t *testing.T) {
	t.Parallel()
	all := founded(t, job{dim: 1000, rounds: 300, kind: topology.Ring, pause: 5 * time.Millisecond, coder: entropy.FSE}, 3)
	all[2].Host.Peerstore().AddAddrs(all[1].Host.ID(), all[1].Host.Addrs(), time.Hour)
	for _, spoil := range []int{0, 5, 15, 16, 25, 60} {
		s, err := all[2].Host.Open(t.Context(), all[1].Host.ID(), letterProtocol)
		if err != nil {
			t.Fatal(err)
		}
		guest := all[2].Peer
		guest.Hello.Lineage = all[0].Hello.Epoch
		if err := join.Greet(&guest, handshake.New(s)); err != nil {
			t.Fatal(err)
		}
		head := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32([]byte{bulk}, 2), 1)
		if _, err := s.Write(append(head, coded(t, entropy.Huff0, spoil)...)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Reset() })
	}
	until(t, "refusals", func() bool { return all[1].Refused.Read()["malformed letter"] >= 4 })
	if log := finished(t, all...); log.Len() != 1 {
		t.Errorf("views %v", reasons(log))
	}
}

// A guest with another run file learns why it is refused.
func TestGuestsLearnWhyTheyAreRefused(t *testing.T) {
	t.Parallel()
	j := job{dim: 100, rounds: 150, kind: topology.Ring, pause: 5 * time.Millisecond}
	all := founded(t, j, 3)
	ask := func(m *machine) *handshake.RefusedError {
		found := make(chan peer.AddrInfo, 1)
		found <- peer.AddrInfo{ID: all[0].Host.ID(), Addrs: all[0].Host.Addrs()}
		g := guest{Peer: m.Peer, process: 5}
		_, err := g.find(t.Context(), found)
		no, _ := errors.AsType[*handshake.RefusedError](err)
		return no
	}
	other := newMachine(t, j, secret)
	other.Hello.Declare([]handshake.Section{{Name: "train", JSON: []byte(`{"rounds":7}`)}})
	if no := ask(other); no == nil || no.Detail != "train.rounds is 7 here and 150 there" {
		t.Errorf("another run file: %v", no)
	}
	onward := newMachine(t, j, secret)
	onward.Host.Peerstore().AddAddrs(all[0].Host.ID(), all[0].Host.Addrs(), time.Hour)
	onward.Hello.Declare([]handshake.Section{{Name: "membership", JSON: []byte(`{"parent":"7/1"}`)}})
	g := guest{Peer: onward.Peer, process: 6}
	_, err := g.ask(t.Context(), all[0].Host.ID())
	no, _ := errors.AsType[*handshake.RefusedError](err)
	if no == nil || no.Permanent() || !strings.Contains(no.Advice, "give peer run --without-majority a copy of the run") {
		t.Errorf("a process that goes on from another run: error %v", err)
	}
	plain := newMachine(t, j, secret)
	plain.Hello.Declare([]handshake.Section{{Name: "membership", JSON: []byte(`{"parent":""}`)}})
	if no := ask(plain); no == nil || !no.Permanent() || no.Reason != handshake.OtherSection {
		t.Errorf("a process without a parent: %v", no)
	}
	finished(t, all...)
}

func TestAFullRunRefusesGuests(t *testing.T) {
	j := job{dim: 10, rounds: 400, kind: topology.Ring, pause: 5 * time.Millisecond}
	m := newMachine(t, j, secret)
	o := m.options()
	o.Member.Council.Most = 1
	var err error
	self := views.Member{Key: m.Host.ID().String(), Address: addressOf(m.Host.Addrs())}
	if m.seat, err = Found(o, []views.Member{self}, 0); err != nil {
		t.Fatal(err)
	}
	m.run(t)
	late := newMachine(t, j, secret)
	late.Host.Peerstore().AddAddrs(m.Host.ID(), m.Host.Addrs(), time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	g := guest{Peer: late.Peer, process: 5}
	_, err = g.ask(ctx, m.Host.ID())
	no, ok := errors.AsType[*handshake.RefusedError](err)
	if !ok || no.Detail != "the run is full: it has 1 members, and membership.max is 1" {
		t.Errorf("error %v", err)
	}
	close(m.leave) // the last member ends the run
	<-m.done
	if m.err != nil || m.out.Standing != member.Left {
		t.Errorf("standing %v, error %v", m.out.Standing, m.err)
	}
}

// examples has a letter of each kind.
func examples() []letter {
	f := &gossip.Frame{From: 2, Kind: gossip.Repair, Round: 9, Hop: 1, Piece: 3, Note: 1 << 40, Payload: []byte("payload")}
	return []letter{
		{},
		{Letter: member.Letter{Council: &council.Message{Raft: []byte("raft")}}},
		{Letter: member.Letter{Council: &council.Message{Word: &council.Word{Seq: 4, Leave: true,
			Report: views.Report{ID: 1, Promise: 5, Next: 4, State: true, Held: []views.Held{{ID: 2, Exchanges: []int{3}}}},
			Asks:   []council.Newcomer{{Member: views.Member{Name: "loft", Key: "k"}, Process: 7}}}}}},
		{Letter: member.Letter{Frame: f, View: 3}},
		{Letter: member.Letter{Want: &member.Want{Sender: 1, Exchange: 70000, State: true}}},
		{Letter: member.Letter{Passed: 12}},
		{piece: &part{exchange: 4, whole: 100, at: 20, sum: [sumLen]byte{1, 2}, data: []byte("data")}},
		{finals: []final{{id: 1, digest: [sumLen]byte{3}, rounds: 9, views: 2, open: true,
			score: Score{0.5, math.NaN()}}, {id: 5}}},
	}
}

// read reads a letter.
func read(text []byte, payload int) (letter, error) {
	lr := letterReader{payload: payload, room: newRoom(nil)}
	return lr.next(bytes.NewReader(text))
}

// coded returns the bytes of a letter with a coded message, in which a byte is spoilt, −1: none.
func coded(t testing.TB, by entropy.Coder, spoil int) []byte { return codedAs(t, by, by, spoil) }

// codedAs is coded for a letter that names another coder.
func codedAs(t testing.TB, named, by entropy.Coder, spoil int) []byte {
	t.Helper()
	payload := bytes.Repeat([]byte{1, 2, 1, 1, 3, 1, 1, 2}, 100)
	encoder, err := entropy.NewEncoder(by, entropy.Costs{})
	if err != nil {
		t.Fatal(err)
	}
	c := &coding{}
	c.coded, c.by, err = encoder.Encode(nil, payload, quant.Bytes(len(payload)), 0)
	if err != nil || c.by != by {
		t.Fatalf("coder %v, error %v", c.by, err)
	}
	if spoil >= 0 {
		c.coded[spoil%len(c.coded)] ^= 0x55
	}
	c.by = named
	text, err := appendLetter(nil, letter{coding: c, Letter: member.Letter{View: 3,
		Frame: &gossip.Frame{From: 2, Kind: gossip.Data, Round: 9, Payload: payload}}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Coded messages are read back, and those that are malformed are refused.
func TestCodedLettersAreReadBack(t *testing.T) {
	for _, by := range []entropy.Coder{entropy.Huff0, entropy.FSE, entropy.Zstd, entropy.Bzip2} {
		text := coded(t, by, -1)
		l, err := read(text, 800)
		if err != nil || !bytes.Equal(l.Frame.Payload[:8], []byte{1, 2, 1, 1, 3, 1, 1, 2}) || len(l.Frame.Payload) != 800 {
			t.Fatalf("%v: %+v, error %v", by, l.Frame, err)
		}
		if len(text) >= 800 {
			t.Errorf("%v: a letter of %d bytes for a payload of 800", by, len(text))
		}
		if _, err := read(text, 799); !errors.Is(err, errLetter) || !errors.Is(err, entropy.ErrCoded) {
			t.Errorf("%v: a payload that is too long: error %v", by, err)
		}
		if _, err := read(coded(t, by, 2), 800); !errors.Is(err, errLetter) || !errors.Is(err, entropy.ErrCoded) {
			t.Errorf("%v: a prefix that is malformed: error %v", by, err)
		}
	}
	if _, err := read(codedAs(t, still.Coder, entropy.Huff0, -1), 800); !errors.Is(err, errLetter) {
		t.Errorf("a payload with still parts: error %v", err)
	}
	if _, err := read(codedAs(t, entropy.FSE, entropy.Huff0, -1), 800); !errors.Is(err, errLetter) {
		t.Errorf("a payload of another coder: error %v", err)
	}
}

func TestLettersAreReadBack(t *testing.T) {
	for _, l := range examples() {
		text, err := appendLetter(nil, l)
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(text, 100)
		if err != nil {
			t.Fatalf("kind %d: %v", l.kind(), err)
		}
		again, err := appendLetter(nil, got)
		if err != nil || !bytes.Equal(again, text) || got.kind() != l.kind() {
			t.Errorf("kind %d is read as kind %d: %q, want %q", l.kind(), got.kind(), again, text)
		}
		if _, err := read(text[:len(text)-1], 100); err == nil {
			t.Errorf("kind %d: a letter that is cut off is read", l.kind())
		}
		longer := slices.Clone(text)
		longer[4] = 0x40 // 2^30 bytes
		if _, err := read(longer, 100); !errors.Is(err, errLetter) {
			t.Errorf("kind %d: a letter that is too long: error %v", l.kind(), err)
		}
	}
}

func FuzzLetter(f *testing.F) {
	for _, l := range examples() {
		text, err := appendLetter(nil, l)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, by := range []entropy.Coder{entropy.Huff0, entropy.FSE, entropy.Zstd, entropy.Bzip2} {
		for _, spoil := range []int{-1, 0, 16, 25, 60} {
			f.Add(coded(f, by, spoil))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := read(text, 1<<10)
		if err != nil {
			return
		}
		again, err := appendLetter(nil, l)
		if err != nil {
			t.Fatalf("a letter that was read cannot be written: %v", err)
		}
		const coder = wire.LetterHead + 5 // and the kind of the frame, in the lower bits
		switch {
		case l.kind() == word: // JSON has many forms
		case l.kind() == frame && text[coder]>>4 != 0:
			if back, err := read(again, 1<<10); err != nil || !bytes.Equal(back.Frame.Payload, l.Frame.Payload) {
				t.Errorf("a message that was coded is read as %+v, then as %+v, error %v", l.Frame, back.Frame, err)
			}
		case !bytes.Equal(again, text[:len(again)]):
			t.Errorf("%x is written as %x", text, again)
		}
		if l.piece != nil {
			a := assembly{most: 1 << 10}
			_, _ = a.add(l.piece)
		}
	})
}

// A state is whole only if all its pieces come in their order and have the hash that they say.
func TestAStateTravelsInPieces(t *testing.T) {
	s := &state.Snapshot{Tensors: []state.Tensor{{Name: "a/b", Type: "F32", Data: make([]byte, 3*pieceLen)}}}
	s.Tensors[0].Data[pieceLen+5] = 7
	parts, err := partsOf(&member.State{Exchange: 6, Snapshot: s})
	if err != nil || len(parts) != 4 {
		t.Fatalf("%d pieces, error %v", len(parts), err)
	}
	try := func(most int64, parts ...*part) (*member.State, error) {
		a := assembly{most: most}
		for _, p := range parts {
			if s, err := a.add(p); s != nil || err != nil {
				return s, err
			}
		}
		return nil, nil
	}
	got, err := try(1<<20, parts...)
	if err != nil || got.Exchange != 6 || !bytes.Equal(got.Snapshot.Tensors[0].Data, s.Tensors[0].Data) {
		t.Errorf("error %v", err)
	}
	if got, err := try(1<<20, append([]*part{parts[0], parts[1]}, parts...)...); err != nil || got == nil {
		t.Errorf("a state that begins again: error %v", err)
	}
	forged := *parts[2]
	forged.data = slices.Clone(forged.data)
	forged.data[1]++
	for name, wrong := range map[string][]*part{
		"a gap": {parts[0], parts[2]}, "no beginning": {parts[1]}, "forged": {parts[0], parts[1], &forged, parts[3]},
	} {
		if got, err := try(1<<20, wrong...); !errors.Is(err, errLetter) {
			t.Errorf("%s: state %v, error %v", name, got, err)
		}
	}
	if _, err := try(1<<10, parts...); !errors.Is(err, errLetter) {
		t.Errorf("too large: error %v", err)
	}
}
