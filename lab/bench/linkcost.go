package bench

import (
	"context"
	"time"

	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/sim"
	"gossiptrainer/internal/work"
	"gossiptrainer/lab/rehearse"
	"gossiptrainer/topology"
)

// Tasks that yield the cost of a link: many small messages, large ones, and small ones on a limited link.
var (
	smallMessages = LinkTask{Dim: 16, Bits: 32, Rounds: 600}
	largeMessages = LinkTask{Dim: 1 << 20, Bits: 32, Rounds: 24}
	lateMessages  = LinkTask{Dim: 16, Bits: 32, Rounds: 300, Latency: time.Millisecond}
)

// linkTimes is how often they are measured.
const linkTimes = 3

// LinkCosts measures the costs of links on this machine: the processor time of a frame and of a megabyte at each end,
// and how late receivers wake up. It takes some seconds. Processes of this program exchange messages over loopback,
// with
// system calls and encryption. Their coding is measured without links, and does not count.
func LinkCosts(ctx context.Context) (cost.Costs, error) {
	small, err := linkWork(ctx, smallMessages)
	if err != nil {
		return cost.Costs{}, err
	}
	large, err := linkWork(ctx, largeMessages)
	if err != nil {
		return cost.Costs{}, err
	}
	late, err := linkWork(ctx, lateMessages)
	if err != nil {
		return cost.Costs{}, err
	}
	frame := small.took / small.ends
	perByte := max(0, large.took-frame*large.ends) / large.bytes
	return cost.Costs{
		Frame: time.Duration(frame).Round(100 * time.Nanosecond),
		Link:  time.Duration(1e6 * perByte).Round(time.Microsecond),
		Late:  max(0, late.round-small.round-lateMessages.Latency).Round(time.Microsecond),
	}, nil
}

// A linkLoad is the work of links in a round of all processes.
type linkLoad struct {
	took        float64 // nanoseconds of processor time without coding
	ends, bytes float64 // frames and bytes, each counted at both ends
	round       time.Duration
}

// linkWork measures the work of links in a task.
func linkWork(ctx context.Context, task LinkTask) (load linkLoad, err error) {
	var cpu, rounds sample
	for range linkTimes {
		found, err := linkRounds(ctx, task)
		if err != nil {
			return load, err
		}
		cpu, rounds = append(cpu, found.CPU), append(rounds, found.Round)
	}
	var coding float64
	coding, load.ends, load.bytes, err = linkCoding(task)
	load.took, load.round = max(0, float64(cpu.shortest())-coding), rounds.shortest()
	return load, err
}

// linkCoding returns the time of coding in a round of all processes, and the frames and bytes, each counted at both
// ends.
func linkCoding(task LinkTask) (took, ends, bytes float64, err error) {
	first, err := linkWorkers(task)
	if err != nil {
		return 0, 0, 0, err
	}
	made := 0
	for more := true; more; {
		r := first[0].Machine.Ready()
		more = r.More
		for _, f := range r.Send {
			ends += 2 * linkPeers
			bytes += float64(2 * linkPeers * sim.StreamBytes(len(f.Payload)))
		}
		if len(r.Send) > 0 {
			made += len(r.Send[0].Payload)
		}
	}
	workers, err := linkWorkers(task)
	if err != nil {
		return 0, 0, 0, err
	}
	costs, err := rehearse.CostsOf(workers)
	mixed := 2 * made // from two neighbours
	took = linkPeers * float64(cost.Megabytes(costs.Encode, made)+cost.Megabytes(costs.Mix, mixed))
	return took, ends, bytes, err
}

// linkWorkers returns the workers of a task.
func linkWorkers(task LinkTask) ([]work.Task, error) {
	all := make([]work.Task, linkPeers)
	for i := range all {
		w, _, err := task.worker(topology.Rank(i))
		if err != nil {
			return nil, err
		}
		all[i] = w.Task
	}
	return all, nil
}
