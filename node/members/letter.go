package members

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/member"
	views "gossiptrainer/gossip/view"
	"gossiptrainer/internal/wire"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/topology"
)

// A kind says what a letter holds. docs/format/letters.md has the bytes.
type kind uint8

const (
	alive  kind = iota // nothing: the sender lives
	raft               // a message of the library
	word               // a council.Word in JSON
	frame              // a frame of a view
	want               // asks for a message or a state
	piece              // a part of a state
	passed             // the sender has passed the end of the receiver
	finals             // the results that the sender knows
	kinds              // how many there are
)

// headLen is the length of kind u8 and length u32, which begin a letter.
const headLen = 5

// Bounds of letters, in bytes.
const (
	mostRaft   = 16 << 20 // a snapshot holds all records
	mostWord   = 1 << 20
	mostFinals = 1 << 16
	pieceLen   = 256 << 10 // of a state in one letter
)

// The lengths of the fixed parts.
const (
	wantLen   = 4 + 4 + 1
	pieceHead = 4 + 8 + 8 + sumLen // exchange, bytes of the whole, place of the piece, hash of the whole
	passedLen = 4
	finalLen  = 4 + sumLen + 4 + 4 + 1 + 8 + 8 // id, digest, rounds, views, open, loss, accuracy
	sumLen    = 32
)

// most returns how long a letter may be, where a frame has at most payload bytes of payload.
func (k kind) most(payload int) int {
	switch k {
	case raft:
		return mostRaft
	case word:
		return mostWord
	case frame:
		return wire.LetterLen(payload) - headLen
	case want:
		return wantLen
	case piece:
		return pieceHead + pieceLen
	case passed:
		return passedLen
	case finals:
		return mostFinals
	}
	return 0
}

// A letter is what one member sends to another. One of its parts is there; none says that the sender lives.
type letter struct {
	member.Letter         // State only on its way to the lane
	coding        *coding // of the message in Frame; nil: it travels as it is
	piece         *part   // of a state
	finals        []final // of all that the sender knows
	decoded       bool    // the message in Frame takes a place in a room until its member has it
}

// A part is a piece of the encoded state of a sponsor at the beginning of an exchange.
type part struct {
	exchange int
	whole    int64 // bytes of the state
	at       int64 // where the piece begins
	sum      [sumLen]byte
	data     []byte
}

// A final is what a member says at its end.
type final struct {
	id     id
	digest [sumLen]byte // of its model
	rounds int          // that it has done
	views  int          // records that it knows
	open   bool         // a change is under way, or the score is not known
	score  Score
}

// A Score is that of the model of a member at the end. NaN stands for none.
type Score struct{ Loss, Accuracy float64 }

// An id is that of a member.
type id = topology.Rank

var errLetter = errors.New("malformed letter")

// appendLetter appends the bytes of a letter.
func appendLetter(dst []byte, l letter) ([]byte, error) {
	at := len(dst)
	dst = append(dst, byte(l.kind()), 0, 0, 0, 0)
	dst, err := l.append(dst)
	if err != nil {
		return dst[:at], err
	}
	binary.LittleEndian.PutUint32(dst[at+1:], uint32(len(dst)-at-headLen))
	return dst, nil
}

func (l *letter) kind() kind {
	switch {
	case l.Council != nil && l.Council.Word != nil:
		return word
	case l.Council != nil:
		return raft
	case l.Frame != nil:
		return frame
	case l.Want != nil:
		return want
	case l.piece != nil:
		return piece
	case l.Passed > 0:
		return passed
	case l.finals != nil:
		return finals
	}
	return alive
}

