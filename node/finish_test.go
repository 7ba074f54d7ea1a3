package node

import (
	"sync"
	"testing"
	"time"

	"gossiptrainer/internal/record"
	"gossiptrainer/node/socket"
)

// finish runs a task to the end and has all nodes tell their results.
func (c *cluster) finish(t *testing.T, job task) [][]record.Final {
	t.Helper()
	finals, errs := c.run(t, t.Context(), job)
	all := make([][]record.Final, len(c.nodes))
	var wg sync.WaitGroup
	for i, n := range c.nodes {
		if errs[i] != nil {
			t.Fatalf("worker %d: %v", i, errs[i])
		}
		wg.Go(func() {
			var err error
			if all[i], err = n.Finish(t.Context(), finals[i]); err != nil {
				t.Errorf("worker %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	return all
}

func TestEveryWorkerLearnsAllResults(t *testing.T) {
	t.Parallel() // it waits for links
	for _, n := range []int{1, 2, 8} {
		var mu sync.Mutex
		seen := make(map[int]int) // results observed, by observer
		job := task{n: n, dim: 50, rounds: 10}
		c := newCluster(t, n, job.dim, func(rank int, o *Options) {
			o.Observe = func(e record.Event) {
				mu.Lock()
				defer mu.Unlock()
				if e.Final != nil {
					seen[rank]++
				}
			}
		})
		want := job.lockStep(t)
		for i, all := range c.finish(t, job) {
			if len(all) != n {
				t.Errorf("worker %d of %d knows %d results", i, n, len(all))
			}
			for j, f := range all {
				if f.Rank != j || f.Digest != want[j] {
					t.Errorf("worker %d has result %d of worker %d with digest %.8s, want %.8s", i, j, f.Rank, f.Digest, want[j])
				}
			}
			if seen[i] != n {
				t.Errorf("the observer of worker %d has seen %d results, want %d", i, seen[i], n)
			}
		}
	}
}

func TestOtherTransports(t *testing.T) {
	tests := map[string]func(o *Options){
		"noise": func(o *Options) { o.Security = socket.Noise },
		"quic":  func(o *Options) { o.Transport, o.Listen = socket.QUIC, []string{"/ip4/127.0.0.1/udp/0/quic-v1"} },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			job := task{n: 3, dim: 20_000, rounds: 10}
			c := newCluster(t, job.n, job.dim, func(_ int, o *Options) { change(o) })
			finals, errs := c.run(t, t.Context(), job)
			for i, want := range job.lockStep(t) {
				if errs[i] != nil || finals[i].Digest != want {
					t.Errorf("worker %d: digest %.8s, error %v, want %.8s", i, finals[i].Digest, errs[i], want)
				}
				if s := finals[i].Sent; s.Wire < s.Stream {
					t.Errorf("worker %d: %d bytes on the wire for %d on the streams", i, s.Wire, s.Stream)
				}
			}
		})
	}
}

// The counters match the bytes sent: frames exactly, encryption and other overhead at most a twentieth
// more for models of at least 100,000 bytes. Signs of life are frames as well and depend on the time,
// so the test sets their interval to an hour.
func TestBytesAreHonest(t *testing.T) {
	job := task{n: 3, dim: 25_000, rounds: 100}
	c := newCluster(t, job.n, job.dim, func(_ int, o *Options) { o.Detect = 8 * time.Hour })
	finals, errs := c.run(t, t.Context(), job)
	var sent, received record.Bytes
	for i, n := range c.nodes {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		payload := int64(2 * 4 * job.dim * job.rounds)
		s := finals[i].Sent
		if frames := int64(2 * (job.rounds + 1)); s.Payload != payload || s.Stream != payload+32*frames {
			t.Errorf("worker %d: sent %+v, want %d bytes of payload in %d frames", i, s, payload, frames)
		}
		ratio := float64(s.Wire) / float64(s.Payload)
		if ratio < 1 || ratio > 1.05 {
			t.Errorf("worker %d: %.4f bytes on the wire per byte of payload, want at most 1.05", i, ratio)
		}
		t.Logf("worker %d: wire/payload %.5f", i, ratio)
		counted := n.counters()
		var links int64
		for _, l := range counted.Links {
			links += l.Sent.Wire
		}
		if links < s.Stream || links > counted.Sent.Wire {
			t.Errorf("worker %d: links sent %d bytes, all sockets %d, streams %d", i, links, counted.Sent.Wire, s.Stream)
		}
		sent.Payload += counted.Sent.Payload
		received.Payload += counted.Received.Payload
	}
	if sent.Payload != received.Payload {
		t.Errorf("sent %d bytes of payload, received %d", sent.Payload, received.Payload)
	}
}
