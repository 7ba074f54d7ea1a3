package socket

import (
	"bytes"
	"errors"
	"net"
	"testing"
)

// A socketOf records the bytes of each write.
type socketOf struct {
	net.Conn
	calls [][]byte
	fails error
}

func (s *socketOf) Write(p []byte) (int, error) {
	if s.fails != nil {
		return 0, s.fails
	}
	s.calls = append(s.calls, bytes.Clone(p))
	return len(p), nil
}

func TestRecordsOfAMessageLeaveTogether(t *testing.T) {
	socket := new(socketOf)
	b := newBatch(socket)
	b.Write([]byte("hello "))
	b.hold()
	for _, record := range []string{"one ", "two ", "three"} {
		if n, err := b.Write([]byte(record)); n != len(record) || err != nil {
			t.Fatalf("%q: %d, %v", record, n, err)
		}
	}
	if len(socket.calls) != 1 {
		t.Errorf("%d calls while held, want the one from before", len(socket.calls))
	}
	if err := b.release(); err != nil {
		t.Fatal(err)
	}
	b.Write([]byte("!"))
	want := []string{"hello ", "one two three", "!"}
	if len(socket.calls) != len(want) {
		t.Fatalf("%d calls, want %d", len(socket.calls), len(want))
	}
	for i, w := range want {
		if string(socket.calls[i]) != w {
			t.Errorf("call %d: %q, want %q", i, socket.calls[i], w)
		}
	}
}

func TestABatchIsBounded(t *testing.T) {
	socket := new(socketOf)
	b := newBatch(socket)
	b.hold()
	record, sent := make([]byte, 16<<10), 0
	for range 20 {
		b.Write(record)
	}
	b.release()
	for _, call := range socket.calls {
		sent += len(call)
		if len(call) > together {
			t.Errorf("%d bytes in one call, want at most %d", len(call), together)
		}
	}
	if sent != 20*len(record) {
		t.Errorf("%d bytes left, want %d", sent, 20*len(record))
	}
}

func TestAfterACutOffRecordNothingIsSent(t *testing.T) {
	broken := errors.New("broken")
	socket := &socketOf{fails: broken}
	b := newBatch(socket)
	b.hold()
	b.Write([]byte("lost"))
	if err := b.release(); !errors.Is(err, broken) {
		t.Errorf("release: %v, want %v", err, broken)
	}
	socket.fails = nil
	if _, err := b.Write([]byte("more")); !errors.Is(err, broken) || len(socket.calls) > 0 {
		t.Errorf("write: %v after %d calls, want %v", err, len(socket.calls), broken)
	}
}
