package sim

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/internal/work"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

const rounds = 20

// pull is the gradient of |x − rank|²/2.
func pull(rank int) func(g []float32, k int, x []float32) (float32, error) {
	return func(g []float32, _ int, x []float32) (float32, error) {
		loss := float32(0)
		for i, v := range x {
			g[i] = v - float32(rank)
			loss += g[i] * g[i] / 2
		}
		return loss, nil
	}
}

func alpha(int) float32 { return 0.1 }

// ring returns n workers of D-PSGD with d parameters.
func ring(t *testing.T, n, d int, order algos.Order) []work.Task {
	t.Helper()
	return ringOf(t, n, d, order, rounds)
}

// ringOf is ring for another number of rounds.
func ringOf(t *testing.T, n, d int, order algos.Order, rounds int) []work.Task {
	t.Helper()
	graph := cycle(t, n)
	return workersOf(t, n, rounds, func(i int) (topology.Row, gossip.Algorithm) {
		return graph.Row(topology.Rank(i), 0), &algos.DPSGD{X: make([]float32, d), Alpha: alpha, Codec: algos.Full{},
			Order: order}
	})
}

func cycle(t *testing.T, n int) *topology.Graph {
	t.Helper()
	graph, err := topology.New(topology.Spec{Kind: "ring", N: n, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	return graph
}

func workers(t *testing.T, n int, make func(i int) (topology.Row, gossip.Algorithm)) []work.Task {
	t.Helper()
	return workersOf(t, n, rounds, make)
}

func workersOf(t *testing.T, n, rounds int, make func(i int) (topology.Row, gossip.Algorithm)) []work.Task {
	t.Helper()
	var all []work.Task
	for i := range n {
		row, alg := make(i)
		m, err := gossip.New(topology.Rank(i), row, alg, rounds)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, work.Task{
			Rank: topology.Rank(i), Machine: m, Gradient: pull(i), Rounds: rounds, Rows: row,
			Recording: work.Recording{Every: 1},
		})
	}
	return all
}

func takes(d time.Duration) func(topology.Rank, int) time.Duration {
	return func(topology.Rank, int) time.Duration { return d }
}

func run(t *testing.T, workers []work.Task, opt Options) Result {
	t.Helper()
	res, err := Run(t.Context(), workers, opt)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestTimeOfARound(t *testing.T) {
	const d = 1000
	network := shape.Network{Uplink: shape.Link{Rate: 8e6, Latency: 3 * time.Millisecond}}
	frame := WireBytes(StreamBytes(4*d), network.Uplink)
	send := func(frames int) time.Duration { // 1 byte a microsecond
		return time.Duration(frames*frame) * time.Microsecond
	}
	const slow, fast = 50 * time.Millisecond, time.Millisecond
	for _, c := range []struct {
		name    string
		order   algos.Order
		compute time.Duration
		want    time.Duration // time of a round
	}{
		{"overlap, bound by computing", algos.CTA, slow, slow},
		{"overlap, bound by sending", algos.CTA, fast, send(2) + 3*time.Millisecond},
		{"no overlap: the sum of both", algos.ATC, slow, slow + send(2) + 3*time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := run(t, ring(t, 5, d, c.order), Options{Network: network, Compute: takes(c.compute)})
			if want := rounds * c.want; res.Time != want {
				t.Errorf("%d rounds take %v, want %v", rounds, res.Time, want)
			}
		})
	}
}

func TestBytesAreThoseSent(t *testing.T) {
	const d = 100
	res := run(t, ring(t, 4, d, algos.CTA), Options{Compute: takes(1)})
	for i, sent := range res.Sent {
		want := record.Bytes{
			Payload: rounds * 2 * 4 * d,
			Stream:  rounds * 2 * int64(StreamBytes(4*d)),
			Wire:    rounds * 2 * int64(WireBytes(StreamBytes(4*d), shape.Link{})),
		}
		if sent != want {
			t.Errorf("worker %d sent %+v, want %+v", i, sent, want)
		}
	}
}

func TestTimeChangesNoResult(t *testing.T) {
	type setting struct {
		name string
		opt  Options
	}
	settings := []setting{
		{"fast", Options{Compute: takes(0)}},
		{"coding on one core", Options{Compute: takes(1), Cores: 1, Costs: cost.Costs{Encode: time.Second, Mix: time.Hour}}},
		{"slow links", Options{Compute: takes(time.Millisecond),
			Network: shape.Network{Uplink: shape.Link{Rate: 1e4, Latency: time.Second}}}},
		{"unequal workers", Options{Compute: func(i topology.Rank, k int) time.Duration {
			return time.Duration(1+(7*int(i)+3*k)%11) * time.Millisecond
		}, Network: shape.Network{Links: map[[2]topology.Rank]shape.Link{{0, 1}: {Rate: 1e5},
			{2, 3}: {Latency: time.Second}}}}},
	}
	for name, make := range map[string]func() []work.Task{
		"cta": func() []work.Task { return ring(t, 6, 7, algos.CTA) },
		"atc": func() []work.Task { return ring(t, 6, 7, algos.ATC) },
		"allreduce": func() []work.Task {
			return workers(t, 6, func(i int) (topology.Row, gossip.Algorithm) {
				return topology.Cycle(6)[i], &algos.AllReduce{X: []float32{0, 0, 0, 0, 0, 0, 0}, Alpha: alpha, Rank: i, Workers: 6}
			})
		},
	} {
		var want []work.Task
		for _, s := range settings {
			got := make()
			run(t, got, s.opt)
			if want == nil {
				want = got
				continue
			}
			for i := range got {
				for c, v := range got[i].Machine.Params() {
					if w := want[i].Machine.Params()[c]; v != w {
						t.Fatalf("%s, %s: worker %d coordinate %d is %v, want %v", name, s.name, i, c, v, w)
					}
				}
			}
		}
	}
}

func TestRecord(t *testing.T) {
	var steps []record.Step
	w := ring(t, 3, 5, algos.CTA)
	for i := range w {
		w[i].Theta = func(k int) float64 { return float64(k) }
		w[i].Bits = func(k int) int { return k + 2 }
		w[i].Every = 8
	}
	run(t, w, Options{
		Compute: takes(time.Millisecond),
		Network: shape.Network{Uplink: shape.Link{Latency: 5 * time.Millisecond}},
		Observe: stepsTo(func(s record.Step) { steps = append(steps, s) }),
	})
	var rounds []int
	for _, s := range steps {
		if s.Rank != 1 {
			continue
		}
		rounds = append(rounds, s.Round)
		if s.Time != time.Duration(s.Round)*5*time.Millisecond || s.Compute != time.Millisecond ||
			s.Wait != 4*time.Millisecond {
			t.Errorf("round %d at %v: compute %v, wait %v", s.Round, s.Time, s.Compute, s.Wait)
		}
		if s.Theta != float64(s.Round-1) || s.Bits != s.Round+1 || s.Loss <= 0 || s.Gap <= 0 || s.Moved != 5 {
			t.Errorf("round %d: %+v", s.Round, s)
		}
		if s.Received.Payload != int64(s.Round)*2*20 {
			t.Errorf("round %d: received %+v", s.Round, s.Received)
		}
	}
	if len(rounds) != 3 || rounds[0] != 8 || rounds[1] != 16 || rounds[2] != 20 {
		t.Errorf("records after rounds %v, want 8, 16 and the last", rounds)
	}
}

// A told machine remembers the times and losses that came with its gradients.
type told struct {
	gossip.Machine
	loss []float32
	now  []time.Duration
}

func (m *told) Gradient(g []float32, loss float32, now time.Duration) error {
	m.loss, m.now = append(m.loss, loss), append(m.now, now)
	return m.Machine.Gradient(g, loss, now)
}

func TestMachinesAreToldLossAndTime(t *testing.T) {
	w := ring(t, 3, 5, algos.ATC)
	m := &told{Machine: w[1].Machine}
	pull := w[1].Gradient
	w[1].Machine = m
	w[1].Gradient = func(g []float32, k int, x []float32) (float32, error) {
		_, err := pull(g, k, x)
		return float32(3 * k), err
	}
	run(t, w, Options{Compute: takes(time.Millisecond),
		Network: shape.Network{Uplink: shape.Link{Latency: 4 * time.Millisecond}}})
	for k := range rounds {
		if want := time.Duration(5*k+1) * time.Millisecond; m.loss[k] != float32(3*k) || m.now[k] != want {
			t.Errorf("round %d: loss %v at %v, want %v at %v", k, m.loss[k], m.now[k], 3*k, want)
		}
	}
}

func TestErrorsNameWorkerAndRound(t *testing.T) {
	broken := errors.New("loss is NaN")
	w := ring(t, 4, 3, algos.CTA)
	inner := w[2].Gradient
	w[2].Gradient = func(g []float32, k int, x []float32) (float32, error) {
		if k == 5 {
			return 0, broken
		}
		return inner(g, k, x)
	}
	_, err := Run(t.Context(), w, Options{Compute: takes(1)})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "worker 2 round 5") {
		t.Errorf("%v", err)
	}
}

