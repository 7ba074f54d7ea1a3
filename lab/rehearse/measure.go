package rehearse

import (
	"context"
	"fmt"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/sim"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

const (
	// mostPeers is how many real peers this machine rehearses with.
	mostPeers = 16
	// leastRounds are needed for a mean.
	leastRounds = 24
	// A rehearsal takes at least 3 s, and longer if leastRounds take longer. Rounds for which 15 s are too short need no
	// rehearsal: links or gradients hide all else.
	rehearsed, longest = 3 * time.Second, 15 * time.Second
	// quickest is less than a round of real peers takes.
	quickest = 100 * time.Microsecond
)

// Links measures the costs of links.
type Links func(context.Context) (cost.Costs, error)

// Measure returns the costs of a run on this machine. It takes about ten seconds.
func Measure(ctx context.Context, run *experiment.Run, links Links) (cost.Costs, error) {
	costs, err := Costs(run)
	if err != nil {
		return costs, err
	}
	ends, err := links(ctx)
	if err != nil {
		return costs, fmt.Errorf("measure links: %w", err)
	}
	costs.Frame, costs.Link, costs.Late = ends.Frame, ends.Link, ends.Late
	return amongPeers(ctx, run, costs)
}

// amongPeers returns the costs of a run as they are in processes of real peers. Alone in one process work takes less
// time, because its data and code stay in the caches. In a process that waits for its neighbours in between they do
// not: after a pause of 5 ms the gradient of a small network takes twice as long. So real peers run for some seconds.
// Gradients and coding then cost what they took there, but never less than alone. Links keep their costs: their
// additional work on a limited link happens while a message is on its way.
func amongPeers(ctx context.Context, run *experiment.Run, costs cost.Costs) (cost.Costs, error) {
	if run.N() > mostPeers {
		return costs, nil
	}
	inside := costs
	inside.Frame, inside.Link = 0, 0
	alone, round, err := rounds(ctx, run, inside)
	if err != nil {
		return costs, err
	}
	round = max(round, quickest)
	took := max(rehearsed, leastRounds*round)
	if took > longest {
		return costs, nil
	}
	cfg := run.Config()
	cfg.Train.Rounds = max(cfg.Train.Rounds, configs.Rounds(10*took/round)) // the time ends it
	cfg.Output.Every = max(1, int(took/round/leastRounds))
	cfg.Output.Evaluate, cfg.Output.EvaluateSamples = 0, 32
	done, err := Run(ctx, cfg, "time="+took.String())
	if ctx.Err() != nil {
		return costs, err
	}
	if err != nil {
		return costs, advice.With(fmt.Errorf("measure real peers: %w", err),
			"costs of your own, as in --compute 'gradient=20ms encode=3ms mix=2ms'")
	}
	return among(costs, alone, done.Round(run.Config().Train.Slowdown)), nil
}

// among returns costs with which gradient and coding of a round take as long as those of real peers. With the costs as
// they are, they take those times alone.
func among(costs cost.Costs, alone, real record.Spent) cost.Costs {
	costs.Gradient = max(costs.Gradient, real.Compute)
	if alone.Codec > 0 {
		longer := max(1, float64(real.Codec)/float64(alone.Codec))
		for _, d := range []*time.Duration{&costs.Round, &costs.Encode, &costs.Mix, &costs.Repair} {
			*d = time.Duration(longer * float64(*d))
		}
	}
	return costs
}

// rounds simulates some rounds without gradients. It returns what a round of a worker takes and the time of a round, by
// costs alone, without processor times.
func rounds(ctx context.Context, run *experiment.Run, costs cost.Costs) (mean record.Spent, round time.Duration,
	err error) {
	var last record.Step
	steps := time.Duration(0)
	err = Simulate(ctx, run, leastRounds, sim.Options{
		Network: run.Network(),
		Compute: func(topology.Rank, int) time.Duration { return costs.Gradient },
		Costs:   costs,
		Observe: func(e record.Event) {
			if s := e.Step; s != nil {
				mean.Add(record.Spent{Compute: s.Compute, Codec: s.Codec})
				last, steps = *s, steps+1
			}
		},
	})
	if steps == 0 || err != nil {
		return mean, 0, err
	}
	round = last.Time / time.Duration(last.Round)
	return record.Spent{Compute: mean.Compute / steps, Codec: mean.Codec / steps}, round, nil
}

// Simulate runs some rounds without gradients: they are zero, and take their virtual time.
func Simulate(ctx context.Context, run *experiment.Run, rounds int, o sim.Options) error {
	workers, err := build.All(run)
	if err != nil {
		return err
	}
	tasks := build.Tasks(workers)
	for i := range tasks {
		tasks[i].Gradient = still
	}
	o.Ending.Until = func(s record.Step) bool { return s.Round >= rounds }
	_, err = sim.Run(ctx, tasks, o)
	return err
}

// still is a gradient of zero.
var still work.Gradient = func(g []float32, _ int, _ []float32) (float32, error) {
	clear(g)
	return 0, nil
}
