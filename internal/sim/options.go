package sim

import (
	"slices"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shape"
	"gossiptrainer/topology"
)

// Options describe the network, the time of gradients, the end of the run and its faults.
type Options struct {
	Network shape.Network
	// Compute returns the virtual time that a worker's gradient of round k takes.
	Compute func(worker topology.Rank, k int) time.Duration
	Steady  bool // no time of Compute depends on the round
	// Together writes what the tasks' Gradient would write, for workers in turn whose models are rows. It reports false,
	// and has changed nothing that counts, where each worker has to be asked: so it is where one would fail. Nil: always.
	Together func(k int, s algos.Stacked) bool
	Models   algos.Rows         // the memory in which the models of all workers begin, where it is one
	Costs    cost.Costs         // of coding and of links, apart from gradients; the zero value: they take no time
	Cores    int                // that all workers share; 0: every gradient and every worker's coding has a core
	Ending   Ending             // of a run that may end before its last round
	Faults   *Faults            // made on purpose; nil: none
	Observe  func(record.Event) // is called with every event of the record; nil: there is no record
	Keep     *Keeping           // takes states from which the run can go on; nil: there are none
	From     *Saved             // the state from which the run goes on, with the machines at its round; nil: the beginning
}

// An Ending ends a run before its rounds are over. Workers that share rounds end with the last round that any of them
// has begun by then. The run is then, bit for bit, a run of that many rounds, unless step sizes depend on the number of
// rounds. Asynchronous workers end with the step in which they are.
type Ending struct {
	Time time.Duration // virtual time at which the run ends; 0: never
	// Until is called with each record, in the order of virtual time, until it returns true; nil: never.
	Until func(record.Step) bool

	due       bool // the run ends now
	announced bool // the workers know
}

// watch ends the run if a record fulfils the condition.
func (e *Ending) watch(step record.Step) {
	if e.Until != nil && !e.due {
		e.due = e.Until(step)
	}
}

// A Result holds the costs of a run.
type Result struct {
	Time     time.Duration     // virtual time at which the last worker finished
	Rounds   []int             // rounds finished, by worker
	Sent     []record.Bytes    // by worker; Wire is modelled
	Messages []record.Messages // by worker
	Events   int               // events handled
	Effects  []Effect          // of the faults, in the order in which they began
	Pending  []fault.Fault     // faults whose moment the run did not reach
	Gone     []topology.Rank   // workers that were lost for good
}

// Lost reports whether the run ended without a worker.
func (r Result) Lost(rank int) bool { return slices.Contains(r.Gone, topology.Rank(rank)) }
