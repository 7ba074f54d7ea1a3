package link

import (
	"bytes"
	"errors"
	"testing"

	"gossiptrainer/internal/wire"
)

func TestNeighboursShareAHeader(t *testing.T) {
	var s headerCache
	h, payload := wire.Header{Kind: wire.Data, Round: 3, Epoch: 7}, []byte("parameters")
	want, got := make([]byte, wire.HeaderLen), make([]byte, wire.HeaderLen)
	put := func(message uint64) {
		t.Helper()
		if err := s.put(got, message, h, payload); err != nil {
			t.Fatal(err)
		}
	}
	if err := wire.PutHeader(want, h, payload); err != nil {
		t.Fatal(err)
	}
	one, alone := s.number(2), s.number(1)
	if put(one); !bytes.Equal(got, want) {
		t.Errorf("the first has %x, want %x", got, want)
	}
	payload[0]++ // changes every checksum computed from here on
	if put(one); !bytes.Equal(got, want) {
		t.Error("the second neighbour's checksum was taken again")
	}
	for name, message := range map[string]uint64{"a frame on its own": alone, "another message": s.number(2)} {
		if put(message); bytes.Equal(got, want) {
			t.Errorf("%s has the header of the first", name)
		}
	}
	put(one)
	h.Note = 5
	before := bytes.Clone(got)
	if put(one); bytes.Equal(got, before) {
		t.Error("a frame with a note has the header of one without")
	}
	bad := wire.Header{Kind: wire.Data, Round: -1}
	another := s.number(2)
	for range 2 {
		if err := s.put(got, another, bad, payload); !errors.Is(err, wire.ErrRange) {
			t.Errorf("%v, want %v", err, wire.ErrRange)
		}
	}
}