func TestCancelEndsARun(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("interrupt")
	_, err := Run(ctx, ring(t, 4, 3, algos.CTA), Options{
		Compute: takes(1),
		Observe: func(record.Event) { cancel(stop) },
	})
	if !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

func TestAWorkerThatWaitsForEverIsNamed(t *testing.T) {
	rows := []topology.Row{{In: []topology.Edge{{Peer: 1, Weight: 0.5}}}, {}} // 0 waits for 1, which sends no message
	w := workers(t, 2, func(i int) (topology.Row, gossip.Algorithm) {
		return rows[i], &algos.DPSGD{X: make([]float32, 2), Alpha: alpha, Codec: algos.Full{}}
	})
	_, err := Run(t.Context(), w, Options{Compute: takes(1)})
	if err == nil || !strings.Contains(err.Error(), "worker 0 round 0 waits for workers [1], and no event is left") {
		t.Errorf("%v", err)
	}
}

func TestOneWorkerAlone(t *testing.T) {
	res := run(t, ring(t, 1, 3, algos.CTA), Options{Compute: takes(time.Second)})
	if res.Time != rounds*time.Second || res.Sent[0].Payload != 0 {
		t.Errorf("%+v", res)
	}
}

func TestCodingChangesBytesAndNothingElse(t *testing.T) {
	const d = 10_000
	var want Result
	var params []float32
	for _, coder := range []entropy.Coder{entropy.Plain, entropy.Auto, entropy.Huff0, entropy.FSE, entropy.Zstd,
		entropy.Bzip2} {
		w := ring(t, 3, d, algos.CTA)
		for i := range w {
			w[i].Coding.Layout = func(gossip.Frame) quant.Layout { return quant.Floats(d) }
			w[i].Parameters, w[i].Coding.Entropy = d, coder
		}
		var last record.Step
		got := run(t, w, Options{Compute: takes(1), Observe: stepsTo(func(s record.Step) { last = s })})
		if coder == entropy.Plain {
			want, params = got, w[0].Machine.Params()
		}
		if !slices.Equal(w[0].Machine.Params(), params) {
			t.Errorf("%v changes the parameters", coder)
		}
		sent := got.Sent[0]
		if sent.Payload != want.Sent[0].Payload {
			t.Errorf("%v: payloads of %d bytes, want %d", coder, sent.Payload, want.Sent[0].Payload)
		}
		shorter := coder != entropy.Plain && coder != entropy.Auto // without limits of links no coder is worth its cost
		if shorter != (sent.Stream < want.Sent[0].Stream) || shorter != (last.Effective < 32) {
			t.Errorf("%v: %d bytes on the stream, %.2f bits a parameter", coder, sent.Stream, last.Effective)
		}
		if m := got.Messages[0]; m.Count != 2*rounds || m.Stream != sent.Stream || m.Bits(d) != last.Effective {
			t.Errorf("%v: messages %+v, %.2f bits a parameter", coder, m, last.Effective)
		}
	}
}

func TestAutoCodesOnSlowLinks(t *testing.T) {
	const d = 10_000
	var times [2]time.Duration
	for i, coder := range []entropy.Coder{entropy.Plain, entropy.Auto} {
		w := ring(t, 3, d, algos.CTA)
		for i := range w {
			w[i].Coding.Layout, w[i].Coding.Entropy = func(gossip.Frame) quant.Layout { return quant.Floats(d) }, coder
		}
		times[i] = run(t, w, Options{Compute: takes(1), Network: shape.Network{Uplink: shape.Link{Rate: 1e6}}}).Time
	}
	if times[1] >= times[0] {
		t.Errorf("%v with coding, %v without", times[1], times[0])
	}
}

func TestAWrongLayoutIsAnError(t *testing.T) {
	w := ring(t, 3, 10, algos.CTA)
	w[1].Coding.Layout, w[1].Coding.Entropy = func(gossip.Frame) quant.Layout { return quant.Floats(9) }, entropy.Huff0
	_, err := Run(t.Context(), w, Options{Compute: takes(1)})
	if err == nil || !strings.Contains(err.Error(), "worker 1") {
		t.Errorf("error %v, want that of worker 1", err)
	}
}

// stepsTo passes on the steps of a record alone.
func stepsTo(see func(record.Step)) func(record.Event) {
	return func(e record.Event) {
		if e.Step != nil {
			see(*e.Step)
		}
	}
}
