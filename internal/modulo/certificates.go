package modulo

import (
	"sync"

	"gossiptrainer/configs"
	"gossiptrainer/gossip/view"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// Certificates are the certified bounds of a run whose members come and go, by view. Members meet that were no
// neighbours before, so the bound of a view depends on the views before it, see docs/math.md#members. It is safe for
// concurrent use.
type Certificates struct {
	of      *Maker
	updates moniqua.Updates

	mu    sync.Mutex
	sums  map[int]sums      // by number of members
	rules map[int]certainty // by view
}

// sums has the sums of a graph.
type sums struct {
	own moniqua.Certified // over the pairs that exchange
	all topology.Sums     // over all pairs
}

// A certainty is the rule of a view. It is not certain where there is no certificate: then it is that of the view
// before.
type certainty struct {
	theta   func(k int) float64
	certain bool
}

// mostRules bounds the rules that are kept: each has a table of all rounds.
const mostRules = 4

// Certificates returns the certificates of a run, nil if its rule is not certified. A nil Maker has none.
func (m *Maker) Certificates() (*Certificates, error) {
	if m == nil || m.Algorithm.Theta.Rule != "certified" {
		return nil, nil
	}
	_, updates, err := m.bounded()
	return &Certificates{of: m, updates: updates, sums: map[int]sums{},
		rules: map[int]certainty{}}, err
}

// CheckGraph returns an error at its key if there is no certificate for a graph.
func (m *Maker) CheckGraph(g *topology.Graph) error {
	c, err := m.Certificates()
	if err != nil {
		return err
	}
	of, err := c.sumsOf(g)
	if err == nil {
		err = of.own.Check()
	}
	if err != nil {
		return configs.Errorf("algorithm.theta.rule", "certified, with %d members: %v", g.N(), err).With("algorithm.bits",
			"membership.min", "membership.max")
	}
	return nil
}

// Certain reports whether a record that comes after those of a log leaves a certificate.
func (c *Certificates) Certain(log *view.Log, r view.Record) bool {
	next := log.Clone()
	if next.Add(r) != nil {
		return true // such a record does not come
	}
	of, err := c.compute(next, r.View)
	return err == nil && of.certain
}

// Rule returns the bound of a view.
func (c *Certificates) Rule(log *view.Log, v int) (func(k int) float64, error) {
	c.mu.Lock()
	of, ok := c.rules[v]
	c.mu.Unlock()
	if ok {
		return of.theta, nil
	}
	of, err := c.compute(log.Until(v), v)
	if err != nil {
		return nil, err
	}
	of.theta = portable(of.theta)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rules[v] = of
	for old := range c.rules {
		if old <= v-mostRules {
			delete(c.rules, old)
		}
	}
	return of.theta, nil
}

// compute goes through the views of a log, of which v is the last.
func (c *Certificates) compute(log *view.Log, v int) (of certainty, err error) {
	last, certain, err := c.certificate(log, v)
	if err == nil {
		of.certain = certain
		of.theta, err = last.Rule(c.updates)
	}
	return of, err
}

// certificate returns that of the last view of a log, v. If it has none, it is that of the view before.
func (c *Certificates) certificate(log *view.Log, v int) (last moniqua.Certified, certain bool, err error) {
	var past moniqua.Past
	rho := 0.0
	for u := range v + 1 {
		of, err := c.sumsOf(log.Graph(u))
		if err != nil {
			return last, false, err
		}
		rho = max(rho, of.own.Rho)
		own := of.own.In(past)
		own.Rho = rho
		if certain = own.Check() == nil; certain || u == 0 {
			last = own
		}
		if u < v {
			spread, cut := view.Contract(log, u)
			past = past.After(of.all.S, of.all.S1, spread, cut)
		}
	}
	return last, certain, nil
}

// sumsOf returns the sums of a graph.
func (c *Certificates) sumsOf(g *topology.Graph) (sums, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.sums[g.N()]; ok {
		return s, nil
	}
	spectrum := topology.Spectrum{}
	var err error
	if g.Spec().Kind.Static() {
		if spectrum, err = g.Spectrum(); err != nil {
			return sums{}, err
		}
	}
	m := c.of
	own, err := m.Method.Theta.Certificate(g, spectrum, m.Settings)
	if err != nil {
		return sums{}, err
	}
	all, err := g.AllPathSums()
	s := sums{all: all, own: moniqua.Certified{S: own.S, S1: own.S1, Rho: own.Rho, Levels: Levels(m.Algorithm),
		Rounding: m.rounding()}}
	c.sums[g.N()] = s
	return s, err
}
