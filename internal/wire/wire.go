// Package wire is the bytes of a frame: a header of 32 bytes, little-endian, and the payload.
//
//	 0        4        5      6      8        12       16       20      22         24              32
//	┌────────┬────────┬──────┬──────┬────────┬────────┬────────┬───────┬──────────┬───────────────┬─────────┐
//	│ length │version │ kind │ hop  │ round  │ crc32c │ epoch  │ piece │ reserved │     note      │ payload │
//	│  u32   │  u8    │ u8   │ u16  │  u32   │  u32   │  u32   │  u16  │   u16    │      u64      │ length  │
//	└────────┴────────┴──────┴──────┴────────┴────────┴────────┴───────┴──────────┴───────────────┴─────────┘
//
// The field length counts the bytes of the payload. The upper 4 bits of kind hold the coder of the payload (package
// entropy), 0 for none. A message travels in pieces, which the field piece numbers from 0 on. The field note carries a
// control value, 0 for none. The field epoch identifies the sending process. The field crc32c is the
// Castagnoli checksum of the other 28 header bytes followed by the payload. Sender and receiver are those of the link.
//
// The package reads and writes no stream and does not interpret payloads. docs/format/frames.md has worked examples.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"

	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/internal/wire/still"
)

// HeaderLen is the size of a header, the overhead of a frame.
const HeaderLen = 32

// LetterHead is what a letter of members has before the header of its frame: its kind and length, view and sender.
const LetterHead = 1 + 4 + 4 + 4

// LetterLen returns the bytes on a stream of a letter whose frame has n bytes of payload, see docs/format/letters.md.
func LetterLen(n int) int { return LetterHead + HeaderLen + n }

// Version is the only version of the format that this package reads. Version 1 knew no pieces.
const Version = 2

// A Kind says what a frame is for.
type Kind uint8

const (
	Data Kind = 1 // a piece of the message of (round, hop)
	// the sender has finished and leaves; it still answers requests. The payload may say why
	Bye     Kind = 2
	Request Kind = 3 // asks for the repair of a piece of the message of (round, hop)
	Repair  Kind = 4 // the repair of a piece of the message of (round, hop)
	Resend  Kind = 5 // asks for the message of (round, hop) and all later ones that the sender can receive
	Durable Kind = 6 // the sender has a checkpoint from before (round, hop) and will ask for nothing older
	Alive   Kind = 7 // heartbeat without a payload
	Member  Kind = 8 // about an edge: hop is the statement, round the exchange
	Rest    Kind = 9 // hop 0: the sender does not need the link now; hop 1: it does again
	// the sender no longer has a repair of the message of (round, hop), for which the receiver has asked
	Missing Kind = 10
)

// String returns the name of k.
func (k Kind) String() string {
	switch k {
	case Data:
		return "data"
	case Bye:
		return "bye"
	case Request:
		return "request"
	case Repair:
		return "repair"
	case Resend:
		return "resend"
	case Durable:
		return "durable"
	case Alive:
		return "alive"
	case Member:
		return "member"
	case Rest:
		return "rest"
	case Missing:
		return "missing"
	}
	return "kind " + strconv.Itoa(int(k))
}

// pieced reports whether frames of kind k are about a piece of a message.
func (k Kind) pieced() bool { return k == Data || k == Request || k == Repair }

// A Header is a frame without its payload.
type Header struct {
	Kind  Kind
	Coder entropy.Coder // of the payload; Plain unless Kind is Data
	Round int           // 0..2^32−1
	Hop   int           // 0..65535
	Piece int           // 0..65535 of Data, Request and Repair, else 0
	Note  uint64
	Epoch uint32 // of the sending process
	Len   int    // bytes of payload, 0..2^32−1

	sum  uint32 // checksum of the frame as the header has it
	seen uint32 // checksum of the header and of the parts of the payload so far
	rest int    // bytes of payload still to follow
}

// Reasons to refuse a frame. A driver counts them.
var (
	ErrTruncated = errors.New("wire: header is cut off")
	ErrVersion   = errors.New("wire: unknown version")
	ErrKind      = errors.New("wire: unknown kind")
	ErrCoder     = errors.New("wire: unknown coder")
	ErrRange     = errors.New("wire: number out of range")
	ErrTooLong   = errors.New("wire: payload too long")
	ErrChecksum  = errors.New("wire: wrong checksum")
)

// Offsets of the fields.
const (
	atLen      = 0
	atVersion  = 4
	atKind     = 5 // and the coder above kindBits
	atHop      = 6
	atRound    = 8
	atSum      = 12
	atEpoch    = 16
	atPiece    = 20
	atReserved = 22
	atNote     = 24
)

// kindBits are the lower bits of that byte.
const kindBits = 4

// PutHeader writes the header of a frame with this payload into the first HeaderLen bytes of
// dst. So callers can send header and payload without copying the payload. It ignores h.Len
// and uses the payload's length. It fails with ErrKind, ErrCoder, ErrRange or ErrTooLong if
// the format cannot express a field.
func PutHeader(dst []byte, h Header, payload []byte) error {
	h.Len = len(payload)
	if err := h.check(); err != nil {
		return err
	}
	dst = dst[:HeaderLen]
	binary.LittleEndian.PutUint32(dst[atLen:], uint32(h.Len))
	dst[atVersion], dst[atKind] = Version, byte(h.Kind)|byte(h.Coder)<<kindBits
	binary.LittleEndian.PutUint16(dst[atHop:], uint16(h.Hop))
	binary.LittleEndian.PutUint32(dst[atRound:], uint32(h.Round))
	binary.LittleEndian.PutUint32(dst[atEpoch:], h.Epoch)
	binary.LittleEndian.PutUint16(dst[atPiece:], uint16(h.Piece))
	binary.LittleEndian.PutUint16(dst[atReserved:], 0)
	binary.LittleEndian.PutUint64(dst[atNote:], h.Note)
	binary.LittleEndian.PutUint32(dst[atSum:], checksum(headSum(dst), payload))
	return nil
}

