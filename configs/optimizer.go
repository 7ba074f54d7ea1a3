package configs

// optimizerRules are about the optimizer, and about the bounds of its directions.
var optimizerRules = []rule{
	{[]string{"algorithm.theta.second", "algorithm.theta.rule", "algorithm.name", "algorithm.codec", "algorithm.bits"},
		func(c *Config, wrong complain) {
			t := c.Algorithm.Theta
			if c.modulo() && hasLanes(c.row()) && t.Rule == "fixed" && t.Second == 0 {
				wrong("algorithm.theta.second", "the rule fixed needs a second value above 0 for the directions that %s sends, "+
					"got 0", c.Algorithm.Name)
			}
		}},
	{[]string{"train.optimizer.beta2", "train.optimizer.beta1", "train.optimizer.name", "algorithm.theta.rule",
		"algorithm.codec", "algorithm.bits"}, func(c *Config, wrong complain) {
		o := c.Train.Optimizer
		if c.certain() && o.Name == "adamw" && o.Beta1*o.Beta1 >= o.Beta2 {
			wrong("train.optimizer.beta2", "no certificate for adamw with beta1² of at least beta2, for its steps have no "+
				"bound: must be above %.4g, or algorithm.theta.rule adaptive, got %v", o.Beta1*o.Beta1, o.Beta2)
		}
	}},
	{[]string{"train.optimizer.eps", "train.optimizer.name", "algorithm.theta.rule", "algorithm.codec",
		"algorithm.bits"}, func(c *Config, wrong complain) {
		const least = 1e-12
		if o := c.Train.Optimizer; c.certain() && o.Name == "adamw" && o.Eps < least {
			wrong("train.optimizer.eps", "a certified theta needs at least %v, because squares of small gradients vanish, "+
				"got %v", least, o.Eps)
		}
	}},
	{[]string{"train.warmup", "train.rounds", "train.epochs"}, func(c *Config, wrong complain) {
		if t := c.Train; t.Epochs == 0 && Rounds(t.Warmup) >= t.Rounds {
			wrong("train.warmup", "a warm-up of %d rounds leaves none of %d: must be smaller", t.Warmup, t.Rounds)
		}
	}},
}

// certain reports whether theta follows from a bound on the directions.
func (c *Config) certain() bool {
	rule := c.Algorithm.Theta.Rule
	return c.modulo() && !c.External() && (rule == "certified" || rule == "theorem")
}
