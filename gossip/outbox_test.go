package gossip

import (
	"testing"

	"gossiptrainer/topology"
)

func TestFramesThatShareAPayload(t *testing.T) {
	one, same := []byte{1, 2}, []byte{1, 2}
	frame := func(payload []byte, change func(f *Frame)) Frame {
		f := Frame{Round: 3, Payload: payload}
		change(&f)
		return f
	}
	asItIs := func(*Frame) {}
	for name, test := range map[string]struct {
		second Frame
		want   int
	}{
		"to another neighbour": {frame(one, func(f *Frame) { f.To = 1 }), 2},
		"of another hop":       {frame(one, func(f *Frame) { f.Hop = 1 }), 1},
		"of another round":     {frame(one, func(f *Frame) { f.Round = 4 }), 1},
		"of another kind":      {frame(one, func(f *Frame) { f.Kind = Repair }), 1},
		"equal, not the same":  {frame(same, asItIs), 1},
		"shorter":              {frame(one[:1], asItIs), 1},
		"empty":                {frame(nil, asItIs), 1},
	} {
		if got := Shared([]Frame{frame(one, asItIs), test.second}); got != test.want {
			t.Errorf("%s: %d frames share a payload, want %d", name, got, test.want)
		}
	}
	if got := Shared(nil); got != 0 {
		t.Errorf("of no frames %d share a payload", got)
	}
	if got := Shared(make([]Frame, 3)); got != 3 {
		t.Errorf("of 3 frames without payload %d are alike", got)
	}
}

// A message that is sent again is not copied. Its buffers are never rewritten, and those of other slots are.
func TestAMessageThatIsLentIsNeverRewritten(t *testing.T) {
	e := newEdges(topology.Row{Self: 1, Out: []topology.Rank{1}}, 1)
	b := newOutbox(0, &e, 2, 2)
	tell := func(value byte) {
		b.start(Frame{Round: b.sent})
		for b.unmade() > 0 {
			b.keep(append(b.buffer(), value, value))
		}
	}
	tell(1)
	tell(2)
	again := b.appendAgain(nil, 1)
	if len(again) != 4 || &again[0].Payload[0] != &b.at(0).pieces[0][0] {
		t.Fatalf("%d frames, want the 4 pieces themselves", len(again))
	}
	first := &again[0].Payload[0]
	for value := byte(3); value < 9; value++ {
		tell(value)
	}
	for i, f := range again {
		if want := byte(1 + i/2); f.Payload[0] != want || f.Payload[1] != want {
			t.Errorf("frame %d: payload %v, want %d", i, f.Payload, want)
		}
	}
	if got := &b.at(b.sent).pieces[0][0]; got == first {
		t.Error("a lent buffer is in use again")
	}
	if allocated := testing.AllocsPerRun(10, func() { tell(9) }); allocated != 0 {
		t.Errorf("a slot takes %v new buffers when no message is lent, want 0", allocated)
	}
}