func (l *letter) append(dst []byte) ([]byte, error) {
	u32 := binary.LittleEndian.AppendUint32
	switch l.kind() {
	case raft:
		dst = append(dst, l.Council.Raft...)
	case word:
		text, err := json.Marshal(l.Council.Word)
		if err != nil {
			return dst, fmt.Errorf("letter: %w", err)
		}
		dst = append(dst, text...)
	case frame:
		f := l.Frame
		k, ok := toWire[f.Kind]
		if !ok {
			return dst, fmt.Errorf("letter: frames of kind %v are not sent", f.Kind)
		}
		dst = u32(u32(dst, uint32(l.View)), uint32(f.From))
		coder, payload := l.coding.of(f)
		return wire.AppendFrame(dst, wire.Header{Kind: k, Coder: coder, Round: f.Round, Hop: f.Hop, Piece: f.Piece,
			Note: f.Note}, payload)
	case want:
		dst = append(u32(u32(dst, uint32(l.Want.Sender)), uint32(l.Want.Exchange)), flag(l.Want.State))
	case piece:
		p := l.piece
		dst = binary.LittleEndian.AppendUint64(u32(dst, uint32(p.exchange)), uint64(p.whole))
		dst = append(binary.LittleEndian.AppendUint64(dst, uint64(p.at)), p.sum[:]...)
		dst = append(dst, p.data...)
	case passed:
		dst = u32(dst, uint32(l.Passed))
	case finals:
		for _, f := range l.finals {
			dst = append(u32(dst, uint32(f.id)), f.digest[:]...)
			dst = append(u32(u32(dst, uint32(f.rounds)), uint32(f.views)), flag(f.open))
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(f.score.Loss))
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(f.score.Accuracy))
		}
	}
	return dst, nil
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// The kinds of frames that a machine sends.
var (
	toWire = map[gossip.FrameKind]wire.Kind{
		gossip.Data: wire.Data, gossip.Request: wire.Request, gossip.Repair: wire.Repair, gossip.Missing: wire.Missing,
	}
	fromWire = map[wire.Kind]gossip.FrameKind{
		wire.Data: gossip.Data, wire.Request: gossip.Request, wire.Repair: gossip.Repair, wire.Missing: gossip.Missing,
	}
)

// A letterReader reads the letters of one stream. A frame has at most payload bytes of payload, coded or not.
type letterReader struct {
	payload int
	decoder entropy.Decoder
	room    *room
}

// A room bounds the decoded messages that wait for their member, of all streams: a short one may become long.
type room struct {
	places chan struct{}
	over   <-chan struct{}
}

// decodedAtOnce is how many of them there are at most.
const decodedAtOnce = 2

func newRoom(over <-chan struct{}) *room { return &room{make(chan struct{}, decodedAtOnce), over} }

// enter waits for a place. It fails when the member ends.
func (r *room) enter() error {
	select {
	case r.places <- struct{}{}:
		return nil
	case <-r.over:
		return io.EOF
	}
}

func (r *room) leave() { <-r.places }

// next reads the next letter. It allocates no more than a letter of its kind may have.
func (lr *letterReader) next(in io.Reader) (letter, error) {
	var head [headLen]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return letter{}, err
	}
	k, n := kind(head[0]), binary.LittleEndian.Uint32(head[1:])
	if k >= kinds || int64(n) > int64(k.most(lr.payload)) {
		return letter{}, fmt.Errorf("%w: kind %d of %d bytes", errLetter, k, n)
	}
	body, err := readBody(in, int(n))
	if err != nil {
		return letter{}, err
	}
	return lr.parse(k, body)
}

// readBody reads n bytes. It allocates in proportion to the bytes that have come.
func readBody(in io.Reader, n int) ([]byte, error) {
	const step = 1 << 20
	body := make([]byte, min(n, step))
	for at := 0; ; {
		if _, err := io.ReadFull(in, body[at:]); err != nil {
			return nil, err
		}
		if at = len(body); at == n {
			return body, nil
		}
		body = append(body, make([]byte, min(n-at, 2*at))...)
	}
}

// most is the largest exchange, view and id in a letter.
const most = math.MaxInt32

// parse reads the body of a letter, which it keeps.
func (lr *letterReader) parse(k kind, body []byte) (l letter, err error) {
	r := reader{body: body}
	switch k {
	case raft:
		l.Council = &council.Message{Raft: body}
		return l, nil
	case word:
		l.Council = &council.Message{Word: new(council.Word)}
		return l, parseWord(body, l.Council.Word)
	case frame:
		return lr.frame(&r)
	case want:
		l.Want = &member.Want{Sender: id(r.number()), Exchange: r.number(), State: r.flag()}
	case piece:
		p := &part{exchange: r.number(), whole: r.long(), at: r.long()}
		copy(p.sum[:], r.take(sumLen))
		p.data, r.body = r.body, nil
		if p.at > p.whole || int64(len(p.data)) > p.whole-p.at || len(p.data) == 0 {
			return l, errLetter
		}
		l.piece = p
	case passed:
		if l.Passed = r.number(); l.Passed == 0 {
			return l, errLetter
		}
	case finals:
		if len(body) == 0 || len(body)%finalLen != 0 {
			return l, errLetter
		}
		for len(r.body) > 0 && r.err == nil {
			f := final{id: id(r.number())}
			copy(f.digest[:], r.take(sumLen))
			f.rounds, f.views, f.open = r.number(), r.number(), r.flag()
			f.score = Score{r.float(), r.float()}
			l.finals = append(l.finals, f)
		}
	}
	return l, r.end()
}

