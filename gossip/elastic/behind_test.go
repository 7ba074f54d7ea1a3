package elastic_test

import (
	"errors"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/elastic"
	"gossiptrainer/internal/witness"
	"gossiptrainer/topology"
)

// A worker whose neighbour is at the beginning, too, does not believe one worker that is ahead: that one may lie. It
// believes two, since both ends of an edge may have started again.
func TestTwoVoicesAreBelieved(t *testing.T) {
	g, err := topology.New(topology.Spec{Kind: topology.Ring, N: 5, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	m, err := gossip.New(0, g.Rows(0)[0], witness.New(make([]float32, 1), algos.Full{}), 9)
	if err != nil {
		t.Fatal(err)
	}
	e, err := elastic.New(gossip.NewLinked(m, 0, 0, gossip.Undurable), m, elastic.Start{
		Self: 0, Row: g.Rows(0)[0], Closing: g.Closing(0), Rounds: 9,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Met(4, gossip.Meeting{Process: 1}); err != nil {
		t.Fatal(err)
	}
	_, lies := errors.AsType[*algos.MessageError](e.Met(1, gossip.Meeting{Theirs: 7, Process: 1}))
	if !lies {
		t.Error("one worker is believed")
	}
	no := &gossip.RefusedError{Remote: true, Place: true, Err: errors.New("gone on")}
	if _, behind := errors.AsType[*elastic.LeftBehindError](e.Parted(2, no)); !behind {
		t.Error("two workers are not believed")
	}
}
