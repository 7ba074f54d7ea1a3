package experiment

import (
	"fmt"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/bits"
	"gossiptrainer/internal/fault"
	"gossiptrainer/topology"
)

// CheckFaults returns an error at its key if the script of a run whose members come and go has faults that only the
// simulator plays.
func CheckFaults(c configs.Config) error {
	for i, f := range Script(c) {
		if c.Views() && f.Kind < fault.Join {
			return configs.Errorf(fmt.Sprintf("faults.script.%d", i), "%v: only peer sim plays it where members come and go: "+
				"write join, leave or die", f.Kind)
		}
	}
	return nil
}

// checkCoding warns of a choice that members cannot make: they do not measure their links.
func checkCoding(r *Run) []string {
	if !r.cfg.Views() || r.cfg.Wire.Entropy != "auto" || r.cfg.Limit.Rate != "" {
		return nil
	}
	return []string{"wire.entropy: auto codes nothing where members come and go and limit.rate is not set: set it to " +
		"the rate of your links, or name a coder, as wire.entropy: huff0"}
}

// checkViews returns why members of the run cannot come and go, nil if they can or if they need not.
func checkViews(r *Run) error {
	if !r.cfg.Views() {
		return nil
	}
	a, t := r.cfg.Algorithm, r.cfg.Topology
	rows, cols := topology.Sides(t.Size)
	switch {
	case !r.method.Takes.Views.Given:
		return configs.Errorf("algorithm.name", "%s: members cannot come and go: it %s", r.method,
			r.method.Takes.Views.Reason())
	case bits.Controlled(r.cfg.Algorithm.Controller) && a.Controller.Name != "oland-raj":
		return configs.Errorf("algorithm.controller.name", "%s: members cannot come and go: its choice depends on the time, "+
			"and no log of views replays it: must be fix or oland-raj", a.Controller.Name)
	case r.method.Asynchronous() && r.cfg.External():
		return configs.Errorf("algorithm.name", "%s: members cannot come and go with a script: its calls are those of "+
			"a round: take another algorithm", r.method)
	case quantized(r) && !r.modulo.InRun() && a.Theta.Rule != "fixed" && !r.modulo.Certifies():
		e := configs.Errorf("algorithm.theta.rule", "%s of %s: members cannot come and go: the bound is one of pairs that "+
			"stay: must be adaptive, measured or fixed", a.Theta.Rule, r.method)
		e.Problems[0].Hint = "with adaptive the members choose the bound in the run; or set algorithm.codec to full"
		return e
	case r.data.Local() && r.cfg.Train.Epochs > 0:
		return configs.Errorf("train.epochs", "members cannot come and go: no machine knows how many rows of their own the "+
			"others bring: leave it out, and give train.rounds").With("data.partition")
	case r.cfg.Data.Weighted():
		return configs.Errorf("data.weights", "%s: members cannot come and go: the weights are those of the founders: "+
			"must be workers", r.cfg.Data.Weights)
	case r.cfg.Data.Sizes.Law == "shares":
		return configs.Errorf("data.sizes.law", "shares: members cannot come and go: the list is one of the founders: "+
			"must be natural, equal, power or dirichlet")
	case len(r.cfg.Data.LabelNoise) > 1:
		return configs.Errorf("data.label_noise", "members cannot come and go: the list is one of the founders: "+
			"must have one number")
	case len(r.cfg.Train.Slow) > 0:
		return configs.Errorf("train.slow", "members cannot come and go: its keys are ranks of founders: leave it out")
	case len(r.cfg.Limit.Links) > 0:
		return configs.Errorf("limit.links", "members cannot come and go: its keys are ranks of founders: leave it out, "+
			"and give limit.rate or limit.latency")
	case r.method.On.Kind != "":
		return nil
	case topology.Kind(t.Kind).Sized() != "":
		return configs.Errorf("topology.kind", "%s: members cannot come and go: %s", t.Kind, topology.Kind(t.Kind).Sized())
	case topology.Kind(t.Kind).Takes("rows") && (t.Rows != rows || t.Cols != cols):
		return configs.Errorf("topology.rows", "%dx%d: members cannot come and go: each view takes the grid nearest to a "+
			"square: must be %dx%d", t.Rows, t.Cols, rows, cols).With("topology.cols")
	}
	return checkSizes(r)
}

// checkSizes checks graph and algorithm for each number of members.
func checkSizes(r *Run) error {
	m, on := r.cfg.Membership, r.method.On
	if on.Met != nil && m.Max > mostChecked {
		return configs.Errorf("membership.max", "%d: %s needs %s for each number of members: must be at most %d", m.Max,
			r.method, on.Need, mostChecked)
	}
	if r.modulo.Certifies() && m.Max > mostChecked {
		return configs.Errorf("membership.max", "%d: theta needs a certificate for each number of members: must be at "+
			"most %d", m.Max, mostChecked).With("algorithm.theta.rule")
	}
	for n := m.Min; n <= m.Max; n++ {
		spec := sized(r.graph.Spec(), n)
		if setting, why := spec.Check(); setting != "" {
			return configs.Errorf("topology."+setting, "%d members: %s", n, why).With("membership.min", "membership.max")
		}
		if on.Met == nil && !r.modulo.Certifies() {
			continue
		}
		g, err := topology.New(spec)
		if err == nil && on.Met != nil {
			err = admit(r, g)
		}
		if err == nil && r.modulo.Certifies() {
			err = r.modulo.CheckGraph(g)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leastGrace is the least silence that is a death on a network: a member may wait for a processor.
const leastGrace = time.Second

// KeepsMembers reports whether members on a network keep their states. Those of scripts and of pairs do not.
func KeepsMembers(r *Run) bool { return !r.cfg.External() && !r.method.Asynchronous() }

// CheckMember returns an error at its key if a member on a network cannot take part in a run whose members come and go.
func CheckMember(r *Run) error {
	cfg, usual := r.cfg, configs.Default()
	switch {
	case r.method.Asynchronous() && cfg.External():
		return configs.Errorf("algorithm.name", "%s: the scripts of members share their rounds: take another algorithm",
			cfg.Algorithm.Name)
	case int(cfg.Train.Rounds)%cfg.Algorithm.LocalSteps != 0:
		return configs.Errorf("train.rounds", "must be a multiple of algorithm.local_steps (%d) where members come and go",
			cfg.Algorithm.LocalSteps)
	case cfg.Checkpoint != usual.Checkpoint && !KeepsMembers(r):
		return configs.Errorf("checkpoint", "members of scripts and of adpsgd take no checkpoints: leave it out")
	case cfg.Checkpoint.Dir != "":
		return configs.Errorf("checkpoint.dir", "the checkpoints of a member are in its run folder: leave it out")
	case cfg.Checkpoint.Journal != usual.Checkpoint.Journal:
		return configs.Errorf("checkpoint.journal", "a member that comes back gets the state of another: leave it out")
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
