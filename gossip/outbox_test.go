package gossip

import "testing"

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