// AppendFrame appends header and payload to dst. On error it returns dst unchanged.
func AppendFrame(dst []byte, h Header, payload []byte) ([]byte, error) {
	start := len(dst)
	frame := append(dst, make([]byte, HeaderLen)...)
	if err := PutHeader(frame[start:], h, payload); err != nil {
		return dst, err
	}
	return append(frame, payload...), nil
}

// VersionOf returns the version of the header at the beginning of b, which may be one that ParseHeader refuses.
func VersionOf(b []byte) int { return int(b[atVersion]) }

// ParseHeader reads the header at the beginning of b. It refuses a payload of more than
// limit bytes with ErrTooLong, so callers may allocate Len bytes. The checksum covers the
// payload too. Trust no other field before Verify or Complete has accepted both.
func ParseHeader(b []byte, limit int) (Header, error) {
	if len(b) < HeaderLen {
		return Header{}, fmt.Errorf("%w: %d bytes of %d", ErrTruncated, len(b), HeaderLen)
	}
	if v := b[atVersion]; v != Version {
		return Header{}, fmt.Errorf("%w: %d, want %d", ErrVersion, v, Version)
	}
	size := binary.LittleEndian.Uint32(b[atLen:])
	if int64(size) > int64(limit) {
		return Header{}, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLong, size, limit)
	}
	if r := binary.LittleEndian.Uint16(b[atReserved:]); r != 0 {
		return Header{}, fmt.Errorf("%w: reserved field is %d, want 0", ErrRange, r)
	}
	h := Header{
		Kind:  Kind(b[atKind] & (1<<kindBits - 1)),
		Coder: entropy.Coder(b[atKind] >> kindBits),
		Round: int(binary.LittleEndian.Uint32(b[atRound:])),
		Hop:   int(binary.LittleEndian.Uint16(b[atHop:])),
		Piece: int(binary.LittleEndian.Uint16(b[atPiece:])),
		Note:  binary.LittleEndian.Uint64(b[atNote:]),
		Epoch: binary.LittleEndian.Uint32(b[atEpoch:]),
		Len:   int(size),
		seen:  headSum(b),
		rest:  int(size),
		sum:   binary.LittleEndian.Uint32(b[atSum:]),
	}
	return h, h.check()
}

// Verify checks a header from ParseHeader and the payload behind it against the checksum.
// It fails with ErrChecksum.
func Verify(h Header, payload []byte) error {
	h.Follow(payload)
	return h.Complete()
}

// Follow adds the next part of the payload to the checksum. Call it right after reading the
// part, while that is in a cache.
func (h *Header) Follow(part []byte) {
	h.seen, h.rest = checksum(h.seen, part), h.rest-len(part)
}

// Complete is Verify for a payload whose parts all went through Follow.
func (h *Header) Complete() error {
	if h.rest != 0 {
		return fmt.Errorf("%w: %d bytes of payload, the header says %d", ErrChecksum, h.Len-h.rest, h.Len)
	}
	if h.seen != h.sum {
		return fmt.Errorf("%w: %08x, the header says %08x", ErrChecksum, h.seen, h.sum)
	}
	return nil
}

// check returns an error if the format cannot express h.
func (h Header) check() error {
	switch {
	case h.Kind < Data || h.Kind > Missing:
		return fmt.Errorf("%w: %d", ErrKind, uint8(h.Kind))
	case !h.Coder.Valid() && h.Coder != still.Coder || h.Coder != entropy.Plain && h.Kind != Data:
		return fmt.Errorf("%w: %v of a %v frame", ErrCoder, h.Coder, h.Kind)
	case h.Round < 0 || int64(h.Round) > math.MaxUint32:
		return fmt.Errorf("%w: round %d", ErrRange, h.Round)
	case h.Hop < 0 || h.Hop > math.MaxUint16:
		return fmt.Errorf("%w: hop %d", ErrRange, h.Hop)
	case h.Piece < 0 || h.Piece > math.MaxUint16 || h.Piece > 0 && !h.Kind.pieced():
		return fmt.Errorf("%w: piece %d of a %v frame", ErrRange, h.Piece, h.Kind)
	case h.Kind == Rest && h.Hop > 1:
		return fmt.Errorf("%w: hop %d of a rest frame", ErrRange, h.Hop)
	case (h.Kind == Alive || h.Kind == Rest) && h.Len > 0:
		return fmt.Errorf("%w: %d bytes of payload in a frame of kind %v", ErrTooLong, h.Len, h.Kind)
	case int64(h.Len) > math.MaxUint32:
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLong, h.Len, uint32(math.MaxUint32))
	}
	return nil
}

// headSum is the checksum of the header b, without the field for it.
func headSum(b []byte) uint32 {
	return checksum(checksum(0, b[:atSum]), b[atEpoch:HeaderLen])
}

// checksum continues sum over b.
func checksum(sum uint32, b []byte) uint32 {
	return crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), b)
}
