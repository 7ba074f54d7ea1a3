package vector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"go.uber.org/goleak"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/rng"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/identity"
	"gossiptrainer/node/socket"
	"gossiptrainer/topology"
)

// Libraries start some goroutines once per process and never end them.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"),
		goleak.IgnoreAnyFunction("github.com/libp2p/go-flow-metrics.(*sweeper).run"),
	)
}

// newHost starts a host on loopback.
func newHost(t testing.TB) *socket.Host {
	t.Helper()
	who, err := identity.Ephemeral()
	if err != nil {
		t.Fatal(err)
	}
	h, err := socket.New(socket.Config{Key: who.Key(), Listen: []string{"/ip4/127.0.0.1/tcp/0"}, Workers: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// newService returns the service of worker rank of n on a host.
func newService(t testing.TB, h *socket.Host, rank, n int) *Service {
	hello := handshake.Hello{N: n, Dim: 1, Rank: rank, Durable: gossip.Undurable, Epoch: uint64(1 + rank)}
	s := New(Config{
		Host: h, Hello: func() handshake.Hello { return hello }, Admission: &handshake.Admission{Self: h.ID(), Run: "test"},
		Detect: time.Second, Refused: new(socket.Refusals), Log: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(s.Close)
	return s
}

// group starts the services of a run of n.
func group(t testing.TB, n int) []*Service {
	t.Helper()
	var ids []peer.ID
	services := make([]*Service, n)
	for rank := range services {
		h := newHost(t)
		services[rank], ids = newService(t, h, rank, n), append(ids, h.ID())
	}
	for rank, s := range services {
		for i, id := range ids {
			if i != rank {
				s.Host.Peerstore().AddAddrs(id, services[i].Host.Addrs(), peerstore.PermanentAddrTTL)
			}
		}
		s.Know(handshake.Members{IDs: ids, Self: topology.Rank(rank)})
	}
	return services
}

// all runs do at all workers at once and fails the test with its errors.
func all(t testing.TB, services []*Service, do func(rank int, s *Service) error) {
	t.Helper()
	var wg sync.WaitGroup
	for rank, s := range services {
		wg.Go(func() {
			if err := do(rank, s); err != nil {
				t.Errorf("worker %d: %v", rank, err)
			}
		})
	}
	wg.Wait()
}

// values returns n numbers of different sizes, so that the order of a sum shows in its bits.
func values(seed uint64, n int) []float32 {
	key, x := rng.At(seed, 0), make([]float32, n)
	for i := range x {
		x[i] = float32(math.Ldexp(float64(key.Uniform(uint32(i))-0.5), i*7%40))
	}
	return x
}

func TestStartComesFromWorker0(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			const dim = 50_000 // several pieces
			services := group(t, n)
			want := values(0, dim)
			all(t, services, func(rank int, s *Service) error {
				x := values(uint64(rank), dim)
				if err := s.Start(t.Context(), x); err != nil {
					return err
				}
				if !slices.Equal(x, want) {
					return errors.New("has another start")
				}
				return nil
			})
			for rank, s := range services {
				if sent, _ := s.Carried(); sent > 2*4*dim {
					t.Errorf("worker %d has sent %d bytes, want at most two vectors", rank, sent)
				}
			}
		})
	}
}

func TestAverageIsTheMeanInTheOrderOfRanks(t *testing.T) {
	for _, c := range []struct{ n, dim int }{{1, 10}, {2, 1}, {4, 3}, {5, 100_003}} {
		t.Run(fmt.Sprintf("%d of %d", c.n, c.dim), func(t *testing.T) {
			services := group(t, c.n)
			const calls = 3
			got := make([][calls][]float32, c.n)
			all(t, services, func(rank int, s *Service) error {
				for call := range calls {
					var err error
					x := values(uint64(10*call+rank), c.dim)
					if got[rank][call], err = s.Average(t.Context(), call+1, x, Fail); err != nil {
						return err
					}
					clear(x) // belongs to the caller again
				}
				return nil
			})
			for call := range calls {
				sum, want := make([]float64, c.dim), make([]float32, c.dim)
				for rank := range c.n {
					for i, v := range values(uint64(10*call+rank), c.dim) {
						sum[i] += float64(v)
					}
				}
				for i, v := range sum {
					want[i] = float32(v / float64(c.n))
				}
				for rank := range c.n {
					if !slices.Equal(got[rank][call], want) {
						t.Errorf("call %d, worker %d: another mean than in the order of ranks", call+1, rank)
					}
				}
			}
			for rank, s := range services {
				for k := range s.shelf.copies {
					if k.tag != tagPart || k.call != calls {
						t.Errorf("worker %d still keeps %v", rank, k)
					}
				}
				if sent, _ := s.Carried(); c.dim > 100 && sent > 2*calls*4*int64(c.dim) {
					t.Errorf("worker %d has sent %d bytes, want at most two vectors per call", rank, sent)
				}
			}
		})
	}
}

func TestAMeanIsSummedInTheOrderOfRanks(t *testing.T) {
	// In any other order the sum is 1 or more, since 1 is below the last bit of 1e20.
	vectors := [][]float32{{1e20}, {1}, nil, {-1e20}}
	if got := mean(vectors, 1); got[0] != 0 {
		t.Errorf("mean %v, want 0", got)
	}
	if got := mean([][]float32{nil, {3}, {4}}, 1); got[0] != 3.5 {
		t.Errorf("mean of two of three workers is %v, want 3.5", got)
	}
}

// With another worker 1, workers 0, 2 and 3 agree and only worker 1 fails. Worker 3, which fetches from
// worker 1, goes on waiting for a process that fits.
func TestOnlyTheWorkerWithOtherSettingsEnds(t *testing.T) {
	const odd = 1
	services := group(t, 4)
	hello := services[odd].Hello()
	hello.Declare([]handshake.Section{{Name: "script", JSON: []byte(`{"elements":2}`)}})
	services[odd].Hello = func() handshake.Hello { return hello }
	ctx, cancel := context.WithCancelCause(t.Context())
	done := errors.New("enough")
	var ended sync.WaitGroup // the workers that need no end of the context
	ended.Add(3)
	go func() {
		ended.Wait()
		cancel(done)
	}()
	all(t, services, func(rank int, s *Service) error {
		err := s.Start(ctx, make([]float32, 2))
		if rank != 3 {
			ended.Done()
		}
		switch {
		case rank == odd:
			if no, refused := errors.AsType[*handshake.RefusedError](err); !refused || no.Section != "script" {
				return fmt.Errorf("error %w, want a refusal", err)
			}
		case rank == 3:
			if !errors.Is(err, done) {
				return fmt.Errorf("error %w, want to wait", err)
			}
		case err != nil:
			return err
		}
		return nil
	})
}

func TestFetchWaitsForTheVector(t *testing.T) {
	services := group(t, 2)
	x := make([]float32, 3)
	done := make(chan error)
	go func() { done <- services[1].Fetch(t.Context(), 0, "start", x) }()
	for !services[0].Serves(1) { // the request is there or on its way
		select {
		case err := <-done:
			t.Fatalf("fetched what is not there: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	services[0].Publish("start", []float32{1, 2, 3})
	if err := <-done; err != nil || !slices.Equal(x, []float32{1, 2, 3}) {
		t.Errorf("fetched %v, error %v", x, err)
	}
}

func TestAPublishedVectorIsACopyThatGoesWithTheLastReader(t *testing.T) {
	services := group(t, 3)
	x := []float32{1, 2}
	services[0].Publish("start", x)
	last := services[0].shelf.changed
	x[0] = 7
	got := make([]float32, 2)
	for _, s := range services[1:] {
		if p, _, _ := services[0].shelf.find(key{tag: "start"}); p == nil {
			t.Error("the copy is gone too early")
		}
		if err := s.Fetch(t.Context(), 0, "start", got); err != nil || got[0] != 1 {
			t.Errorf("fetched %v, error %v", got, err)
		}
	}
	<-last // the owner learns of the last fetch a little later
	refused(t, services[1].Fetch(t.Context(), 0, "start", got), handshake.LostState,
		"vector start of worker 0", "not kept any more")
}

// refused checks the reason of a refusal and its text.
func refused(t *testing.T, err error, want handshake.Reason, texts ...string) {
	t.Helper()
	no, ok := errors.AsType[*handshake.RefusedError](err)
	if !ok || no.Reason != want {
		t.Fatalf("error %v, want a refusal because of %v", err, want)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q, want %q in it", err, text)
		}
	}
}

func TestAnotherLengthIsRefused(t *testing.T) {
	services := group(t, 2)
	services[0].Publish("start", make([]float32, 10))
	refused(t, services[1].Fetch(t.Context(), 0, "start", make([]float32, 9)), handshake.OtherShape,
		"vector start of worker 0", "has 10 elements here, 9 are wanted")
}

func TestAWorkerThatLeavesIsNotAwaited(t *testing.T) {
	services := group(t, 3)
	services[1].Leave()
	go services[2].Average(t.Context(), 1, make([]float32, 6), Fail)
	_, err := services[0].Average(t.Context(), 1, make([]float32, 6), LeaveOut)
	refused(t, err, handshake.RunOver, "average 1", "vector mean/1 of worker 1", "has finished without")
	services[2].Close()
}

func TestAResumedWorkerHasNoStart(t *testing.T) {
	services := group(t, 2)
	services[0].NoStart()
	refused(t, services[1].Start(t.Context(), make([]float32, 6)), handshake.LostState, "vector start of worker 0")
}

// A run is interrupted before all have the start. Those that have it lend it to the others.
func TestAResumedWorkerLendsTheStart(t *testing.T) {
	services, want, reads := group(t, 3), values(0, 6), 0
	services[0].LendStart(func() ([]float32, error) { reads++; return want, nil })
	services[0].NoStart()
	if reads != 0 {
		t.Error("the start is read although no worker has asked")
	}
	for _, s := range services[1:] {
		x := make([]float32, 6)
		if err := s.Start(t.Context(), x); err != nil || !slices.Equal(x, want) {
			t.Errorf("has the start %v, error %v; want %v", x, err, want)
		}
	}
	if reads != 1 {
		t.Errorf("the start is read %d times", reads)
	}
	services = group(t, 2)
	services[0].LendStart(func() ([]float32, error) { return nil, nil })
	refused(t, services[1].Start(t.Context(), make([]float32, 6)), handshake.LostState, "vector start of worker 0")
}

func TestALostWorkerEndsOrLeavesTheAverage(t *testing.T) {
	services := group(t, 3)
	x := []float32{3, 6, 9}
	average := func(rank int, lost Absence) ([]float32, error) {
		s := services[rank]
		s.enter(2)
		s.mu.Lock()
		s.absent[2] = true // it has been gone for long
		s.mu.Unlock()
		return s.Average(t.Context(), 1, x, lost)
	}
	services[2].Host.Close()
	_, err := average(0, Fail)
	if !errors.Is(err, errLost) || !strings.Contains(err.Error(), "of worker 2: lost") {
		t.Errorf("error %v, want that worker 2 is lost", err)
	}
	all(t, services[:2], func(rank int, s *Service) error {
		mean, err := average(rank, LeaveOut)
		if err == nil && !slices.Equal(mean, x) {
			err = fmt.Errorf("mean of equal vectors %v is %v", x, mean)
		}
		return err
	})
}

func TestStrangersGetNothing(t *testing.T) {
	services := group(t, 2)
	services[0].Publish("start", make([]float32, 10))
	h := newHost(t)
	stranger := newService(t, h, 1, 2)
	h.Peerstore().AddAddrs(services[0].Host.ID(), services[0].Host.Addrs(), peerstore.PermanentAddrTTL)
	stranger.Know(handshake.Members{IDs: []peer.ID{services[0].Host.ID(), h.ID()}, Self: 1})
	refused(t, stranger.Fetch(t.Context(), 0, "start", make([]float32, 10)), handshake.Stranger)
	if n := services[0].Refused.Read()["refused stranger"]; n != 1 {
		t.Errorf("%d strangers counted, want 1", n)
	}
	if sent, _ := services[0].Carried(); sent != 0 {
		t.Errorf("a stranger got %d bytes", sent)
	}
}

// lines receives the lines of a log.
type lines chan string

func (l lines) Write(text []byte) (int, error) {
	l <- string(text)
	return len(text), nil
}

// A member with another secret gets nothing. It learns why, and waits: the other end may start with the right one.
func TestAMemberWithAnotherSecretGetsNothing(t *testing.T) {
	services, said := group(t, 2), make(lines, 100)
	services[1].Admission.Secret = []byte("another")
	services[1].Log = slog.New(slog.NewTextHandler(said, nil))
	services[0].Publish("start", make([]float32, 10))
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() { ended <- services[1].Fetch(ctx, 0, "start", make([]float32, 10)) }()
	if line := <-said; !strings.Contains(line, "join secret differs") || !strings.Contains(line, "copy the same secret") {
		t.Errorf("it says %q, want why and the fix", line)
	}
	done := errors.New("enough")
	cancel(done)
	if err := <-ended; !errors.Is(err, done) {
		t.Errorf("error %v, want to wait until %v", err, done)
	}
	if sent, _ := services[0].Carried(); sent != 0 {
		t.Errorf("a peer without the secret got %d bytes", sent)
	}
}

func TestOnlyAWorkerThatWasThereIsLost(t *testing.T) {
	silent := errors.New("no answer")
	for _, c := range []struct {
		name   string
		before func(s *Service)
		after  time.Duration // 0: never
	}{
		{"never there", func(*Service) {}, 0},
		{"was there", func(s *Service) { s.enter(0) }, lostAfter},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHost(t)
			s := newService(t, h, 1, 2)
			s.Know(handshake.Members{IDs: []peer.ID{"nobody", h.ID()}, Self: 1})
			c.before(s)
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began := time.Now()
				err := s.pursue(ctx, 0, func() (bool, error) { return false, silent })
				took := time.Since(began)
				if c.after == 0 {
					if !errors.Is(err, context.DeadlineExceeded) || took != time.Hour {
						t.Errorf("error %v after %v, want the end of the context", err, took)
					}
				} else if !errors.Is(err, errLost) || took < c.after || took > c.after+socket.LastRetry {
					t.Errorf("error %v after %v, want a lost worker after %v", err, took, c.after)
				}
			})
		})
	}
}
