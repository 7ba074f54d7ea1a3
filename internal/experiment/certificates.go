package experiment

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
	run      *Run
	rounding moniqua.Rounding
	updates  moniqua.Updates

	mu    sync.Mutex
	sums  map[int]sumsOf    // by number of members
	rules map[int]certainty // by view
}

// sumsOf has the sums of a graph.
type sumsOf struct {
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

// CertificatesOf returns the certificates of a run, nil if its rule is not certified.
func CertificatesOf(r *Run) (*Certificates, error) {
	if !r.quantized() || r.cfg.Algorithm.Theta.Rule != "certified" {
		return nil, nil
	}
	rounding, err := moniqua.ParseRounding(r.cfg.Algorithm.Rounding)
	if err != nil {
		return nil, err
	}
	_, updates, err := r.bounded()
	return &Certificates{run: r, rounding: rounding, updates: updates, sums: map[int]sumsOf{},
		rules: map[int]certainty{}}, err
}

// certain returns an error at its key if there is no certificate for a graph.
func (r *Run) certain(g *topology.Graph) error {
	c, err := CertificatesOf(r)
	if err != nil {
		return err
	}
	of, err := c.of(g)
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

// rule returns the bound of a view.
func (c *Certificates) rule(log *view.Log, v int) (func(k int) float64, error) {
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
		sums, err := c.of(log.Graph(u))
		if err != nil {
			return last, false, err
		}
		rho = max(rho, sums.own.Rho)
		own := sums.own.In(past)
		own.Rho = rho
		if certain = own.Check() == nil; certain || u == 0 {
			last = own
		}
		if u < v {
			spread, cut := view.Contract(log, u)
			past = past.After(sums.all.S, sums.all.S1, spread, cut)
		}
	}
	return last, certain, nil
}

// of returns the sums of a graph.
func (c *Certificates) of(g *topology.Graph) (sumsOf, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.sums[g.N()]; ok {
		return s, nil
	}
	spectrum := topology.Spectrum{}
	var err error
	if g.Spec().Kind.Static() {
		if spectrum, err = g.Spectrum(); err != nil {
			return sumsOf{}, err
		}
	}
	sums, err := c.run.method.Theta.Certificate(g, spectrum, c.run.settings())
	if err != nil {
		return sumsOf{}, err
	}
	all, err := g.AllPathSums()
	s := sumsOf{all: all, own: moniqua.Certified{S: sums.S, S1: sums.S1, Rho: sums.Rho, Levels: c.run.levels(),
		Rounding: c.rounding}}
	c.sums[g.N()] = s
	return s, err
}
