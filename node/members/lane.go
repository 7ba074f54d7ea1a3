package members

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/join"
	"gossiptrainer/node/socket"
)

// letterProtocol is that of the streams that carry letters, in one direction: who has something to say opens one. The
// other end answers each second with a byte, so that both know of a cut.
const letterProtocol protocol.ID = "/gossiptrainer/letters/1.0.0"

// A stream has one of two lanes, so that a large message never delays the words of the agreement.
const (
	fast  = iota // all letters but those of bulk
	bulk         // frames and states
	lanes        // how many there are
)

const (
	pulse      = 500 * time.Millisecond // between two signs of life
	mostQueued = 1 << 12                // letters that wait for a lane
)

// A lane sends letters to a member. It opens a stream when there is something to send, and again after a loss. Letters
// that wait then are lost: members ask again.
type lane struct {
	post *postOffice
	to   id
	peer peer.ID
	lane byte

	mu     sync.Mutex
	queue  []letter
	signal chan struct{} // holds a token if the queue may not be empty
	closed bool
}

// add puts a letter into the queue. A message or a state that waits there already is not added again.
func (l *lane) add(one letter) (lost bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case slices.ContainsFunc(l.queue, func(old letter) bool { return same(old, one) }):
		return false
	case len(l.queue) >= mostQueued || l.closed:
		return true
	}
	l.queue = append(l.queue, one)
	select {
	case l.signal <- struct{}{}:
	default:
	}
	return false
}

// same reports whether two letters carry the same message, or the same state.
func same(a, b letter) bool {
	switch {
	case a.Frame != nil && b.Frame != nil:
		f, g := a.Frame, b.Frame
		return a.View == b.View && f.Kind == g.Kind && f.From == g.From && f.Round == g.Round && f.Hop == g.Hop &&
			f.Piece == g.Piece
	case a.State != nil && b.State != nil:
		return a.State.Exchange == b.State.Exchange
	}
	return false
}

// take returns the letter that is first in the queue, which stays there until drop: so the same one is not added while
// it is written.
func (l *lane) take() (letter, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return letter{}, false
	}
	return l.queue[0], true
}

// drop removes the first letters of the queue, −1 all of them.
func (l *lane) drop(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n < 0 {
		n = len(l.queue)
	}
	l.queue = slices.Delete(l.queue, 0, n)
}

// run sends until ctx ends.
func (l *lane) run(ctx context.Context) {
	wait := socket.FirstRetry
	for ctx.Err() == nil {
		if _, ok := l.take(); !ok {
			select {
			case <-l.signal:
				continue
			case <-l.post.leaves:
				if _, more := l.take(); more {
					continue
				}
			case <-ctx.Done():
			}
			return
		}
		began := time.Now()
		err := l.serve(ctx)
		l.drop(-1)
		if ctx.Err() != nil || l.post.leaving() {
			return
		}
		l.post.log.Debug("no letters", "to", int(l.to), "err", err)
		l.post.parted(l.to)
		if time.Since(began) > 2*l.post.detect {
			wait = socket.FirstRetry
		}
		select {
		case <-time.After(wait/2 + rand.N(wait/2)):
		case <-l.post.leaves:
			return
		case <-ctx.Done():
			return
		}
		wait = min(2*wait, socket.LastRetry)
	}
}

// serve opens a stream and sends letters until it fails.
func (l *lane) serve(ctx context.Context) error {
	s, err := l.post.process.Host.Open(ctx, l.peer, letterProtocol)
	if err != nil {
		return err
	}
	defer s.Reset()
	stop := context.AfterFunc(ctx, func() { s.Reset() })
	defer stop()
	t := handshake.New(s)
	err = join.Greet(l.post.process, t)
	if no, refused := errors.AsType[*handshake.RefusedError](err); refused || err == nil {
		l.post.book.setApart(l.to, refused && no.Reason == handshake.OtherLineage)
	}
	if err != nil {
		return err
	}
	head := binary.LittleEndian.AppendUint32([]byte{l.lane}, uint32(l.post.self))
	if _, err := s.Write(binary.LittleEndian.AppendUint32(head, uint32(l.to))); err != nil {
		return err
	}
	if err := heed(t, l.post.detect); err != nil {
		return err
	}
	heard := make(chan error, 1)
	go func() {
		for {
			if err := heed(t, l.post.detect); err != nil {
				heard <- err
				s.Reset()
				return
			}
		}
	}()
	defer func() { s.Reset(); <-heard }()
	if l.lane == bulk {
		socket.Prompt(s.Conn())
	}
	if err = l.write(ctx, s); err == nil { // a reset would overtake the last letters
		if err = s.CloseWrite(); err == nil {
			err = <-heard
			heard <- err
		}
	}
	return err
}

// heed waits for a sign of life of the other end.
func heed(t *handshake.Talk, patience time.Duration) error {
	t.Stream.SetReadDeadline(time.Now().Add(patience))
	_, err := t.In.ReadByte()
	return err
}

