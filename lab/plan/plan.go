// Package plan predicts, before a run, how long other settings of it would take and what they would send. It measures
// gradient, messages and links on this machine, rehearses with real peers, simulates the beginnings of many candidates,
// and simulates the better ones for longer. The result is the frontier of time against bytes until a target.
//
// The pure parts are the candidates (axes.go), the division of the budget (halving.go), the continuation of curves
// (curve.go), the prediction with its interval (predict.go) and the frontier (frontier.go).
package plan

import (
	"context"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/cost"
)

// Make makes a plan.
func Make(ctx context.Context, r Request) (*Plan, error) {
	if r.Clock == nil {
		r.Clock = time.Now
	}
	began := r.Clock()
	p := &planner{Request: r, costs: map[string]cost.Costs{}}
	if err := p.open(); err != nil {
		return nil, err
	}
	trials, err := p.admit()
	if err != nil {
		return nil, err
	}
	if p.Probe {
		if err := p.probe(ctx); err != nil {
			return nil, err
		}
	}
	p.began = p.Clock()
	if err := p.measureLinks(ctx); err != nil {
		return nil, err
	}
	if p.result.Machines == 1 {
		if err := p.rehearse(ctx); err != nil {
			return nil, err
		}
	}
	f, err := p.search(ctx, trials)
	if err != nil {
		return nil, err
	}
	p.conclude(trials, f)
	if p.Prove {
		if err := p.prove(ctx, f, trials); err != nil {
			return nil, err
		}
	}
	p.result.Took = p.Clock().Sub(began).Seconds()
	return &p.result, p.keepBest()
}

// open reads the run file and refuses what cannot be planned.
func (p *planner) open() error {
	if err := p.Axes.check(); err != nil {
		return err
	}
	if p.Budget <= 0 {
		return advice.Usagef("plan: --budget %v: want a time above 0", p.Budget)
	}
	loaded, err := configs.Load(p.Source)
	if err != nil {
		return err
	}
	cfg := loaded.Config
	if cfg.External() {
		return loaded.Locate(configs.Errorf("model.name", "plan simulates models that are built in, and the gradients of an "+
			"external one are in its script: use peer compare with mode lab, which starts the script"))
	}
	p.base, p.every = loaded, cfg.Output.Every
	run, err := p.assemble(Candidate{})
	if err != nil {
		return err
	}
	if err := run.Data().Find(); err != nil {
		return err
	}
	p.result = Plan{Run: cfg.Name, Workers: run.N(), Rounds: int(run.Config().Train.Rounds), Refused: []Refusal{}}
	p.base.Config.Topology.Size = run.N()
	if err := p.place(len(cfg.Peers) > 0); err != nil {
		return err
	}
	p.result.Links = linksOf(run.Network())
	return p.aim(run)
}

// Budget is how long a plan measures and simulates unless the user says otherwise.
const Budget = 90 * time.Second

// proving is how long each of the best candidates runs with real peers at most.
const proving = time.Minute

// Help texts of the command.
const (
	Short = "predict time and bytes to a target for other settings of a run"
	Long  = Short + `

The command measures gradient, messages and frames on this machine, lets real peers rehearse for
some seconds, and ranks candidates, combinations of algorithm, bits, graph and local steps, by
bytes and links. It simulates the best of them. The table shows the Pareto frontier
of time and bytes. Each time has the range in which it is expected.

Without a roster the times are those of "peer lab": all workers share the cores of this machine,
under the limits of the run file. With one, each worker has a machine like this one; --probe
measures the links between them. --machines and --cores say otherwise. Evaluations and
checkpoints are not included.`
	Example = `  peer plan ring8 --set limit.rate=20mbit
  peer plan my-run.yaml --until accuracy=0.95 --budget 5m -o best.yaml
  peer plan my-run.yaml --prove        the three best with real peers, beside their predictions
  peer plan lan.yaml --probe           the other machines run doctor meanwhile`
)
