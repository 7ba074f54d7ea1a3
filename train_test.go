package gossiptrainer_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gossiptrainer"
	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// A bowl is ½·|x − centre|².
type bowl struct {
	centre []float32
	fails  error // in round 3
}

func (b bowl) Dim() int { return len(b.centre) }

func (b bowl) Gradient(g []float32, k int, x []float32) (loss float32, err error) {
	if k == 3 {
		err = b.fails
	}
	for c, o := range b.centre {
		g[c] = x[c] - o
		loss += g[c] * g[c] / 2
	}
	return loss, err
}

func bowls(n int) []gossiptrainer.Objective {
	var all []gossiptrainer.Objective
	for i := range n {
		all = append(all, bowl{centre: []float32{float32(i), 1, float32(-2 * i)}})
	}
	return all
}

func training(n int) gossiptrainer.Training {
	return gossiptrainer.Training{
		Run: "bowls", Workers: n, Rounds: 60, StepSize: func(k int) float32 { return 2 / float32(4+k) },
	}
}

// modulo sends models at 8 bits by the modulo codec.
func modulo(w gossiptrainer.Worker) (gossip.Algorithm, error) {
	codec, err := moniqua.New(256, moniqua.Nearest, func(int) float64 { return 4 }, 1, w.Rank)
	return &algos.DPSGD{X: w.X, Alpha: w.StepSize, Codec: codec}, err
}

// overNetwork runs all workers as peers of this machine that know each other.
func overNetwork(
	ctx context.Context, t gossiptrainer.Training, objective func(i int) gossiptrainer.Objective,
) ([]gossiptrainer.Result, error) {
	var known []string
	results, errs := make([]gossiptrainer.Result, t.Workers), make([]error, t.Workers)
	var running sync.WaitGroup
	for i := range t.Workers {
		mine := t
		listening := make(chan []string, 1)
		mine.Network.Listen, mine.Network.Peers = []string{"/ip4/127.0.0.1/tcp/0"}, slices.Clone(known)
		mine.Network.Listening = func(addrs []string) { listening <- addrs }
		running.Go(func() {
			results[i], errs[i] = gossiptrainer.Train(ctx, mine, objective(i))
			close(listening)
		})
		known = append(known, <-listening...)
	}
	running.Wait()
	slices.SortFunc(results, func(a, b gossiptrainer.Result) int { return int(a.Rank - b.Rank) })
	return results, errors.Join(errs...)
}

func digests(results []gossiptrainer.Result) []string {
	var all []string
	for _, r := range results {
		all = append(all, r.Digest)
	}
	return all
}

func TestAllWorkersReachTheMean(t *testing.T) {
	for name, test := range map[string]struct {
		n      int
		change func(t *gossiptrainer.Training)
		near   float32
	}{
		"one worker":   {1, func(*gossiptrainer.Training) {}, 0.01},
		"two workers":  {2, func(*gossiptrainer.Training) {}, 0.05},
		"ring of five": {5, func(*gossiptrainer.Training) {}, 0.3},
		"complete graph": {5, func(t *gossiptrainer.Training) {
			t.Graph = topology.Spec{Kind: topology.Complete, N: 5}
		}, 0.2},
		"eight bits":       {3, func(t *gossiptrainer.Training) { t.Algorithm = modulo }, 0.2},
		"started far away": {2, func(t *gossiptrainer.Training) { t.Start = []float32{9, 9, 9} }, 0.05},
	} {
		t.Run(name, func(t *testing.T) {
			run := training(test.n)
			test.change(&run)
			results, err := gossiptrainer.TrainAll(t.Context(), run, bowls(test.n)...)
			if err != nil {
				t.Fatal(err)
			}
			mean := float32(test.n-1) / 2
			for i, r := range results {
				for c, want := range []float32{mean, 1, -2 * mean} {
					if d := r.X[c] - want; int(r.Rank) != i || d > test.near || d < -test.near {
						t.Errorf("result %d: worker %d, x %v; want [%v 1 %v] within %v", i, r.Rank, r.X, mean, -2*mean, test.near)
					}
				}
			}
		})
	}
}

// All workers have the same data here, since a peer does not know its rank beforehand.
func TestNetworkGivesTheBitsOfOneProcess(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	same := func(int) gossiptrainer.Objective { return bowls(3)[2] }
	for name, algorithm := range map[string]func(gossiptrainer.Worker) (gossip.Algorithm, error){
		"full precision": nil, "eight bits": modulo,
	} {
		t.Run(name, func(t *testing.T) {
			run := training(3)
			run.Algorithm, run.Network.Secret = algorithm, "2cf24dba5fb0a30e26e83b2ac5b9e29e"
			want, err := gossiptrainer.TrainAll(ctx, run, same(0), same(1), same(2))
			if err != nil {
				t.Fatal(err)
			}
			got, err := overNetwork(ctx, run, same)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(digests(got), digests(want)) {
				t.Errorf("over the network %v, in one process %v", digests(got), digests(want))
			}
		})
	}
}

func TestObserveIsToldOfEveryGradient(t *testing.T) {
	run := training(2)
	rounds := make([]int, 2)
	run.Observe = func(p gossiptrainer.Progress) {
		if p.Round != rounds[p.Rank] {
			t.Errorf("worker %d: round %d, want %d", p.Rank, p.Round, rounds[p.Rank])
		}
		rounds[p.Rank]++
	}
	if _, err := gossiptrainer.TrainAll(t.Context(), run, bowls(2)...); err != nil || rounds[0] != 60 || rounds[1] != 60 {
		t.Errorf("rounds %v, error %v; want 60 of each worker", rounds, err)
	}
}

