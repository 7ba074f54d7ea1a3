package sim

import (
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/elastic"
	layers "gossiptrainer/gossip/peer"
	"gossiptrainer/gossip/replay"
	"gossiptrainer/gossip/state"
	"gossiptrainer/topology"
)

// A process is the state of a worker's process under a script of faults. Without a script a worker has
// one process that runs.
//
//	status    meaning                                        event           next
//	running   it computes and receives                       it is killed    dead
//	                                                         it hangs        hanging
//	hanging   it stands still; messages to it wait           it wakes        running
//	                                                         it is killed    dead
//	dead      the worker has no process                      it is started   running
type process struct {
	status  status
	number  int // of the present process, from 1; 0 without a script
	layer   *layers.Peer
	intro   gossip.Control // introduction to neighbours: place and durable
	reached int            // rounds that the present process has finished
	begun   int            // rounds that were finished when the present process began
	atDeath int            // rounds that the last process had finished when it was killed
	gone    bool           // the worker gets no further process
	keeps   *reservation   // place that it keeps for a returning worker; nil: none
	hang
	storage
}

type status uint8

const (
	running status = iota
	hanging
	dead
)

// alive reports whether the worker has a process.
func (p *process) alive() bool { return p.status != dead }

// A hang holds the events that a hanging process has not seen yet.
type hang struct {
	since time.Duration // when it began
	count int           // hangs so far
	held  []event       // events that wait until it wakes
	lost  []topology.Rank
	delay time.Duration // of its next gradient, because of the hang
}

// A storage outlives the processes of a worker. A real worker has it on disk.
type storage struct {
	log    *replay.Memory
	kept   []checkpoint // oldest first
	spare  []*state.Snapshot
	fresh  bool          // the newest checkpoint is not reported to the layers yet
	taken  time.Duration // when the newest checkpoint was taken
	unkept int           // bytes of messages since then
}

// A checkpoint is the state of a worker before a round.
type checkpoint struct {
	round int
	state *state.Snapshot
}

// A reservation is the place that a worker keeps for one that returns under the policy reweight.
type reservation struct {
	rank    topology.Rank
	process int // number of the returning worker's process
	seat    elastic.Seat
}
