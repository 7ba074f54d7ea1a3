package wire_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"math"
	"strings"
	"testing"
	"time"

	"gossiptrainer/internal/wire"
	"gossiptrainer/internal/wire/entropy"
)

const limit = 1 << 20

// read parses a whole frame as a driver does.
func read(frame []byte, limit int) (wire.Header, []byte, error) {
	h, err := wire.ParseHeader(frame, limit)
	if err != nil {
		return h, nil, err
	}
	payload := frame[wire.HeaderLen:]
	return h, payload, wire.Verify(h, payload)
}

func TestFramesComeBackAsTheyWere(t *testing.T) {
	tests := []struct {
		name    string
		header  wire.Header
		payload []byte
	}{
		{"first round", wire.Header{Kind: wire.Data}, []byte{1, 2, 3}},
		{"coded payload", wire.Header{Kind: wire.Data, Coder: entropy.Bzip2, Round: 7}, []byte("zz")},
		{"empty payload", wire.Header{Kind: wire.Data, Round: 7, Hop: 2, Epoch: 5}, nil},
		{"largest numbers", wire.Header{Kind: wire.Data, Round: math.MaxUint32, Hop: math.MaxUint16,
			Piece: math.MaxUint16, Epoch: math.MaxUint32}, []byte("x")},
		{"note of a message", wire.Header{Kind: wire.Data, Round: 9, Note: math.MaxUint64}, []byte("y")},
		{"request", wire.Header{Kind: wire.Request, Round: 4, Hop: 1, Piece: 2}, nil},
		{"repair", wire.Header{Kind: wire.Repair, Round: 4, Hop: 1, Piece: 2}, []byte("quotients")},
		{"resend", wire.Header{Kind: wire.Resend, Round: 4, Hop: 1, Epoch: 3}, nil},
		{"member", wire.Header{Kind: wire.Member, Round: 9, Hop: 2}, nil},
		{"rest", wire.Header{Kind: wire.Rest, Hop: 1}, nil},
		{"missing", wire.Header{Kind: wire.Missing, Round: 31, Hop: 1}, nil},
		{"durable", wire.Header{Kind: wire.Durable, Round: math.MaxUint32}, nil},
		{"goodbye with a reason", wire.Header{Kind: wire.Bye, Round: 600, Epoch: 9}, []byte("all rounds are over")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			frame, err := wire.AppendFrame([]byte("before"), test.header, test.payload)
			if err != nil {
				t.Fatal(err)
			}
			frame, ok := bytes.CutPrefix(frame, []byte("before"))
			if !ok || len(frame) != wire.HeaderLen+len(test.payload) {
				t.Fatalf("frame of %d bytes for a payload of %d", len(frame), len(test.payload))
			}
			h, payload, err := read(frame, limit)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(payload, test.payload) || h.Len != len(test.payload) {
				t.Errorf("payload %q of length %d, want %q", payload, h.Len, test.payload)
			}
			if h.Kind != test.header.Kind || h.Coder != test.header.Coder || h.Round != test.header.Round ||
				h.Hop != test.header.Hop || h.Piece != test.header.Piece || h.Note != test.header.Note ||
				h.Epoch != test.header.Epoch {
				t.Errorf("header %+v, want %+v", h, test.header)
			}
		})
	}
}

// The layout of the package comment, field by field: peers of other builds
// depend on these bytes.
func TestLayout(t *testing.T) {
	header := wire.Header{Kind: wire.Data, Hop: 0x0201, Round: 0x14131211, Piece: 0x2625, Note: 0x3837363534333231,
		Epoch: 0x24232221}
	frame, err := wire.AppendFrame(nil, header, []byte{0xAA, 0xBB, 0xCC})
	if err != nil {
		t.Fatal(err)
	}
	want, _ := hex.DecodeString("03000000" + "02" + "01" + "0102" + "11121314" + "00000000" + "21222324" + "2526" +
		"0000" + "3132333435363738" + "aabbcc")
	covered := append(bytes.Clone(want[:12]), want[16:]...)
	binary.LittleEndian.PutUint32(want[12:], crc32.Checksum(covered, crc32.MakeTable(crc32.Castagnoli)))
	if !bytes.Equal(frame, want) {
		t.Errorf("frame\n%x, want\n%x", frame, want)
	}
}

