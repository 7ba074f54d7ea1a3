package node

import (
	"context"
	"sync"
	"testing"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/wire"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/internal/work"
	"gossiptrainer/quant"
)

func TestCodedRunsEqualLockStep(t *testing.T) {
	for _, coder := range []entropy.Coder{entropy.Huff0, entropy.Zstd, entropy.Auto} {
		for name, job := range map[string]task{
			"ring of three":             {n: 3, dim: 20_000, rounds: 10, entropy: coder},
			"all-reduce among four":     {n: 4, dim: 20_000, rounds: 10, entropy: coder, allReduce: true},
			"repairs on a ring of four": {n: 4, dim: 3000, rounds: 20, entropy: coder, verified: true},
		} {
			t.Run(coder.String()+", "+name, func(t *testing.T) {
				finals, errs := newCluster(t, job.n, job.dim, nil).run(t, t.Context(), job)
				for i, want := range job.lockStep(t) {
					if errs[i] != nil {
						t.Fatalf("worker %d: %v", i, errs[i])
					}
					f := finals[i]
					if f.Digest != want {
						t.Errorf("worker %d: digest %.8s, want %.8s", i, f.Digest, want)
					}
					if coder != entropy.Auto && !job.verified && f.Sent.Wire >= f.Sent.Payload {
						t.Errorf("worker %d: %d bytes at the socket for payloads of %d", i, f.Sent.Wire, f.Sent.Payload)
					}
					if f.Messages.Count == 0 || f.Messages.Stream > f.Sent.Stream {
						t.Errorf("worker %d: messages %+v of %+v", i, f.Messages, f.Sent)
					}
				}
			})
		}
	}
}

func TestOneMessageIsCodedOnce(t *testing.T) {
	w := Worker{Task: work.Task{Entropy: entropy.Huff0}}
	var refused refusals
	c, err := newCoding(&w, &refused, newDriver(w, newScript()).log)
	if err != nil {
		t.Fatal(err)
	}
	frame := gossip.Frame{Payload: make([]byte, 100_000), Round: 3}
	frame.Payload[7] = 1
	send := func() (first, second []byte) {
		p := c.mailing(frame, 2, 0)
		first, by := p.open()
		second, _ = p.open()
		if by != entropy.Huff0 || len(first) >= len(frame.Payload) {
			t.Fatalf("%v: %d bytes of %d", by, len(first), len(frame.Payload))
		}
		p.close()
		p.close()
		return first, second
	}
	if first, second := send(); &first[0] != &second[0] {
		t.Error("two links send a message that was coded twice")
	}
	if got := testing.AllocsPerRun(20, func() { send() }); got != 0 || len(c.free) != 1 {
		t.Errorf("%v allocations per message, %d kept", got, len(c.free))
	}
	for name, none := range map[string]*mailing{
		"a repair":     c.mailing(gossip.Frame{Kind: gossip.Repair, Payload: frame.Payload}, 1, 0),
		"no payload":   c.mailing(gossip.Frame{}, 1, 0),
		"no coding":    (*coding)(nil).mailing(frame, 1, 0),
		"no neighbour": c.mailing(frame, 0, 0),
	} {
		if none != nil {
			t.Errorf("%s is coded", name)
		}
	}
}

func TestAMessageOfAnotherLayoutIsSentAsItIs(t *testing.T) {
	w := Worker{Task: work.Task{
		Entropy: entropy.Huff0, Layout: func(gossip.Frame) quant.Layout { return quant.Floats(1) },
	}}
	var refused refusals
	c, err := newCoding(&w, &refused, newDriver(w, newScript()).log)
	if err != nil {
		t.Fatal(err)
	}
	payload, by := c.mailing(gossip.Frame{Payload: make([]byte, 99)}, 1, 0).open()
	if by != entropy.Plain || len(payload) != 99 || refused.Read()["not coded"] != 1 {
		t.Errorf("%v: %d bytes, counted %v", by, len(payload), refused.Read())
	}
}

func TestBadCodedFramesAreCountedAndTheLinkIsLost(t *testing.T) {
	encoder, err := entropy.NewEncoder(entropy.Huff0, entropy.Costs{})
	if err != nil {
		t.Fatal(err)
	}
	bomb, _, err := encoder.Encode(nil, make([]byte, 1<<20), quant.Bytes(1<<20), 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, payload := range map[string][]byte{"garbage": make([]byte, 100), "a bomb": bomb} {
		t.Run(name, func(t *testing.T) {
			c := both(t, nil)
			ctx, cancel := context.WithCancel(t.Context())
			w := task{n: 2, dim: 100, rounds: 3}.worker(t, 1)
			var wg sync.WaitGroup
			wg.Go(func() { c.nodes[1].Run(ctx, w) })
			talk := adversary(t, ctx, c)
			b, err := wire.AppendFrame(nil, wire.Header{Kind: wire.Data, Coder: entropy.Huff0, Epoch: c.nodes[0].me.Epoch}, payload)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := talk.Stream.Write(b); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the frame is counted", func() bool { return c.nodes[1].Counters().Refused["coding"] == 1 })
			cancel()
			wg.Wait()
		})
	}
}

func TestPaceIsTheBestOfTheLastLongFrames(t *testing.T) {
	var p pace
	p.note(paceBytes-1, time.Nanosecond)
	if got := p.best(); got != 0 {
		t.Errorf("a short frame tells of %v bytes a second", got)
	}
	p.note(1e6, time.Second)
	p.note(4e6, time.Second)
	for range paceFrames - 1 {
		p.note(2e6, time.Second)
	}
	if got := p.best(); got != 4e6 {
		t.Errorf("%v bytes a second, want those of the fastest frame", got)
	}
	p.note(2e6, time.Second)
	if got := p.best(); got != 2e6 {
		t.Errorf("%v bytes a second: an old frame counts", got)
	}
}

func TestTheTollIsThatOfTheSlowerDirection(t *testing.T) {
	var sent, received pace
	sent.note(1e6, time.Second)
	if got := tollOf(0, &sent, &received); got != 0 {
		t.Errorf("toll %v with one direction known", got)
	}
	received.note(5e5, time.Second)
	if got := tollOf(0, &sent, &received); got != 2e-6 {
		t.Errorf("toll %v, want that of 500 kB a second", got)
	}
	if got := tollOf(8e6, &sent, &received); got != 1e-6 {
		t.Errorf("toll %v, want that of the limit, a megabyte a second", got)
	}
}

func TestCostsAreMeasured(t *testing.T) {
	costs, err := measureCosts()
	if err != nil || costs.Huff0 <= 0 || costs.FSE <= 0 {
		t.Errorf("%+v, %v", costs, err)
	}
}
