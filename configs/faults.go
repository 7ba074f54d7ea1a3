package configs

import (
	"strconv"

	"gossiptrainer/internal/registry"
	"gossiptrainer/topology"
)

// faultRules refuse settings that the policy reweight excludes.
var faultRules = []rule{
	{[]string{"faults.on_lost_neighbor", "algorithm.name"}, func(c *Config, wrong complain) {
		if policy := c.row().Takes.Reweight; !policy.Given && c.Reweights() {
			wrong("faults.on_lost_neighbor", "%s %s: must be wait or stop, or the algorithm %s",
				c.Algorithm.Name, policy.Reason(), either(registry.Names(reweights)))
		}
	}},
	{[]string{"faults.on_lost_neighbor", "algorithm.controller.name"}, func(c *Config, wrong complain) {
		if c.Reweights() && c.Algorithm.Controller.Name != "fix" {
			wrong("faults.on_lost_neighbor",
				"bits are agreed on by all workers in time: must be wait or stop, or the controller fix, got %s",
				c.Algorithm.Controller.Name)
		}
	}},
	{[]string{"algorithm.theta.verify", "faults.on_lost_neighbor", "algorithm.name", "algorithm.codec", "algorithm.bits"},
		func(c *Config, wrong complain) {
			if c.Reweights() && c.modulo() && !c.Algorithm.Theta.Verify {
				wrong("algorithm.theta.verify",
					"must be true with the policy reweight: nothing bounds what models differ by while W changes")
			}
		}},
	{[]string{"faults.on_lost_neighbor", "algorithm.theta.rule", "topology.kind", "algorithm.name", "algorithm.codec",
		"algorithm.bits"}, func(c *Config, wrong complain) {
		rule, kind := c.Algorithm.Theta.Rule, topology.Kind(c.Topology.Kind)
		if c.Reweights() && c.modulo() && (rule == "certified" || rule == "theorem") && !kind.Closes() {
			wrong("faults.on_lost_neighbor",
				"no certificate for what remains of a %s, only for that of a ring: must be wait or stop, or theta.rule adaptive",
				c.Topology.Kind)
		}
	}},
}

// Reweights reports whether workers go on without lost neighbours.
func (c Config) Reweights() bool { return c.Faults.OnLostNeighbor == "reweight" }

// Views reports whether members join, leave and die while the run goes on.
func (c *Config) Views() bool { return c.Membership.Mode == "view" }

// modulo reports whether models travel in the modulo codec.
func (c *Config) modulo() bool {
	a := c.Algorithm
	return c.row().ByMoniqua() && a.Codec == registry.Moniqua && a.Bits != 32
}

// Slowdown returns the factor, 1 or more, by which a worker's gradients take longer. In an experiment it stands for a
// slow machine.
func (t Train) Slowdown(rank topology.Rank) float64 {
	return max(1, t.Slow[strconv.Itoa(int(rank))])
}
