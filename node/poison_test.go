package node

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
)

// poisoned is the worker that sends poison.
const poisoned = 1

// A poisoner is a worker that changes its messages when it sends them: some of them the first time, or
// all.
type poisoner struct {
	*gossip.Worker
	from, every int                                 // the first round with poison, and the rounds between two
	always      bool                                // also when a message is sent again
	spoil       func(f gossip.Frame) []gossip.Frame // returns the frames to send in place of a message

	done map[[2]int]bool // by receiver and round
}

func (p *poisoner) Ready() gossip.Ready {
	r := p.Worker.Ready()
	var send []gossip.Frame
	for _, f := range r.Send {
		at := [2]int{int(f.To), f.Round}
		if f.Kind != gossip.Data || f.Round < p.from || (f.Round-p.from)%p.every != 0 || p.done[at] && !p.always {
			send = append(send, f)
			continue
		}
		p.done[at] = true
		f.Payload = slices.Clone(f.Payload)
		send = append(send, p.spoil(f)...)
	}
	r.Send = send
	return r
}

// payloads returns a function that changes the payload of a frame.
func payloads(change func(b []byte) []byte) func(f gossip.Frame) []gossip.Frame {
	return func(f gossip.Frame) []gossip.Frame {
		f.Payload = change(f.Payload)
		return []gossip.Frame{f}
	}
}

func value(v float64) func(f gossip.Frame) []gossip.Frame {
	return payloads(func(b []byte) []byte {
		binary.LittleEndian.PutUint32(b[len(b)/8*4:], math.Float32bits(float32(v)))
		return b
	})
}

// twice sends a frame after a changed copy of it.
func twice(change func(f *gossip.Frame)) func(f gossip.Frame) []gossip.Frame {
	return func(f gossip.Frame) []gossip.Frame {
		bad := f
		bad.Payload = slices.Clone(f.Payload)
		change(&bad)
		return []gossip.Frame{bad, f}
	}
}

// twisted returns c with a poisoner.
func (c task) twisted(p poisoner) task {
	c.twist = func(rank int, w *gossip.Worker) gossip.Machine {
		if rank != poisoned {
			return w
		}
		own := p
		own.Worker, own.done = w, make(map[[2]int]bool)
		return &own
	}
	return c
}

// Receivers refuse, count and attribute poison from real links. With the honest messages that follow,
// the run ends as it would have without poison.
func TestPoisonLeavesNoTrace(t *testing.T) {
	const rounds, every = 40, 8
	tests := map[string]struct {
		spoil  func(f gossip.Frame) []gossip.Frame
		reason string // of its counter
	}{
		"NaN":                 {value(math.NaN()), "unusable"},
		"infinity":            {value(math.Inf(-1)), "unusable"},
		"1e30":                {value(1e30), "absurd"},
		"too short":           {payloads(func(b []byte) []byte { return b[:len(b)-1] }), "unusable"},
		"too long":            {payloads(func(b []byte) []byte { return append(b, 0, 0, 0, 0) }), "unusable"},
		"longer than allowed": {payloads(func(b []byte) []byte { return make([]byte, 1<<20) }), "too long"},
		"nothing":             {payloads(func([]byte) []byte { return nil }), "unusable"},
		"replayed":            {twice(func(f *gossip.Frame) { f.Round -= 2; clear(f.Payload) }), "stale"},
		"of a far round":      {twice(func(f *gossip.Frame) { f.Round += 20; clear(f.Payload) }), "early"},
		"of another hop":      {twice(func(f *gossip.Frame) { f.Hop = 3 }), "no such hop"},
		"unasked repair":      {twice(func(f *gossip.Frame) { f.Kind = gossip.Repair; clear(f.Payload) }), "unasked"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // links that are lost wait before they come back
			job := task{n: 4, dim: 100, rounds: rounds}
			want := job.lockStep(t)
			c := newCluster(t, job.n, job.dim, nil)
			finals, errs := c.run(t, t.Context(), job.twisted(poisoner{from: 3, every: every, spoil: test.spoil}))
			for i := range want {
				if errs[i] != nil || finals[i].Digest != want[i] {
					t.Errorf("worker %d: digest %.8s, error %v, want %.8s", i, finals[i].Digest, errs[i], want[i])
				}
			}
			for _, rank := range []int{0, 2} {
				blamed := c.nodes[rank].counters().Blamed
				if n := blamed[poisoned][test.reason]; n < rounds/every {
					t.Errorf("worker %d blames %v, want worker %d for %q, %d times", rank, blamed, poisoned, test.reason, rounds/every)
				}
				for other, by := range blamed {
					for reason := range by {
						if other != poisoned && !honest(reason) {
							t.Errorf("worker %d blames worker %d, who is honest, for %q", rank, other, reason)
						}
					}
				}
			}
		})
	}
}

