// Package handshake exchanges the messages of two peers before their first frame and at their end.
// They are the proof that both belong to a run, the hello, the settings that differ, the refusal, and
// the stop of a run.
//
// It exchanges and checks messages on one stream. It opens no stream, keeps no connection and decides
// nothing about a run: packages join and link do.
package handshake

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
)

// Timeout bounds the handshake of two peers.
const Timeout = 5 * time.Second

// CodeRefused is the stream error with which a refusing peer resets the stream, for a peer that misses
// the message. Codes from 0x1000 on belong to libp2p.
const CodeRefused network.StreamErrorCode = 0x401

// A Subject is the kind of a message, before the frames of a link or in a roll call.
type Subject uint8

// Subjects of messages.
const (
	aboutMe    Subject = 1 + iota // hello
	aboutNo                       // refusal
	AboutYes                      // consent
	aboutNonce                    // challenge
	aboutProof
	AboutBallot   // ballot of a roll call
	AboutPlace    // place in a run that has gone on
	aboutSettings // sections that differ
	AboutVector   // a vector: the request, signs of life, the answer
	AboutMember   // a process that asks to join, and the answers
)

// MaxMessage bounds a message, in bytes: a roll call's ballot with MaxWorkers ids.
const MaxMessage = 1 << 18

// A Talk is an exchange of short messages on a stream: subject u8, length u32
// little-endian, that many bytes.
type Talk struct {
	Stream network.Stream
	In     *bufio.Reader
	Peer   peer.ID
	Mine   Hello // after Greet
	Theirs Hello // after Greet

	proven bool // the other end has proven the secret on this stream
}

// New returns a Talk on a stream, for either end.
func New(s network.Stream) *Talk {
	return &Talk{Stream: s, In: bufio.NewReader(s), Peer: s.Conn().RemotePeer()}
}

// Say sends one message.
func (t *Talk) Say(about Subject, body []byte) error {
	msg := binary.LittleEndian.AppendUint32([]byte{byte(about)}, uint32(len(body)))
	_, err := t.Stream.Write(append(msg, body...))
	return err
}

// hear reads one message of at most limit bytes. It returns a refusal as a *RefusedError, or as an *UnprovenError if
// the other end has not proven the secret.
func (t *Talk) hear(limit int) (Subject, []byte, error) {
	about, body, err := readMessage(t.In, limit)
	if err != nil {
		return 0, nil, Explain(err)
	}
	if about == aboutNo {
		no := parseRefusal(body, t.Peer)
		if !t.proven {
			return about, nil, claimed(no)
		}
		no.Host = Printable(t.Theirs.Host)
		return about, nil, no
	}
	return about, body, nil
}

// Expect reads one message of at most limit bytes about want. It returns a refusal as hear does, and refuses any other
// message.
func (t *Talk) Expect(want Subject, limit int) ([]byte, error) {
	about, body, err := t.hear(limit)
	if err != nil {
		return nil, err
	}
	if about != want {
		return nil, t.Refuse(Refusal(Protocol, "message about %d, want %d", about, want))
	}
	return body, nil
}

func readMessage(r io.Reader, limit int) (Subject, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head[1:])
	if int64(n) > int64(max(limit, refusalMax)) {
		return 0, nil, fmt.Errorf("message of %d bytes, at most %d", n, limit)
	}
	body := make([]byte, n)
	_, err := io.ReadFull(r, body)
	return Subject(head[0]), body, err
}

// Refuse tells the other end why and returns the refusal, as an *UnprovenError if the other end has not proven the
// secret. It returns the other end's if that says that this process has a duplicate, which causes all other
// differences. It waits until the other end has read the message, because a reset would overtake it.
func (t *Talk) Refuse(no *RefusedError) error {
	t.Stream.SetReadDeadline(time.Now().Add(Timeout))
	if t.RefuseOnly(no) == nil {
		_, _, err := t.hear(refusalMax)
		if theirs, ok := errors.AsType[*RefusedError](err); ok && theirs.Reason == Duplicate {
			no = theirs
		}
		io.Copy(io.Discard, io.LimitReader(t.In, MaxMessage))
	}
	t.Stream.ResetWithError(CodeRefused)
	if !t.proven {
		return &UnprovenError{Peer: t.Peer.String(), Reason: no.Reason, Detail: no.Detail, Advice: no.Advice}
	}
	return no
}

// TurnAway lets both ends prove the secret, and then refuses the other one, which can rely on the reason. It first
// tells this end why the two part.
func (t *Talk) TurnAway(a *Admission, no *RefusedError, tell func(error)) {
	if err := t.admit(a); err != nil {
		tell(err)
		t.Stream.Reset()
		return
	}
	no.Peer = t.Peer.String()
	tell(no)
	_ = t.Refuse(no)
}

// RefuseOnly tells the other end why, and does not wait for an answer.
func (t *Talk) RefuseOnly(no *RefusedError) error {
	no.Peer, no.Host = t.Peer.String(), Printable(t.Theirs.Host)
	t.Stream.SetWriteDeadline(time.Now().Add(Timeout))
	if err := t.Say(aboutNo, no.append(nil)); err != nil {
		return err
	}
	return t.Stream.CloseWrite()
}

// Part ends a talk whose last message this end has said or heard. It returns when the other end has read all, or has
// gone. A write returns before its bytes leave, so that a reset, or the end of the process, would take them back.
func (t *Talk) Part() {
	t.Stream.SetDeadline(time.Now().Add(Timeout))
	if t.Stream.CloseWrite() == nil {
		io.Copy(io.Discard, io.LimitReader(t.In, MaxMessage))
	}
}

// Explain replaces the error of a stream that was reset with CodeRefused by a readable one.
func Explain(err error) error {
	var reset *network.StreamError
	if errors.As(err, &reset) && reset.Remote && reset.ErrorCode == CodeRefused {
		return errors.New("refused; the message with the reason was lost")
	}
	return err
}