// write sends the letters of the queue, and signs of life. It ends without an error once the member leaves.
func (l *lane) write(ctx context.Context, s network.Stream) error {
	idle := time.NewTicker(pulse)
	defer idle.Stop()
	var buf []byte
	for {
		one, ok := l.take()
		var err error
		switch {
		case ok && one.coding != nil && !one.coding.made():
			select {
			case <-one.coding.done:
			case <-idle.C:
				err = l.put(s, &buf, letter{})
			case <-ctx.Done():
				return ctx.Err()
			}
		case ok && one.State != nil:
			err = l.send(s, &buf, one)
			l.drop(1)
		case ok:
			err = l.put(s, &buf, one)
			l.drop(1)
		default:
			select {
			case <-l.signal:
			case <-idle.C:
				err = l.put(s, &buf, letter{})
			case <-l.post.leaves:
				if _, more := l.take(); !more {
					return nil
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err != nil {
			return err
		}
	}
}

// send sends a state in pieces.
func (l *lane) send(s network.Stream, buf *[]byte, one letter) error {
	parts, err := partsOf(one.State)
	for _, p := range parts {
		if err == nil {
			err = l.put(s, buf, letter{piece: p})
		}
	}
	return err
}

// put writes one letter. The other end may compute, but its machine reads: a letter that does not leave in time is a
// cut, unless the link is slow and bytes leave.
func (l *lane) put(s network.Stream, buf *[]byte, one letter) error {
	var err error
	if *buf, err = appendLetter((*buf)[:0], one); err != nil {
		return err
	}
	host, room := l.post.process.Host, l.post.process.Host.Pieces(l.peer)
	for rest := *buf; len(rest) > 0; {
		n := min(len(rest), room)
		if l.lane == bulk {
			host.Pace(l.peer, n, l.post.over)
		}
		s.SetWriteDeadline(time.Now().Add(writeTime))
		if _, err := s.Write(rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	if one.Frame != nil {
		l.post.sent.Add(one.Frame.MessageBytes(), len(*buf), one.Frame.Piece)
	}
	return nil
}

// writeTime is how long some bytes may take. Signs of life of the other end tell of a cut sooner.
const writeTime = 30 * time.Second

// accept reads the letters of a stream that another member has opened.
func (p *postOffice) accept(s network.Stream) {
	defer s.Reset()
	t := handshake.New(s)
	err := join.Greet(p.process, t)
	if err == nil {
		err = p.read(t)
	}
	if err != nil {
		handshake.Tell(p.process.Refused, p.log, "peer refused", err)
		p.log.Debug("letters end", "of", handshake.Short(t.Peer), "err", err)
	}
}

var (
	errImpostor = errors.New("letters in the name of a member whose key is another")
	errNotHere  = errors.New("no such member is known here yet, or the letters are for another process")
)

// read checks whose letters these are, and takes them.
func (p *postOffice) read(t *handshake.Talk) error {
	var head [1 + 4 + 4]byte
	t.Stream.SetReadDeadline(time.Now().Add(p.detect))
	if _, err := io.ReadFull(t.In, head[:]); err != nil {
		return err
	}
	from, to := id(binary.LittleEndian.Uint32(head[1:])), id(binary.LittleEndian.Uint32(head[5:]))
	key, known := p.book.key(from)
	switch {
	case known && key != t.Peer:
		p.process.Refused.Tell(p.log, "refused letters in the name of another member", "impostor", "of", int(from),
			"stranger", t.Peer)
		return errImpostor
	case !known || to != p.self:
		return errNotHere
	}
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.answer(t.Stream, stop)
	}()
	defer func() { close(stop); t.Stream.Reset(); <-done }()
	in, whole := patient{t, p.detect}, assembly{most: p.mostState}
	letters := letterReader{payload: p.mostPayload, room: p.room}
	for {
		l, err := letters.next(in)
		if err == nil && l.piece != nil {
			l.State, err = whole.add(l.piece)
		}
		switch {
		case errors.Is(err, errLetter):
			p.process.Refused.Tell(p.log, "refused a malformed letter", "malformed letter", "of", int(from), "why", err)
			return err
		case err != nil:
			return err
		case l.piece != nil && l.State == nil:
			continue
		}
		select {
		case p.inbox <- arrival{from, l}:
		case <-p.over:
			return nil
		}
	}
}

// A patient reader waits only so long for the next bytes. A large letter on a slow link may take longer.
type patient struct {
	t     *handshake.Talk
	allow time.Duration
}

func (p patient) Read(b []byte) (int, error) {
	p.t.Stream.SetReadDeadline(time.Now().Add(p.allow))
	return p.t.In.Read(b)
}

// answer writes signs of life until stop is closed.
func (p *postOffice) answer(s network.Stream, stop <-chan struct{}) {
	tick := time.NewTicker(pulse)
	defer tick.Stop()
	for {
		s.SetWriteDeadline(time.Now().Add(p.detect))
		if _, err := s.Write([]byte{0}); err != nil {
			s.Reset()
			return
		}
		select {
		case <-tick.C:
		case <-stop:
			return
		}
	}
}