// Honest tells whether honest workers too are blamed for reason: a new link brings frames that the receiver has.
func honest(reason string) bool {
	return slices.Contains([]string{"stale", "duplicate", "early"}, reason)
}

// A worker that sends nothing but poison is cut off, and changes no honest model.
func TestAPersistentPoisonerIsCutOff(t *testing.T) {
	const from = 3
	job := task{n: 4, dim: 100, rounds: 40}
	before := job
	before.rounds = from
	want := before.lockStep(t)
	c := newCluster(t, job.n, job.dim, nil)
	bad := job.twisted(poisoner{from: from, every: 1, always: true, spoil: value(math.NaN())})
	fails := func(w *Worker) { w.Lost = Fail }
	finals, errs := c.runAs(t, t.Context(), bad, fails)
	cut := 0
	for _, rank := range []int{0, 2} {
		if finals[rank].Digest != want[rank] {
			t.Errorf("worker %d: digest %.8s, want that of round %d, %.8s", rank, finals[rank].Digest, from, want[rank])
		}
		var net *NetworkError
		var stop *StoppedError
		switch err := errs[rank]; {
		case errors.As(err, &net) && strings.Contains(err.Error(), "cut off worker 1 in round 3 after 8 offences"):
			cut++
		case !errors.As(err, &stop) || !strings.Contains(err.Error(), "cut off worker 1"):
			t.Errorf("worker %d: error %v, want that worker 1 was cut off", rank, err)
		}
	}
	if cut == 0 {
		t.Errorf("nobody has cut worker 1 off: %v", errs)
	}
	if errs[3] == nil || !strings.Contains(errs[3].Error(), "cut off worker 1") {
		t.Errorf("worker 3: error %v, want why the run has ended", errs[3])
	}
}

// A model with all signs flipped is a valid message. It has the same effect over real links as without
// a network, and clipping keeps the honest models together.
func TestAFlippedModelIsClipped(t *testing.T) {
	flip := payloads(func(b []byte) []byte {
		for i := 3; i < len(b); i += 4 {
			b[i] ^= 0x80
		}
		return b
	})
	for name, clip := range map[string]*algos.Clip{"plain": nil, "clipped": {Liars: 1}} {
		t.Run(name, func(t *testing.T) {
			job := task{n: 8, dim: 100, rounds: 60, clip: clip}.twisted(poisoner{every: 1, always: true, spoil: flip})
			want := job.lockStep(t)
			c := newCluster(t, job.n, job.dim, nil)
			finals, errs := c.run(t, t.Context(), job)
			for i := range want {
				if errs[i] != nil || finals[i].Digest != want[i] {
					t.Errorf("worker %d: digest %.8s, error %v, want %.8s", i, finals[i].Digest, errs[i], want[i])
				}
			}
			for reason := range c.nodes[0].counters().Blamed[poisoned] {
				if !honest(reason) {
					t.Errorf("worker 0 blames the liar for %q, which nobody can see", reason)
				}
			}
		})
	}
}
