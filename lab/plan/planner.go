package plan

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/doctor"
	"gossiptrainer/app/session"
	"gossiptrainer/configs"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shape"
	"gossiptrainer/lab/rehearse"
)

// A Request says what to plan.
type Request struct {
	Source   configs.Source
	Axes     Axes
	Until    []string       // loss=0.5 or accuracy=0.9; none: derived from the run file
	Budget   time.Duration  // for measuring, rehearsing and simulating
	Machines int            // that the workers have: 1, or one for each; 0: as the run file says
	Cores    int            // of the one machine; 0: those of this one
	Probe    bool           // the links to the other machines of the roster are measured
	Doctor   doctor.Request // of that measurement
	Prove    bool           // the three best run with real peers
	Progress func(text string, now time.Time)
	Clock    func() time.Time // of the budget; nil: time.Now
	// Links measures the costs of links; nil: they cost nothing.
	Links rehearse.Links
}

// A planner makes a plan.
type planner struct {
	Request
	base     *configs.Loaded
	every    int      // rounds between records of the run file
	limits   []string // settings of measured links
	gradient time.Duration
	links    cost.Costs
	costs    map[string]cost.Costs // by class of candidates
	began    time.Time             // when the budget began: after other machines have come
	result   Plan
}

// left returns the rest of the budget, at least an eighth of it for the reference: without that there is no plan.
func left(p *planner) time.Duration {
	return max(p.Budget/8, p.Budget-p.Clock().Sub(p.began))
}

// tell shows the present step, and how much of the budget is left.
func (p *planner) tell(text string) {
	if p.Progress == nil {
		return
	}
	now := p.Clock()
	rest := ""
	if left := p.Budget - now.Sub(p.began); !p.began.IsZero() && left > 0 {
		rest = fmt.Sprintf(", at most %s left", human.Clock(left))
	}
	p.Progress("plan: "+text+rest, now)
}

// A trial is a candidate with what simulations have shown of it.
type trial struct {
	Candidate
	every        int    // rounds between records of the run file
	curve        *curve // nil before the first simulation
	halvingStage int    // of the last simulation
	sends        traffic
	guess        *estimate // before a simulation; nil: none
	diverged     string    // why the run has no end; "" if it has one
}

// load loads the run file with the changes of a candidate, and then with more. The changes are a layer of their own
// above the settings of the user, which may lose their effect by them.
func (p *planner) load(c Candidate, more ...string) (*configs.Loaded, error) {
	from := p.Source
	from.Flags = map[string]any{}
	for _, set := range [][]string{c.Set, more} {
		for _, s := range set {
			key, value, _ := strings.Cut(s, "=")
			from.Flags[key] = valueOf(value)
		}
	}
	return configs.Load(from)
}

// valueOf returns the number, the truth value, the empty list or the word that a text stands for.
func valueOf(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	switch text {
	case "true":
		return true
	case "[]":
		return []any{}
	}
	return text
}

// simulated are the settings of simulations: each round is recorded, and only targets of accuracy need evaluations.
func (p *planner) simulated() []string {
	set := append([]string{"output.every=1", "faults.script=[]"}, p.limits...)
	if p.result.Target.Metric != record.TestAccuracy {
		set = append(set, "output.evaluate=0")
	}
	return set
}

// assemble builds the run of a candidate for simulations.
func (p *planner) assemble(c Candidate) (*experiment.Run, error) {
	loaded, err := p.load(c, p.simulated()...)
	if err != nil {
		return nil, err
	}
	return session.AssembleHere(loaded, "sim")
}

// place decides how many machines and cores the workers have.
func (p *planner) place(roster bool) error {
	n := p.result.Workers
	switch {
	case p.Machines == 0 && roster:
		p.Machines = n
	case p.Machines == 0:
		p.Machines = 1
	case p.Machines != 1 && p.Machines != n:
		return advice.Usagef("plan: --machines %d: want 1, which all %d workers share, or %d, one for each", p.Machines, n, n)
	}
	if p.Cores < 0 {
		return advice.Usagef("plan: --cores %d: want at least 1", p.Cores)
	}
	if p.Cores == 0 {
		p.Cores = runtime.NumCPU()
	}
	p.result.Machines, p.result.Cores = p.Machines, p.Cores
	return nil
}

// shared returns the cores that all workers share, 0 if each has a machine.
func (p *planner) shared() int {
	if p.result.Machines == 1 {
		return p.result.Cores
	}
	return 0
}

// reference is D-PSGD on the graph of the run file without local steps.
func (p *planner) reference(bits int) Candidate {
	axes := Axes{Algorithms: []string{"dpsgd"}, Bits: []int{bits}, Graphs: []string{p.base.Config.Topology.Kind},
		Steps: []int{1}}
	all, _ := axes.candidates(p.base.Config)
	c := all[len(all)-1]
	if l, err := p.load(c); err == nil { // the caller loads it again, and reports the error
		c.Method = l.Config.Method().String()
	}
	return c
}

// linksOf describes the links that are predicted.
func linksOf(n shape.Network) string {
	if !n.Limited() {
		return "without limits"
	}
	var parts []string
	if n.Uplink.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%.4g Mbit/s", n.Uplink.Rate/1e6))
	}
	if n.Uplink.Latency > 0 {
		parts = append(parts, fmt.Sprintf("%s one way", n.Uplink.Latency))
	}
	if len(n.Links) > 0 {
		parts = append(parts, "some with limits of their own")
	}
	return strings.Join(parts, ", ")
}
