package modulo

import (
	"math"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/registry"
	"gossiptrainer/topology"
)

// made returns the maker of a run of fixed slack and step size, whose rule is certified.
func made(t *testing.T, set ...string) *Maker {
	t.Helper()
	l, err := configs.Load(configs.Source{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	c := l.Config
	spec := c.Topology.Spec()
	spec.Slack = float64(c.Topology.Slack)
	graph, err := topology.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	row, _ := registry.Find(c.Algorithm.Name, c.Algorithm.Reduce)
	return &Maker{Algorithm: c.Algorithm, Method: row, Settings: registry.Settings{Slack: spec.Slack, LocalSteps: 1},
		Graph: graph, Workers: graph.N(), Rounds: int(c.Train.Rounds), Step: func(int) float64 { return 0.1 }, Bound: 1}
}

// changing is a log in which members join, leave and die.
func changing(t *testing.T, m *Maker) *view.Log {
	t.Helper()
	members := func(ids ...view.ID) (all []view.Member) {
		for _, id := range ids {
			all = append(all, view.Member{ID: id})
		}
		return all
	}
	log, err := view.New(m.Graph.Spec(), view.Record{Members: members(0, 1, 2, 3, 4)})
	for _, record := range []view.Record{
		{First: 6, Members: members(0, 1, 2, 3, 4, 5), Sponsors: []view.Sponsor{{ID: 5, Sponsor: 1}}},
		{First: 9, Members: members(0, 1, 3, 4, 5), Dead: []view.Death{{ID: 2, Last: 6}}},
		{First: 11, Members: members(1, 3, 4, 5, 6), Left: []view.ID{0}, Sponsors: []view.Sponsor{{ID: 6, Sponsor: 3}}},
	} {
		if record.View = log.Len(); err == nil {
			err = log.Add(record)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// backwards returns the sums of a pair in exchange s over all exchanges before. They say how far each update, and each
// grid error, moves the two apart. The coefficient of a newcomer goes to its sponsor.
func backwards(log *view.Log, s int, a, b view.ID) (updates, errors float64) {
	v := map[view.ID]float64{a: 1, b: -1}
	for x := s - 1; x >= 0; x-- {
		for w := range log.Len() {
			for _, joins := range log.At(w).Sponsors {
				if log.At(w).First == x+1 {
					v[joins.Sponsor] += v[joins.ID]
					delete(v, joins.ID)
				}
			}
		}
		next := map[view.ID]float64{}
		for id, c := range v {
			row := log.Row(id, x)
			next[id] += c * row.Self
			for _, e := range row.In {
				next[e.Peer] += c * e.Weight
			}
		}
		for _, id := range log.At(log.Force(x)).IDs() {
			updates += math.Abs(v[id])
			errors += math.Abs(next[id] - v[id])
		}
		v = next
	}
	return updates, errors
}

// The certificate of a view holds for all pairs that exchange in it, and without the past it would not.
func TestACertificateCoversTheViewsBefore(t *testing.T) {
	for _, kind := range []string{"ring", "one-peer-exponential", "torus"} {
		set := []string{"algorithm.codec=moniqua", "algorithm.theta.rule=certified", "topology.size=5",
			"membership={mode: view, min: 1, max: 8}", "topology.slack=1", "topology.kind=" + kind}
		if kind == "torus" {
			set = append(set, "topology.rows=1", "topology.cols=5")
		}
		m := made(t, set...)
		c, err := m.Certificates()
		if err != nil {
			t.Fatal(err)
		}
		log, exceeds := changing(t, m), false
		for v := range log.Len() {
			got, certain, err := c.certificate(log.Until(v), v)
			own, other := c.sumsOf(log.Graph(v))
			if err != nil || other != nil || !certain {
				t.Fatalf("%s view %d: no certificate: %v, %v", kind, v, err, other)
			}
			end := log.At(v).First + 40
			if v+1 < log.Len() {
				end = log.At(v + 1).First
			}
			for s := log.At(v).First; s < end; s++ {
				for _, id := range log.At(v).IDs() {
					for _, e := range log.Until(v).Row(id, s).In {
						s0, s1 := backwards(log.Until(v), s, id, e.Peer)
						if s0 > got.S+1e-9 || s1 > got.S1+1e-9 {
							t.Fatalf("%s view %d exchange %d: %d and %d have the sums %v and %v, the certificate %v and %v", kind, v, s,
								id, e.Peer, s0, s1, got.S, got.S1)
						}
						exceeds = exceeds || s0 > own.own.S+1e-9
					}
				}
			}
		}
		if !exceeds {
			t.Errorf("%s: no pair exceeds the sums of its own view: the test says nothing", kind)
		}
	}
}

// Where views follow each other at once, grid errors return too often: a join waits, and the reason of a death says so.
func TestViewsWithoutACertificate(t *testing.T) {
	m := made(t, "algorithm.codec=moniqua", "algorithm.theta.rule=certified", "algorithm.bits=5", "topology.size=5",
		"membership={mode: view, min: 1, max: 8}", "topology.slack=1")
	c, err := m.Certificates()
	if err != nil {
		t.Fatal(err)
	}
	log := changing(t, m)
	certain := 0
	for ; log.Len() < 9 && c.Certain(log, next(log)); certain++ {
		if err := log.Add(next(log)); err != nil {
			t.Fatal(err)
		}
	}
	if certain == 0 || log.Len() == 9 {
		t.Fatalf("%d more views have a certificate, want some and not all", certain)
	}
	before, err := c.Rule(log, log.Len()-1)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Add(next(log)); err != nil {
		t.Fatal(err)
	}
	after, err := c.Rule(log, log.Len()-1)
	if err != nil || after(20) != before(20) {
		t.Errorf("theta %v after a view without a certificate, before %v, error %v", after(20), before(20), err)
	}
}

// next is a view of the same members. The last one gets no exchange.
func next(log *view.Log) view.Record {
	last := log.Last()
	return view.Record{View: log.Len(), First: last.First, Members: last.Members}
}
