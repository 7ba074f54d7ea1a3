package link

import (
	"testing"

	"gossiptrainer/gossip"
	"gossiptrainer/node/handshake"
)

func TestABanIsOnAProcess(t *testing.T) {
	e := &edge{
		neighbour: neighbour{shared: &shared{Config: Config{Fit: Fit{Paced: true}}}},
		state:     state{process: 7, ever: true},
	}
	if no := e.recognise(handshake.Hello{Epoch: 7}); no != nil {
		t.Fatal(no)
	}
	e.ban(handshake.Refusal(handshake.Misbehaved, "enough"))
	if no := e.recognise(handshake.Hello{Epoch: 7}); no == nil || no.Reason != handshake.Misbehaved || !no.Permanent() {
		t.Errorf("%v, want a lasting refusal", no)
	}
	if no := e.recognise(handshake.Hello{Epoch: 8}); no != nil {
		t.Errorf("another process: %v", no)
	}
}

func TestANeighbourStartedAnewIsRefusedWhereRoundsDoNotTell(t *testing.T) {
	for _, c := range []struct {
		name  string
		paced bool
		ever  bool
		epoch uint64
		saved int
		want  bool
	}{
		{"first link", false, false, 8, gossip.Undurable, true},
		{"the same process", false, true, 7, gossip.Undurable, true},
		{"another process", false, true, 8, gossip.Undurable, false},
		{"another process with a checkpoint", false, true, 8, 0, true},
		{"another process, but rounds tell", true, true, 8, gossip.Undurable, true},
	} {
		e := &edge{
			neighbour: neighbour{shared: &shared{Config: Config{Fit: Fit{Paced: c.paced}}}},
			state:     state{ever: c.ever, process: 7},
		}
		no := e.recognise(handshake.Hello{Epoch: c.epoch, Durable: c.saved})
		if (no == nil) != c.want || no != nil && no.Reason != handshake.LostState {
			t.Errorf("%s: %v", c.name, no)
		}
	}
}
