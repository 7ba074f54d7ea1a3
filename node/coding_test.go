package node

import (
	"context"
	"sync"
	"testing"

	"gossiptrainer/internal/wire"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/quant"
)

func TestCodedRunsEqualLockStep(t *testing.T) {
	for _, coder := range []entropy.Coder{entropy.Huff0, entropy.Zstd, entropy.Auto} {
		for name, job := range map[string]task{
			"ring of three":             {n: 3, dim: 20_000, rounds: 4, entropy: coder},
			"all-reduce among four":     {n: 4, dim: 20_000, rounds: 4, entropy: coder, allReduce: true},
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
						t.Errorf("worker %d: %d bytes on the wire for payloads of %d", i, f.Sent.Wire, f.Sent.Payload)
					}
					if f.Messages.Count == 0 || f.Messages.Stream > f.Sent.Stream {
						t.Errorf("worker %d: messages %+v of %+v", i, f.Messages, f.Sent)
					}
				}
			})
		}
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
			h := wire.Header{Kind: wire.Data, Coder: entropy.Huff0, Epoch: uint32(c.nodes[0].me.Epoch)}
			b, err := wire.AppendFrame(nil, h, payload)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := talk.Stream.Write(b); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the frame is counted", func() bool { return c.nodes[1].counters().Refused["coding"] == 1 })
			cancel()
			wg.Wait()
		})
	}
}