// parseWord reads a word. It refuses exchanges and ids that are out of range.
func parseWord(text []byte, w *council.Word) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(w); err != nil {
		return fmt.Errorf("%w: %v", errLetter, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errLetter
	}
	in := func(x int) bool { return x >= -1 && x <= most }
	sound := in(w.Report.Promise) && in(w.Report.Next) && in(int(w.Report.ID))
	for _, h := range w.Report.Held {
		sound = sound && in(int(h.ID))
		for _, x := range h.Exchanges {
			sound = sound && in(x)
		}
	}
	for _, t := range w.Report.Torn {
		sound = sound && in(int(t.Receiver)) && in(int(t.Sender)) && in(t.Exchange)
	}
	if !sound || views.CheckValues(w.Report.Values) != nil {
		return fmt.Errorf("%w: a report out of range", errLetter)
	}
	return nil
}

func (lr *letterReader) frame(r *reader) (l letter, err error) {
	l.View = r.number()
	from := id(r.number())
	if r.err != nil {
		return l, r.err
	}
	h, err := wire.ParseHeader(r.body, len(r.body))
	if err != nil {
		return l, fmt.Errorf("%w: %w", errLetter, err)
	}
	payload := r.body[wire.HeaderLen:]
	k, ok := fromWire[h.Kind]
	if !ok || h.Len != len(payload) || h.Round > most {
		return l, fmt.Errorf("%w: a frame of kind %v", errLetter, h.Kind)
	}
	err = wire.Verify(h, payload)
	if l.decoded = err == nil && h.Coder != entropy.Plain; l.decoded {
		if err := lr.room.enter(); err != nil {
			return letter{}, err
		}
		if payload, err = lr.decode(h.Coder, payload); err != nil {
			lr.room.leave()
		}
	}
	if err != nil {
		return letter{}, fmt.Errorf("%w: %w", errLetter, err)
	}
	l.Frame = &gossip.Frame{From: from, Kind: k, Round: h.Round, Hop: h.Hop, Piece: h.Piece, Note: h.Note,
		Payload: payload}
	return l, nil
}

// decode returns the payload that a coder has coded.
func (lr *letterReader) decode(by entropy.Coder, coded []byte) ([]byte, error) {
	n, err := entropy.Len(coded, lr.payload)
	if err != nil {
		return nil, err
	}
	payload := make([]byte, n)
	return payload, lr.decoder.Decode(payload, by, coded)
}

// A reader takes numbers from the beginning of a body.
type reader struct {
	body []byte
	err  error
}

func (r *reader) take(n int) []byte {
	if r.err != nil || len(r.body) < n {
		r.err = errLetter
		return make([]byte, n)
	}
	b := r.body[:n]
	r.body = r.body[n:]
	return b
}

// number reads a u32 that is at most most.
func (r *reader) number() int {
	n := binary.LittleEndian.Uint32(r.take(4))
	if n > most {
		r.err = errLetter
	}
	return int(n)
}

func (r *reader) float() float64 { return math.Float64frombits(binary.LittleEndian.Uint64(r.take(8))) }

// long reads a u64 that is at most 2^62.
func (r *reader) long() int64 {
	n := binary.LittleEndian.Uint64(r.take(8))
	if n > 1<<62 {
		r.err = errLetter
	}
	return int64(n)
}

// flag reads a byte that is 0 or 1.
func (r *reader) flag() bool {
	b := r.take(1)[0]
	if b > 1 {
		r.err = errLetter
	}
	return b == 1
}

// end returns the first error, or that bytes are left.
func (r *reader) end() error {
	if r.err == nil && len(r.body) > 0 {
		r.err = errLetter
	}
	return r.err
}
