// Package hall is where the members of a run ask each other for what their scripts give: their parts of calls, their
// models and the start of all. It knows no script, and keeps nothing.
package hall

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/core/protocol"
	ma "github.com/multiformats/go-multiaddr"

	views "gossiptrainer/gossip/view"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/join"
)

// hallProtocol is that of the streams on which a member asks another one for what its script gives.
const hallProtocol protocol.ID = "/gossiptrainer/hall/1.0.0"

// A Request names what a member asks of another one, for their scripts.
type Request struct {
	What  string   `json:"what"`
	To    views.ID `json:"to"` // who is asked: a process may come back with another id
	Round int      `json:"round,omitempty"`
	Call  int      `json:"call,omitempty"` // among those of the round
}

// An AbsentError says that a member has not what it was asked for, and never will.
type AbsentError struct{ Why string }

func (e *AbsentError) Error() string { return e.Why }

// A Give returns what the member from asks for. It may wait until ctx ends, and fails with an *AbsentError in vain.
type Give func(ctx context.Context, from string, r Request) ([]byte, error)

// A Hall is where the members of a run ask each other for what their scripts give. It outlives the seat of its member,
// because scripts call each other after the last round. Several goroutines may call its methods.
type Hall struct {
	process *join.Process
	give    Give
	detect  time.Duration // longest silence of a member that is asked
	ctx     context.Context
	cancel  context.CancelFunc

	mu      sync.Mutex
	closed  bool
	answers sync.WaitGroup // that are under way; none begins once closed
}

// Open begins to answer other members. A member that is silent for detect does not answer.
func Open(p join.Process, detect time.Duration, give Give) *Hall {
	h := &Hall{process: &p, give: give, detect: max(detect, 2*pulse)}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	p.Host.SetStreamHandler(hallProtocol, h.accept)
	return h
}

// Close ends all answers.
func (h *Hall) Close() {
	h.process.Host.RemoveStreamHandler(hallProtocol)
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.cancel()
	h.answers.Wait()
}

// begin reports whether an answer may begin. The caller ends it with answers.Done.
func (h *Hall) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.answers.Add(1)
	}
	return !h.closed
}

// The answer on a stream is signs of life, one each pulse, and then a verdict.
const (
	living  = iota // a sign of life
	given          // u64 length and the bytes
	missing        // u64 length and why there are none
)

const (
	mostAsked = 4 << 10   // bytes of a request
	mostWhy   = 1 << 10   // bytes of a reason
	pieceLen  = 256 << 10 // bytes that are written at once
	pulse     = 500 * time.Millisecond
)

// parse reads a request. It refuses fields that it does not know.
func parse(text []byte) (r Request, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return r, d.Decode(&r)
}

// addressesIn returns the multiaddrs of the address of a member, with spaces between them. It leaves out other words.
func addressesIn(text string) (all []ma.Multiaddr) {
	for _, field := range strings.Fields(text) {
		if a, err := ma.NewMultiaddr(field); err == nil {
			all = append(all, a)
		}
	}
	return all
}

// accept answers one request.
func (h *Hall) accept(s network.Stream) {
	defer s.Reset()
	if !h.begin() {
		return
	}
	defer h.answers.Done()
	stop := context.AfterFunc(h.ctx, func() { s.Reset() })
	defer stop()
	t := handshake.New(s)
	err := join.Greet(h.process, t)
	if err == nil {
		err = h.answer(t)
	}
	handshake.Tell(h.process.Refused, h.process.Log, "peer refused", err)
}

func (h *Hall) answer(t *handshake.Talk) error {
	t.Stream.SetDeadline(time.Now().Add(handshake.Timeout))
	text, err := t.Expect(handshake.AboutMember, mostAsked)
	if err != nil {
		return err
	}
	r, err := parse(text)
	if err != nil {
		return t.Refuse(handshake.Refusal(handshake.Protocol, "malformed request for what a script gives"))
	}
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	type found struct {
		body []byte
		err  error
	}
	done := make(chan found, 1)
	go func() {
		body, err := h.give(ctx, t.Peer.String(), r)
		done <- found{body, err}
	}()
	beat := time.NewTicker(pulse)
	defer beat.Stop()
	for {
		select {
		case <-beat.C:
			if err := h.write(t, []byte{living}); err != nil {
				return nil // who asks is gone, and asks again
			}
		case f := <-done:
			verdict := byte(given)
			if f.err != nil {
				absent, ok := errors.AsType[*AbsentError](f.err)
				if !ok {
					return nil
				}
				verdict, f.body = missing, []byte(absent.Why)[:min(len(absent.Why), mostWhy)]
			}
			head := binary.LittleEndian.AppendUint64([]byte{verdict}, uint64(len(f.body)))
			err := h.write(t, head)
			for len(f.body) > 0 && err == nil { // in pieces, so that a slow link is no silence
				n := min(len(f.body), pieceLen)
				err = h.write(t, f.body[:n])
				f.body = f.body[n:]
			}
			if err == nil {
				t.Part()
			}
			return nil
		}
	}
}

func (h *Hall) write(t *handshake.Talk, b []byte) error {
	t.Stream.SetWriteDeadline(time.Now().Add(h.detect))
	_, err := t.Stream.Write(b)
	return err
}

// Ask asks a member, once. It fails with an *AbsentError if the member has not what it is asked for, and otherwise with
// an error after which the caller may ask again. The bytes are at most most.
func (h *Hall) Ask(ctx context.Context, who views.Member, r Request, most int64) ([]byte, error) {
	key, err := peer.Decode(who.Key)
	if err != nil {
		return nil, fmt.Errorf("member %d: %w", who.ID, err)
	}
	h.process.Host.Peerstore().AddAddrs(key, addressesIn(who.Address), peerstore.PermanentAddrTTL)
	s, err := h.process.Host.Open(ctx, key, hallProtocol)
	if err != nil {
		return nil, err
	}
	defer s.Reset()
	stop := context.AfterFunc(ctx, func() { s.Reset() })
	defer stop()
	t := handshake.New(s)
	if err := join.Greet(h.process, t); err != nil {
		return nil, err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	t.Stream.SetWriteDeadline(time.Now().Add(h.detect))
	if err := t.Say(handshake.AboutMember, text); err != nil {
		return nil, err
	}
	return h.read(t, most)
}

// read reads the answer.
func (h *Hall) read(t *handshake.Talk, most int64) ([]byte, error) {
	for {
		if err := h.wait(t); err != nil {
			return nil, err
		}
		verdict, err := t.In.ReadByte()
		if err != nil {
			return nil, err
		}
		if verdict == living {
			continue
		}
		var length [8]byte
		if _, err := io.ReadFull(t.In, length[:]); err != nil {
			return nil, err
		}
		n := binary.LittleEndian.Uint64(length[:])
		if verdict == missing {
			most = mostWhy
		}
		if verdict > missing || n > uint64(most) {
			return nil, fmt.Errorf("an answer of %d bytes: at most %d", n, most)
		}
		body := make([]byte, n)
		for at := 0; at < len(body); {
			if err := h.wait(t); err != nil {
				return nil, err
			}
			end := min(at+pieceLen, len(body))
			if _, err := io.ReadFull(t.In, body[at:end]); err != nil {
				return nil, err
			}
			at = end
		}
		t.Part()
		if verdict == missing {
			return nil, &AbsentError{handshake.Printable(string(body))}
		}
		return body, nil
	}
}

func (h *Hall) wait(t *handshake.Talk) error {
	return t.Stream.SetReadDeadline(time.Now().Add(h.detect))
}
