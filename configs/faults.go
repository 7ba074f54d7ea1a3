package configs

// bound says why an algorithm cannot go on with another W.
var bound = map[string]string{
	"d2":          "corrects by the last round's W",
	"choco":       "keeps a replica of every neighbour, which follows all that was sent",
	"deepsqueeze": "carries the error of what all neighbours got",
	"dcd":         "keeps a replica of every neighbour, which follows all that was sent",
	"ecd":         "keeps an estimate of every neighbour, which follows all that was sent",
	"allreduce":   "needs all workers in every round",
	"naive":       "drifts with W",
}

// faultRules say with what the policy reweight does not go.
var faultRules = []rule{
	{[]string{"faults.on_lost_neighbor", "algorithm.name"}, func(c *Config, wrong complain) {
		if why := bound[c.Algorithm.Name]; why != "" && c.reweights() {
			wrong("faults.on_lost_neighbor", "%s %s: must be wait or stop, or the algorithm dpsgd or adpsgd", c.Algorithm.Name, why)
		}
	}},
	{[]string{"faults.on_lost_neighbor", "algorithm.controller.name"}, func(c *Config, wrong complain) {
		if c.reweights() && c.Algorithm.Controller.Name != "fix" {
			wrong("faults.on_lost_neighbor", "bits are agreed on by all workers in time: must be wait or stop, or the controller fix, got %s", c.Algorithm.Controller.Name)
		}
	}},
	{[]string{"algorithm.theta.verify", "faults.on_lost_neighbor", "algorithm.name", "algorithm.codec", "algorithm.bits"}, func(c *Config, wrong complain) {
		if c.reweights() && c.modulo() && !c.Algorithm.Theta.Verify {
			wrong("algorithm.theta.verify", "must be true with the policy reweight: nothing bounds what models differ by while W changes")
		}
	}},
	{[]string{"faults.on_lost_neighbor", "algorithm.theta.rule", "topology.kind", "algorithm.name", "algorithm.codec", "algorithm.bits"}, func(c *Config, wrong complain) {
		rule := c.Algorithm.Theta.Rule
		if c.reweights() && c.modulo() && (rule == "certified" || rule == "theorem") && c.Topology.Kind != "ring" {
			wrong("faults.on_lost_neighbor", "no certificate for what remains of a %s, only for that of a ring: must be wait or stop, or theta.rule adaptive", c.Topology.Kind)
		}
	}},
}

// reweights says whether lost neighbours are done without.
func (c *Config) reweights() bool { return c.Faults.OnLostNeighbor == "reweight" }

// modulo says whether models travel in the modulo codec.
func (c *Config) modulo() bool {
	a := c.Algorithm
	return takesCodec(a.Name) && a.Codec == "moniqua" && a.Bits != 32
}
