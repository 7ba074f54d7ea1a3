package docs

import (
	"slices"
	"strconv"
	"testing"

	"gossiptrainer/internal/wire"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/internal/wire/still"
)

var frames = map[string]decoder{
	"message": frame(wire.Header{Kind: wire.Data, Round: 3, Note: 0x3f000000, Epoch: 0x01020304}, "moniqua"),
	"coded":   frame(wire.Header{Kind: wire.Data, Coder: entropy.Huff0, Round: 3, Epoch: 1}, "entropy"),
	"request": frame(wire.Header{Kind: wire.Request, Round: 3, Piece: 258, Epoch: 0x11121314}, ""),
	"member":  frame(wire.Header{Kind: wire.Member, Hop: 1, Round: 40, Epoch: 0x11121314}, ""),
}

// frame returns the decoder of a frame with that header. The frame carries an example of docs/format/payloads.md or
// nothing, and its document may omit the payload.
func frame(want wire.Header, carried string) decoder {
	return func(t *testing.T, d document, name string) {
		var payload []byte
		if carried != "" {
			payload = read(t, "payloads.md").bytes(t, carried)
		}
		text := d.bytes(t, name)
		if len(text) == wire.HeaderLen {
			text = append(text, payload...)
		}
		h, err := wire.ParseHeader(text, len(payload))
		if err != nil {
			t.Fatal(err)
		}
		if err := wire.Verify(h, text[wire.HeaderLen:]); err != nil {
			t.Fatal(err)
		}
		equal(t, "kind", h.Kind, want.Kind)
		equal(t, "coder", h.Coder, want.Coder)
		equal(t, "round", h.Round, want.Round)
		equal(t, "hop", h.Hop, want.Hop)
		equal(t, "piece", h.Piece, want.Piece)
		equal(t, "note", h.Note, want.Note)
		equal(t, "epoch", h.Epoch, want.Epoch)
		equal(t, "length", h.Len, len(payload))
		same(t, "payload", text[wire.HeaderLen:], payload)
		made, err := wire.AppendFrame(nil, want, payload)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "frame", made, text)
	}
}

// The tables of kinds and coders have all names and numbers of the code.
func TestKindsAndCodersAreThoseOfTheCode(t *testing.T) {
	var kinds, coders [][]string
	for k := wire.Data; k <= wire.Missing; k++ {
		kinds = append(kinds, []string{strconv.Itoa(int(k)), k.String()})
	}
	for c := entropy.Plain; c.Valid(); c++ {
		coders = append(coders, []string{strconv.Itoa(int(c)), c.String()})
	}
	coders = append(coders, []string{strconv.Itoa(int(still.Coder)), "still"})
	for head, want := range map[string][][]string{
		"| number | name | payload | meaning |": kinds,
		"| number | name | the payload is |":    coders,
	} {
		got := table(t, "format/frames.md", head)
		if !slices.EqualFunc(got, want, func(row, known []string) bool { return slices.Equal(row[:2], known) }) {
			t.Errorf("format/frames.md has\n%v, the code\n%v", got, want)
		}
	}
	if err := wire.PutHeader(make([]byte, wire.HeaderLen), wire.Header{Kind: wire.Missing + 1}, nil); err == nil {
		t.Error("there is a kind after missing")
	}
}
