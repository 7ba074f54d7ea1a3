package session

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/budget"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/forecast"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/machine"
	"gossiptrainer/internal/shape"
	"gossiptrainer/topology"
)

const (
	mostProcesses = 1000     // peers of a lab: each has sockets and threads of its own
	leastProcess  = 20 << 20 // bytes of a peer without its worker

	// Two round trips of a handshake must fit into the time of a dial, 5 s. Tests with slower uplinks did not complete
	// a handshake in that time.
	longestLatency = 1200 * time.Millisecond
	leastRate      = 20e3 // bit/s
)

// Assemble builds the run of a loaded run file. Settings that contradict each other are reported at their place in the
// run file.
func Assemble(loaded *configs.Loaded) (*experiment.Run, error) { return AssembleFor(nil, loaded) }

// AssembleFor is Assemble for a model that exists: the data are read as it needs them. nil is a new model.
func AssembleFor(trained *data.Trained, loaded *configs.Loaded) (*experiment.Run, error) {
	run, err := experiment.NewFor(trained, loaded.Config, loaded.Notes()...)
	if err != nil {
		return nil, loaded.Locate(err)
	}
	return run, nil
}

// AssembleHere is assemble for a mode: run, lab or sim. It refuses runs that cannot work on
// this machine, with the key and its place in the run file.
func AssembleHere(loaded *configs.Loaded, mode string) (*experiment.Run, error) {
	run, err := Assemble(loaded)
	if err == nil {
		err = loaded.Locate(fits(run, mode, machine.FreeMemory()))
	}
	return run, err
}

// Own is AssembleHere for a peer of its own on a LAN.
func Own(loaded *configs.Loaded) (*experiment.Run, error) { return AssembleHere(loaded, "run") }

// CheckMembers returns an error at its key if members that come and go cannot take part in a run. In mode lab they are
// processes of one machine, else machines.
func CheckMembers(run *experiment.Run, mode string) error {
	cfg := run.Config()
	switch {
	case !cfg.Views():
		return nil
	case mode == "lab" && cfg.Checkpoint != configs.Default().Checkpoint:
		return configs.Errorf("checkpoint", "members of a lab take no checkpoints: leave it out")
	}
	return cmp.Or(experiment.CheckFaults(cfg), experiment.CheckMember(run))
}

// fits refuses a run that cannot work on this machine before it allocates anything. memory is the free memory in bytes,
// 0 = not known.
func fits(run *experiment.Run, mode string, memory int64) error {
	if mode == "sim" {
		if err := experiment.CheckInside(run.Config()); err != nil {
			return err
		}
	} else {
		if err := CheckMembers(run, mode); err != nil {
			return err
		}
		if err := canMeet(run.Network()); err != nil {
			return err
		}
		if err := canLimit(run); err != nil {
			return err
		}
	}
	n := int64(run.N())
	needs, of := n*forecast.Memory(run), human.Count(run.N(), "worker")
	switch mode {
	case "lab":
		if n > mostProcesses {
			return refusal("topology.size",
				fmt.Sprintf("must be at most %d in a lab, where every peer is a process, got %d", mostProcesses, n),
				"take fewer peers, or peer sim: its workers are no processes")
		}
		needs += n * leastProcess
	case "run":
		needs, of = forecast.Memory(run)+leastProcess, "a worker"
	}
	if memory == 0 || needs <= memory {
		return nil
	}
	key := "model.name"
	if forecast.Memory(run) < leastProcess {
		key = "topology.size" // the number of workers takes the memory, not the model
	}
	return refusal(key, fmt.Sprintf("%s with %s must fit into memory: %s are left, %s are needed at least",
		of, human.Count(run.Dim(), "parameter"), human.Size(memory), human.Size(needs)),
		"take a smaller model, a smaller batch or fewer workers").
		With("model.hidden", "model.depth", "model.dim", "train.batch",
			"topology.size", "topology.rows", "topology.cols", "topology.file")
}

func refusal(key, message, hint string) *configs.Error {
	e := configs.Errorf(key, "%s", message)
	e.Problems[0].Hint = hint
	return e
}

// canMeet refuses limits under which peers cannot complete their handshakes in time.
func canMeet(n shape.Network) error {
	if err := shakesHands("limit", n.Uplink); err != nil {
		return err
	}
	for _, edge := range slices.SortedFunc(maps.Keys(n.Links), func(a, b [2]topology.Rank) int {
		return slices.Compare(a[:], b[:])
	}) {
		if err := shakesHands(fmt.Sprintf("limit.links.%d-%d", edge[0], edge[1]), n.Links[edge]); err != nil {
			return err
		}
	}
	return nil
}

// shakesHands refuses the limit at a key if a handshake takes too long under it.
func shakesHands(at string, link shape.Link) error {
	const hint = "peer sim computes with any limit"
	if latency := link.Latency + link.Jitter; latency > longestLatency {
		return refusal(at+".latency",
			fmt.Sprintf("must be at most %v with its jitter for real peers, whose handshakes take too long else, got %v",
				longestLatency, latency), hint).With(at + ".jitter")
	}
	if link.Rate > 0 && link.Rate < leastRate {
		return refusal(at+".rate",
			fmt.Sprintf("must be at least %gkbit for real peers, whose handshakes take too long else, got %gkbit",
				leastRate/1e3, link.Rate/1e3), hint)
	}
	return nil
}

// canLimit refuses limits over QUIC, whose connections share one socket: a peer cannot slow
// down a single link there.
func canLimit(run *experiment.Run) error {
	cfg := run.Config()
	if cfg.Node.Transport != "quic" {
		return nil
	}
	const hint = "set node.transport to tcp, or use peer sim, which computes with any limit"
	if run.Network().Limited() {
		return refusal("limit", "real peers keep limits over tcp only, but node.transport is quic", hint)
	}
	for i, f := range cfg.Faults.Script {
		if f.Rate != "" {
			return refusal(fmt.Sprintf("faults.script.%d.rate", i),
				"real peers keep a rate over tcp only, but node.transport is quic", hint)
		}
	}
	return nil
}

// Unplayed refuses a script in a command that starts a single peer.
func Unplayed(loaded *configs.Loaded) error {
	if len(loaded.Config.Faults.Script) == 0 {
		return nil
	}
	return loaded.Locate(configs.Errorf("faults.script", "peers that are started one by one do not play a script: "+
		"leave it out, or use peer lab or peer sim, which start all of them"))
}

// crowded says that all peers of a run on this machine would take more memory than is left, "" if there is room.
func crowded(run *experiment.Run) (warning string) {
	plans := make([]budget.Plan, run.N())
	for rank := range plans {
		plans[rank] = forecast.Plan(run, topology.Rank(rank))
	}
	return budget.Warning(plans, machine.FreeMemory())
}