func TestHeadersAreRefused(t *testing.T) {
	good, err := wire.AppendFrame(nil, wire.Header{Kind: wire.Data, Round: 3, Epoch: 1}, make([]byte, 100))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(frame []byte) []byte
		want   error
	}{
		{"nothing at all", func(b []byte) []byte { return nil }, wire.ErrTruncated},
		{"one byte short", func(b []byte) []byte { return b[:wire.HeaderLen-1] }, wire.ErrTruncated},
		{"version without pieces", func(b []byte) []byte { b[4] = 1; return b }, wire.ErrVersion},
		{"version of the future", func(b []byte) []byte { b[4] = 3; return b }, wire.ErrVersion},
		{"a use of the reserved field", func(b []byte) []byte { b[23] = 1; return b }, wire.ErrRange},
		{"piece of a statement about an edge", func(b []byte) []byte { b[5], b[20] = 8, 1; return b }, wire.ErrRange},
		{"kind 0", func(b []byte) []byte { b[5] = 0; return b }, wire.ErrKind},
		{"coder of the future", func(b []byte) []byte { b[5] = 0x61; return b }, wire.ErrCoder},
		{"coder of a request", func(b []byte) []byte { b[5] = 0x13; return b }, wire.ErrCoder},
		{"kind of the future", func(b []byte) []byte { b[5] = 11; return b }, wire.ErrKind},
		{"sign of life with a payload", func(b []byte) []byte { b[5] = 7; return b }, wire.ErrTooLong},
		{"payload over the limit", func(b []byte) []byte { b[3] = 1; return b }, wire.ErrTooLong},
		{"payload of 4 GiB", func(b []byte) []byte { copy(b, "\xff\xff\xff\xff"); return b }, wire.ErrTooLong},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := wire.ParseHeader(test.change(bytes.Clone(good)), limit)
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

func TestLimitIsInclusive(t *testing.T) {
	frame, _ := wire.AppendFrame(nil, wire.Header{Kind: wire.Data}, make([]byte, 100))
	if _, _, err := read(frame, 100); err != nil {
		t.Errorf("100 bytes under a limit of 100: %v", err)
	}
	if _, _, err := read(frame, 99); !errors.Is(err, wire.ErrTooLong) {
		t.Errorf("100 bytes under a limit of 99: error %v, want %v", err, wire.ErrTooLong)
	}
}

func TestEveryFlippedBitIsSeen(t *testing.T) {
	frame, _ := wire.AppendFrame(nil, wire.Header{Kind: wire.Data, Round: 12, Hop: 1, Epoch: 99}, []byte("some payload"))
	for bit := range 8 * len(frame) {
		bad := bytes.Clone(frame)
		bad[bit/8] ^= 1 << (bit % 8)
		if _, _, err := read(bad, limit); err == nil {
			t.Errorf("byte %d bit %d flipped: frame accepted", bit/8, bit%8)
		}
	}
}

func TestPayloadOfAnotherLengthIsRefused(t *testing.T) {
	frame, _ := wire.AppendFrame(nil, wire.Header{Kind: wire.Data}, []byte("some payload"))
	h, err := wire.ParseHeader(frame, limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range [][]byte{nil, frame[wire.HeaderLen : len(frame)-1], append(frame[wire.HeaderLen:], 0)} {
		if err := wire.Verify(h, payload); !errors.Is(err, wire.ErrChecksum) {
			t.Errorf("%d bytes of payload: error %v, want %v", len(payload), err, wire.ErrChecksum)
		}
	}
}

func TestPayloadMayFollowInParts(t *testing.T) {
	frame, _ := wire.AppendFrame(nil, wire.Header{Kind: wire.Data}, []byte("some payload"))
	h, err := wire.ParseHeader(frame, limit)
	if err != nil {
		t.Fatal(err)
	}
	for rest := frame[wire.HeaderLen:]; len(rest) > 0; {
		if err := h.Complete(); !errors.Is(err, wire.ErrChecksum) {
			t.Errorf("%d bytes before the end: error %v, want %v", len(rest), err, wire.ErrChecksum)
		}
		n := min(5, len(rest))
		h.Follow(rest[:n])
		rest = rest[n:]
	}
	if err := h.Complete(); err != nil {
		t.Error(err)
	}
}

func TestWhatTheFormatCannotSayIsRefused(t *testing.T) {
	tests := []struct {
		name   string
		header wire.Header
		want   error
	}{
		{"no kind", wire.Header{}, wire.ErrKind},
		{"coder of a goodbye", wire.Header{Kind: wire.Bye, Coder: entropy.Huff0}, wire.ErrCoder},
		{"a choice for a coder", wire.Header{Kind: wire.Data, Coder: entropy.Auto}, wire.ErrCoder},
		{"negative round", wire.Header{Kind: wire.Data, Round: -1}, wire.ErrRange},
		{"round beyond 32 bits", wire.Header{Kind: wire.Data, Round: 1 << 32}, wire.ErrRange},
		{"negative hop", wire.Header{Kind: wire.Data, Hop: -1}, wire.ErrRange},
		{"hop beyond 16 bits", wire.Header{Kind: wire.Data, Hop: 1 << 16}, wire.ErrRange},
		{"negative piece", wire.Header{Kind: wire.Data, Piece: -1}, wire.ErrRange},
		{"piece beyond 16 bits", wire.Header{Kind: wire.Data, Piece: 1 << 16}, wire.ErrRange},
		{"hop of a rest", wire.Header{Kind: wire.Rest, Hop: 2}, wire.ErrRange},
		{"piece of a goodbye", wire.Header{Kind: wire.Bye, Piece: 1}, wire.ErrRange},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dst, err := wire.AppendFrame([]byte("before"), test.header, []byte("payload"))
			if !errors.Is(err, test.want) || string(dst) != "before" {
				t.Errorf("dst %q, error %v; want dst as it was, %v", dst, err, test.want)
			}
		})
	}
}