// one is an objective of one parameter.
func one() gossiptrainer.Objective { return bowl{centre: []float32{1}} }

func TestTrainingsThatCannotRunAreRefused(t *testing.T) {
	good := func(*gossiptrainer.Training) {}
	ring := topology.Spec{Kind: topology.Ring, N: 3}
	broken := bowl{[]float32{1}, errors.New("no data")}
	longStart := func(t *gossiptrainer.Training) { t.Start = []float32{1} }
	for name, test := range map[string]struct {
		change     func(t *gossiptrainer.Training)
		objectives []gossiptrainer.Objective
		want       string
	}{
		"no step size":        {func(t *gossiptrainer.Training) { t.StepSize = nil }, bowls(2), "set Training.StepSize"},
		"negative rounds":     {func(t *gossiptrainer.Training) { t.Rounds = -1 }, bowls(2), "-1 rounds"},
		"another start":       {longStart, bowls(2), "Start has 1 parameters"},
		"another graph":       {func(t *gossiptrainer.Training) { t.Graph = ring }, bowls(2), "ring:3 has 3"},
		"an unknown graph":    {func(t *gossiptrainer.Training) { t.Graph.Kind = "circle" }, bowls(2), `unknown kind "circle"`},
		"one objective":       {good, bowls(1), "1 objectives for 2 workers"},
		"other dimensions":    {good, []gossiptrainer.Objective{one(), bowls(1)[0]}, "worker 1: the objective has 3"},
		"no parameters":       {good, []gossiptrainer.Objective{bowl{}, bowl{}}, "Dim must return at least 1"},
		"a gradient's error":  {good, []gossiptrainer.Objective{one(), broken}, "worker 1: round 3: no data"},
		"a rule of no length": {func(t *gossiptrainer.Training) { t.Algorithm = empty }, bowls(2), "rule has 0 parameters"},
	} {
		t.Run(name, func(t *testing.T) {
			run := training(2)
			test.change(&run)
			_, err := gossiptrainer.TrainAll(t.Context(), run, test.objectives...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func empty(w gossiptrainer.Worker) (gossip.Algorithm, error) {
	return &algos.DPSGD{Alpha: w.StepSize, Codec: algos.Full{}}, nil
}

func TestTheContextEndsARun(t *testing.T) {
	cause := errors.New("enough")
	for name, train := range map[string]func(ctx context.Context, t gossiptrainer.Training) error{
		"in one process": func(ctx context.Context, t gossiptrainer.Training) error {
			_, err := gossiptrainer.TrainAll(ctx, t, bowls(2)...)
			return err
		},
		"over the network": func(ctx context.Context, t gossiptrainer.Training) error {
			_, err := overNetwork(ctx, t, func(i int) gossiptrainer.Objective { return bowls(2)[i] })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			run := training(2)
			run.Rounds = 1 << 30
			run.Observe = func(p gossiptrainer.Progress) {
				if p.Round == 5 {
					cancel(cause)
				}
			}
			if err := train(ctx, run); !errors.Is(err, cause) {
				t.Errorf("error %v, want one that wraps %v", err, cause)
			}
		})
	}
}

// Both peers fail: one refuses the other, or is refused by it.
func TestPeersOfDifferentTrainingsDoNotMeet(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	listening := make(chan []string, 1)
	run := training(2)
	run.Network = gossiptrainer.Network{
		Listen: []string{"/ip4/127.0.0.1/tcp/0"}, Listening: func(addrs []string) { listening <- addrs },
		Logger: slog.New(slog.DiscardHandler),
	}
	first := make(chan error, 1)
	waiting, stop := context.WithCancel(ctx)
	go func() {
		_, err := gossiptrainer.Train(waiting, run, one())
		first <- err
	}()
	other := run
	other.Rounds, other.Network.Peers, other.Network.Listening = 7, <-listening, nil
	if _, err := gossiptrainer.Train(ctx, other, one()); err == nil || !strings.Contains(err.Error(), "training") {
		t.Errorf("a peer of 7 rounds joins one of 60: error %v, want one that names the section training", err)
	}
	stop()
	if err := <-first; err == nil {
		t.Error("the peer of 60 rounds has trained without the other")
	}
}

func TestAddressesWithoutAnIDAreRefused(t *testing.T) {
	run := training(2)
	run.Network.Peers = []string{"/ip4/127.0.0.1/tcp/4001"}
	if _, err := gossiptrainer.Train(t.Context(), run, one()); err == nil || !strings.Contains(err.Error(), "/p2p/") {
		t.Errorf("error %v, want one that asks for /p2p/", err)
	}
}

func TestWithoutASecretNoOtherMachineReachesAWorker(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var addrs []string
	run := training(2)
	run.Network.Listening = func(at []string) {
		addrs = at
		cancel() // the other worker never comes
	}
	if _, err := gossiptrainer.Train(ctx, run, one()); err == nil || len(addrs) == 0 {
		t.Fatalf("addresses %v, error %v", addrs, err)
	}
	for _, address := range addrs {
		if !strings.HasPrefix(address, "/ip4/127.0.0.1/tcp/") {
			t.Errorf("listens at %s", address)
		}
	}
	run.Network.Listen = []string{"/ip4/0.0.0.0/tcp/0"}
	_, err := gossiptrainer.Train(t.Context(), run, one())
	if err == nil || !strings.Contains(err.Error(), "set Network.Secret") {
		t.Errorf("listens everywhere without a secret: error %v", err)
	}
}
