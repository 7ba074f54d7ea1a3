package record

import "sync/atomic"

// A Tally counts the frames that go to or come from others. Any goroutine may use it.
type Tally struct{ payload, stream, messages, ofMessages, still atomic.Int64 }

// Add counts a frame with its bytes on the stream, headers included. Payload is that of a message or of a piece of one,
// else 0. Piece 0 stands for a message.
func (t *Tally) Add(payload, stream, piece int) {
	t.stream.Add(int64(stream))
	if payload <= 0 {
		return
	}
	t.payload.Add(int64(payload))
	t.ofMessages.Add(int64(stream))
	if piece == 0 {
		t.messages.Add(1)
	}
}

// Leave counts bytes that a message has left out, because they have not changed since the start of the run.
func (t *Tally) Leave(still int) { t.still.Add(int64(still)) }

// Bytes returns the bytes so far, without those on the wire.
func (t *Tally) Bytes() Bytes { return Bytes{Payload: t.payload.Load(), Stream: t.stream.Load()} }

// Messages returns the messages so far.
func (t *Tally) Messages() Messages {
	return Messages{Count: t.messages.Load(), Stream: t.ofMessages.Load(), Still: t.still.Load()}
}