func TestKindsHaveNames(t *testing.T) {
	for kind, want := range map[wire.Kind]string{wire.Data: "data", wire.Bye: "bye", wire.Request: "request",
		wire.Repair: "repair", wire.Resend: "resend", wire.Durable: "durable", wire.Alive: "alive", wire.Member: "member",
		wire.Rest: "rest", wire.Missing: "missing",
		11: "kind 11"} {
		if got := kind.String(); got != want {
			t.Errorf("%d is called %q, want %q", uint8(kind), got, want)
		}
	}
}

func TestFramesCostNoAllocation(t *testing.T) {
	payload, head := make([]byte, 1000), make([]byte, wire.HeaderLen)
	frame := make([]byte, 0, wire.HeaderLen+len(payload))
	got := testing.AllocsPerRun(100, func() {
		frame, _ = wire.AppendFrame(frame[:0], wire.Header{Kind: wire.Data, Round: 5}, payload)
		if _, _, err := read(frame, limit); err != nil {
			t.Error(err)
		}
		if err := wire.PutHeader(head, wire.Header{Kind: wire.Data, Round: 6}, payload); err != nil {
			t.Error(err)
		}
	})
	if got != 0 {
		t.Errorf("%v allocations per frame", got)
	}
}

func FuzzFrame(f *testing.F) {
	frame, _ := wire.AppendFrame(nil, wire.Header{Kind: wire.Data, Round: 3, Hop: 1, Epoch: 7}, []byte("payload"))
	f.Add(frame)
	f.Add(frame[:wire.HeaderLen])
	piece, _ := wire.AppendFrame(nil, wire.Header{Kind: wire.Repair, Round: 3, Piece: 395}, []byte("quotients"))
	f.Add(piece)
	f.Add([]byte(strings.Repeat("\xff", 40)))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := wire.ParseHeader(b, limit)
		if err != nil {
			return
		}
		if h.Len < 0 || h.Len > limit || h.Round < 0 || h.Hop < 0 || h.Hop > math.MaxUint16 ||
			h.Piece < 0 || h.Piece > math.MaxUint16 {
			t.Fatalf("header out of bounds: %+v", h)
		}
		if len(b) < wire.HeaderLen+h.Len {
			return
		}
		b = b[:wire.HeaderLen+h.Len]
		if wire.Verify(h, b[wire.HeaderLen:]) != nil {
			return
		}
		again, err := wire.AppendFrame(nil, h, b[wire.HeaderLen:])
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("accepted %x, which is written as %x (%v)", b, again, err)
		}
	})
}

// BenchmarkChecksum reports the time to make a header, which is that of the
// checksum, over that of copying the payload once.
func BenchmarkChecksum(b *testing.B) {
	payload, head := make([]byte, 1<<20), make([]byte, wire.HeaderLen)
	sink := make([]byte, len(payload))
	b.SetBytes(int64(len(payload)))
	var checked, copied time.Duration
	for b.Loop() {
		start := time.Now()
		if err := wire.PutHeader(head, wire.Header{Kind: wire.Data}, payload); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		copy(sink, payload)
		checked += middle.Sub(start)
		copied += time.Since(middle)
	}
	b.ReportMetric(float64(checked)/float64(copied), "×copy")
}
