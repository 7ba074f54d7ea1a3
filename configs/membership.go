package configs

import (
	"time"

	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/human"
)

// membershipRules refuse numbers of members that contradict each other. Package experiment checks that members can come
// and go at all.
var membershipRules = []rule{
	{[]string{"membership.min", "membership.mode", "topology.size"}, func(c *Config, wrong complain) {
		if n := c.Topology.Size; c.Views() && c.Membership.Min > n {
			wrong("membership.min", "the run begins with %s, and with fewer than %d all wait: must be at most %d",
				human.Count(n, "member"), c.Membership.Min, n)
		}
	}},
	{[]string{"membership.max", "membership.mode", "topology.size"}, func(c *Config, wrong complain) {
		if n := c.Topology.Size; c.Views() && c.Membership.Max < n {
			wrong("membership.max", "the run begins with %s: must be at least %d, got %d", human.Count(n, "member"), n,
				c.Membership.Max)
		}
	}},
	{[]string{"membership.grace"}, func(c *Config, wrong complain) {
		if g := time.Duration(c.Membership.Grace); g < 500*time.Millisecond || g > 10*time.Minute {
			wrong("membership.grace", "must be 500ms to 10m, got %v", g)
		}
	}},
	{[]string{"membership.parent"}, func(c *Config, wrong complain) {
		if _, err := view.ParseParent(c.Membership.Parent); err != nil {
			wrong("membership.parent", "%v", err)
		}
	}},
}
