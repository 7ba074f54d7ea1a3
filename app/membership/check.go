package membership

import (
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
)

// leastGrace is the least silence that is a death on a network: a member may wait for a processor.
const leastGrace = time.Second

// Check refuses what a member on a network cannot do yet.
func Check(run *experiment.Run) error {
	cfg, usual := run.Config(), configs.Default()
	switch {
	case run.Asynchronous() && cfg.External():
		return configs.Errorf("algorithm.name", "%s: the scripts of members share their rounds: take another algorithm",
			cfg.Algorithm.Name)
	case int(cfg.Train.Rounds)%cfg.Algorithm.LocalSteps != 0:
		return configs.Errorf("train.rounds", "must be a multiple of algorithm.local_steps (%d) where members come and go",
			cfg.Algorithm.LocalSteps)
	case cfg.Wire.Entropy != usual.Wire.Entropy:
		return configs.Errorf("wire.entropy", "%s: letters of members are not coded: must be %s", cfg.Wire.Entropy,
			usual.Wire.Entropy)
	case cfg.Checkpoint != usual.Checkpoint:
		return configs.Errorf("checkpoint", "members on a network take no checkpoints: one that comes back gets the state "+
			"of another: leave it out")
	case cfg.Node.OpenLinks != usual.Node.OpenLinks:
		return configs.Errorf("node.open_links", "members keep a link to each other one: leave it out")
	case cfg.Faults.Tolerance != usual.Faults.Tolerance:
		return configs.Errorf("faults.tolerance", "a member cuts no other one off: leave it out")
	case time.Duration(cfg.Membership.Grace) < leastGrace:
		return configs.Errorf("membership.grace", "must be at least %v on a network, got %v", leastGrace,
			time.Duration(cfg.Membership.Grace))
	}
	return nil
}
