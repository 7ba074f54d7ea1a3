package elastic_test

import (
	"errors"
	"math"
	"testing"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/elastic"
	"gossiptrainer/topology"
)

// TestImpossibleWordsAreRefused lets worker 3 of a ring of seven hear words that no honest worker says, and some
// without a reason. It has an edge to worker 2.
func TestImpossibleWordsAreRefused(t *testing.T) {
	g, err := topology.New(topology.Spec{Kind: topology.Ring, N: 7, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		peer     topology.Rank
		verb     elastic.Verb
		exchange int
		want     error
	}{
		"an edge that ends before it is over":    {2, elastic.Part, 3, gossip.ErrNoSuchEdge},
		"an edge that ends in the far future":    {2, elastic.Part, math.MaxUint32, gossip.ErrNoSuchEdge},
		"an edge that ends soon":                 {2, elastic.Part, 12, nil},
		"an exchange after the run":              {1, elastic.Want, 101, gossip.ErrNoSuchEdge},
		"an exchange before the run":             {1, elastic.Want, -1, gossip.ErrNoSuchEdge},
		"an exchange of the run":                 {1, elastic.Want, 100, nil},
		"an edge from the far future on":         {1, elastic.On, math.MaxUint32, gossip.ErrNoSuchEdge},
		"an edge that this worker does not want": {1, elastic.On, 12, gossip.ErrUnasked},
		"an edge that the lower rank offers":     {5, elastic.On, 12, gossip.ErrNoSuchEdge},
		"no edge where there is none":            {1, elastic.Off, 0, gossip.ErrUnasked},
		"the end of an edge that there is not":   {1, elastic.Part, 12, gossip.ErrUnasked},
		"no word":                                {2, elastic.Part + 1, 0, gossip.ErrNoSuchEdge},
		"a word of a worker that there is not":   {7, elastic.Want, 12, gossip.ErrNoSuchEdge},
	} {
		m := elastic.NewMembership(3, g.Rows(0)[3], g.Closing(3))
		if test.peer < 7 {
			m.Up(test.peer, 1)
		}
		m.Step(elastic.Moment{Grace: grace, Next: 10, Exchanges: 100})
		if err := m.Heard(test.peer, test.verb, test.exchange); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// TestAGuestThatNeverComesIsNotInvitedForEver lets worker 0 keep a place for processes of 1 that do not come.
func TestAGuestThatNeverComesIsNotInvitedForEver(t *testing.T) {
	m := ringOf7(t)
	m.Down(1, 0)
	places, now := 0, 4*grace
	for process := uint64(5); process < 20; process++ {
		m.Step(elastic.Moment{Now: now, Grace: grace, Next: 7, Waiting: []topology.Rank{1}})
		if m.Host(1, process, 9, now) {
			places++
		}
		now += 100 * grace
	}
	if places < 1 || places > 4 {
		t.Errorf("%d places for a worker that never came", places)
	}
}
