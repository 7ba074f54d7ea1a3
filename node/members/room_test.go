package members

import (
	"bytes"
	"io"
	"runtime"
	"testing"
	"testing/synctest"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/member"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/quant"
)

// A short letter with a long message takes the memory of that message only while few others do, of all streams.
func TestFewDecodedMessagesWait(t *testing.T) {
	const long, streams = 4 << 20, 64
	encoder, err := entropy.NewEncoder(entropy.Zstd, entropy.Costs{})
	if err != nil {
		t.Fatal(err)
	}
	payload, c := make([]byte, long), &coding{}
	c.coded, c.by, err = encoder.Encode(nil, payload, quant.Bytes(long), 0)
	if err != nil || len(c.coded) > long/100 {
		t.Fatalf("%d bytes, error %v: want a short message", len(c.coded), err)
	}
	text, err := appendLetter(nil, letter{coding: c, Letter: member.Letter{
		Frame: &gossip.Frame{Kind: gossip.Data, Payload: payload}}})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		over, inbox, ended := make(chan struct{}), make(chan letter, streams), make(chan error, streams)
		office := newRoom(over)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range streams {
			go func() {
				lr := letterReader{payload: long, room: office}
				l, err := lr.next(bytes.NewReader(text))
				if err == nil {
					inbox <- l
				}
				ended <- err
			}()
		}
		synctest.Wait()
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; len(inbox) != decodedAtOnce || took > 4*decodedAtOnce*long {
			t.Errorf("%d messages of %d bytes are decoded, in %d bytes: want %d", len(inbox), long, took, decodedAtOnce)
		}
		for range decodedAtOnce {
			if l := <-inbox; !l.decoded || !bytes.Equal(l.Frame.Payload, payload) {
				t.Error("another message than was coded")
			}
			office.leave()
		}
		synctest.Wait()
		if len(inbox) != decodedAtOnce {
			t.Errorf("%d more are decoded once the first have been taken, want %d", len(inbox), decodedAtOnce)
		}
		close(over)
		failed := 0
		for range streams {
			if <-ended == io.EOF {
				failed++
			}
		}
		if failed != streams-2*decodedAtOnce {
			t.Errorf("%d readers end with the member, want %d", failed, streams-2*decodedAtOnce)
		}
	})
}
