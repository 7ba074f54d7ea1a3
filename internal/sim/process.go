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

// A process is what a script of faults does to a worker. Without a script a worker has one process that runs.
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
	intro   gossip.Control // the introduction that it sends on meeting: place and durable
	reached int            // rounds that the present process has finished
	begun   int            // rounds that were finished when the present process began
	atDeath int            // rounds that the last process had finished when it was killed
	gone    bool           // no further process is started
	guest   *reservation   // the worker for which it keeps a place; nil: none
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

// A hang is what a hanging process has not seen yet.
type hang struct {
	since time.Duration // when it began
	count int           // hangs so far
	held  []event       // that wait until it wakes
	lost  []topology.Rank
	delay time.Duration // of its next gradient, because of the hang
}

// A storage is what outlives the processes of a worker. A real worker has it on disk.
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
	guest   topology.Rank
	process int // of the guest
	seat    elastic.Seat
}
