package node

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
)

// helloTime bounds the first words of two peers.
const helloTime = 5 * time.Second

// codeRefused is the stream error a refusing peer leaves behind, for those who
// miss its words; codes from 0x1000 on are libp2p's own.
const codeRefused network.StreamErrorCode = 0x401

// What a message is about, before the frames of a link or in a roll call.
type subject uint8

const (
	aboutMe    subject = 1 + iota // hello
	aboutNo                       // refusal
	aboutYes                      // consent
	aboutNonce                    // challenge
	aboutProof
	aboutState
	aboutPlace    // in a run that goes on
	aboutSettings // of sections that differ
)

const (
	maxDetail  = 256
	maxMessage = 1 << 18 // a roll call's state with maxWorkers ids
)

// A talk is an exchange of short messages on a stream: subject u8, length u32
// little-endian, that many bytes.
type talk struct {
	stream network.Stream
	in     *bufio.Reader
	peer   peer.ID
	mine   hello // after greet, as are
	theirs hello
}

func newTalk(s network.Stream) *talk {
	return &talk{stream: s, in: bufio.NewReader(s), peer: s.Conn().RemotePeer()}
}

func (t *talk) say(about subject, body []byte) error {
	msg := binary.LittleEndian.AppendUint32([]byte{byte(about)}, uint32(len(body)))
	_, err := t.stream.Write(append(msg, body...))
	return err
}

// hear reads one message of at most limit bytes. A refusal comes back as the
// *RefusedError it tells of.
func (t *talk) hear(limit int) (subject, []byte, error) {
	about, body, err := readMessage(t.in, limit)
	if err != nil {
		return 0, nil, remoteReset(err)
	}
	if about == aboutNo {
		no := parseRefusal(body, t.peer)
		no.Host = printable(t.theirs.Host)
		return about, nil, no
	}
	return about, body, nil
}

// expect is hear for one subject.
func (t *talk) expect(want subject, limit int) ([]byte, error) {
	about, body, err := t.hear(limit)
	if err != nil {
		return nil, err
	}
	if about != want {
		return nil, t.refuse(&RefusedError{Reason: Protocol, Detail: fmt.Sprintf("message about %d, want %d", about, want)})
	}
	return body, nil
}

func readMessage(r io.Reader, limit int) (subject, []byte, error) {
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
	return subject(head[0]), body, err
}

// greet makes sure of the other end and exchanges hellos. Both ends speak first,
// which also makes libp2p settle the protocol of a new stream. judge may refuse
// what it hears.
func (t *talk) greet(a *admission, mine hello, judge func(theirs hello) *RefusedError) error {
	if err := t.admit(a); err != nil {
		return err
	}
	t.mine = mine
	if err := t.say(aboutMe, mine.append(nil)); err != nil {
		return err
	}
	body, err := t.expect(aboutMe, helloMax)
	if err != nil {
		return err
	}
	if t.theirs, err = parseHello(body); err != nil {
		return t.refuse(&RefusedError{Reason: Protocol, Detail: err.Error()})
	}
	if err := t.compareSections(); err != nil {
		return err
	}
	if no := judge(t.theirs); no != nil {
		return t.refuse(no)
	}
	return nil
}

// agree says yes and waits for theirs.
func (t *talk) agree() error {
	if err := t.say(aboutYes, nil); err != nil {
		return err
	}
	if _, err := t.expect(aboutYes, 0); err != nil {
		return err
	}
	return t.stream.SetDeadline(time.Time{})
}

// refuse tells the other end why and returns the refusal, or theirs if this
// process has a twin, of which all else is a consequence. It waits until the
// other end has read it, because a reset would overtake the words.
func (t *talk) refuse(no *RefusedError) error {
	t.stream.SetReadDeadline(time.Now().Add(helloTime))
	if t.sayNo(no) == nil {
		_, _, err := t.hear(refusalMax)
		if theirs, ok := errors.AsType[*RefusedError](err); ok && theirs.Reason == Twin {
			no = theirs
		}
		io.Copy(io.Discard, io.LimitReader(t.in, maxMessage))
	}
	t.stream.ResetWithError(codeRefused)
	return no
}

// sayNo tells the other end why and says nothing more.
func (t *talk) sayNo(no *RefusedError) error {
	no.Peer, no.Host = t.peer.String(), printable(t.theirs.Host)
	t.stream.SetWriteDeadline(time.Now().Add(helloTime))
	if err := t.say(aboutNo, no.append(nil)); err != nil {
		return err
	}
	return t.stream.CloseWrite()
}

// refusalMax bounds reason u8, section (length u8, 24 bytes), detail.
const refusalMax = 1 + 1 + maxSectionName + maxDetail

func (e *RefusedError) append(dst []byte) []byte {
	dst = append(dst, byte(e.Reason))
	dst = appendPadded(dst, e.Section[:min(len(e.Section), maxSectionName)], maxSectionName)
	return append(dst, e.Detail[:min(len(e.Detail), maxDetail)]...)
}

// parseRefusal reads what a peer says against this one.
func parseRefusal(b []byte, from peer.ID) *RefusedError {
	e := &RefusedError{Peer: from.String(), Reason: Protocol, Detail: "no reason that could be read", Remote: true}
	if len(b) < 1+1+maxSectionName || len(b) > refusalMax {
		return e
	}
	section, detail, ok := takePadded(b[1:], maxSectionName)
	if !ok {
		return e
	}
	e.Reason, e.Section, e.Detail = Reason(b[0]), printable(section), printable(string(detail))
	return e
}

// printable makes a stranger's text fit for a log or a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// remoteReset turns the code of a reset stream into words where there are any.
func remoteReset(err error) error {
	var reset *network.StreamError
	if errors.As(err, &reset) && reset.Remote && reset.ErrorCode == codeRefused {
		return errors.New("refused, for a reason that got lost")
	}
	return err
}
