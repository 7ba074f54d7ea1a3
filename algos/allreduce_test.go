package algos_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/topology"
)

// cycle makes n replicas with d parameters and takes them through one round
// with the gradients vector(i, d). It returns the bytes each has sent.
func cycle(t *testing.T, n, d int) (replicas []*algos.AllReduce, bytes []int) {
	t.Helper()
	rows := topology.Cycle(n)
	bytes = make([]int, n)
	for i := range n {
		replicas = append(replicas, &algos.AllReduce{X: vector(99, d), Alpha: constant(0.5), Rank: i, Workers: n})
		if err := replicas[i].Descend(0, vector(uint64(i), d)); err != nil {
			t.Fatal(err)
		}
	}
	for hop := range replicas[0].Plan().Hops {
		sent := make([][]byte, n)
		for i, a := range replicas {
			payload, err := a.Send(0, hop, nil)
			if err != nil {
				t.Fatal(err)
			}
			sent[i] = payload
			bytes[i] += len(payload)
		}
		for i, a := range replicas {
			from := rows[i].In[0].Peer
			if _, err := a.Mix(0, hop, []algos.Message{{From: from, Weight: 1, Payload: sent[from]}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return replicas, bytes
}

func TestAllReduceTakesTheMeanGradient(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 8} {
		for _, d := range []int{0, 1, 2, 3, 7, 8, 13, 100} {
			t.Run(fmt.Sprintf("n=%d/d=%d", n, d), func(t *testing.T) {
				replicas, _ := cycle(t, n, d)
				for c, x := range vector(99, d) {
					want := float64(x)
					for i := range n {
						want -= 0.5 / float64(n) * float64(vector(uint64(i), d)[c])
					}
					if got := float64(replicas[0].Params()[c]); math.Abs(got-want) > 1e-6 {
						t.Errorf("coordinate %d: %v, want %v", c, got, want)
					}
				}
				for i, a := range replicas {
					if !slices.Equal(a.X, replicas[0].X) {
						t.Errorf("replica %d is not equal to replica 0", i)
					}
				}
			})
		}
	}
}

// On the complete graph, adapting and then combining is all-reduce.
func TestAllReduceIsATCOnTheCompleteGraph(t *testing.T) {
	const n, d = 5, 40
	replicas, _ := cycle(t, n, d)
	var workers [n]*algos.DPSGD
	var in [n]algos.Message
	for i := range workers {
		workers[i] = &algos.DPSGD{X: vector(99, d), Alpha: constant(0.5), Codec: algos.Full{}, Order: algos.ATC}
		if err := workers[i].Descend(0, vector(uint64(i), d)); err != nil {
			t.Fatal(err)
		}
		payload, err := workers[i].Send(0, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		in[i] = algos.Message{From: topology.Rank(i), Weight: 1. / n, Payload: payload}
	}
	for i, a := range workers {
		if _, err := a.Mix(0, 0, slices.Delete(slices.Clone(in[:]), i, i+1)); err != nil {
			t.Fatal(err)
		}
		for c, v := range a.X {
			if want := replicas[i].X[c]; math.Abs(float64(v-want)) > 1e-6 {
				t.Errorf("worker %d coordinate %d: %v, all-reduce %v", i, c, v, want)
			}
		}
	}
}

// The bytes are 2(n−1)/n·4d, the least possible for any all-reduce.
func TestAllReduceSendsEachChunkTwice(t *testing.T) {
	const n, d = 4, 100
	_, bytes := cycle(t, n, d)
	for i, got := range bytes {
		if want := 2 * (n - 1) * 4 * d / n; got != want {
			t.Errorf("worker %d sent %d bytes, want %d", i, got, want)
		}
	}
}

func TestAllReducePlans(t *testing.T) {
	tests := []struct {
		name    string
		workers int
		want    algos.Plan
	}{
		{"one worker", 1, algos.Plan{Hops: 0, Lead: 1}},
		{"two workers", 2, algos.Plan{Hops: 2, Lead: 1}},
		{"eight workers", 8, algos.Plan{Hops: 14, Lead: 7}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := &algos.AllReduce{Workers: test.workers}
			if a.Plan() != test.want || a.ExtraMemory() != 0 {
				t.Errorf("plan %+v and %d bytes, want %+v and none", a.Plan(), a.ExtraMemory(), test.want)
			}
		})
	}
}

func TestAllReduceRefusesBadMessages(t *testing.T) {
	for hop, stage := range []string{"while reducing", "while gathering"} {
		tests := []struct {
			name    string
			payload []byte
		}{
			{"empty", nil},
			{"of the whole vector", raw(1, 2, 3, 4)},
			{"with NaN", raw(1, nan)},
		}
		for _, test := range tests {
			t.Run(test.name+" "+stage, func(t *testing.T) {
				a := &algos.AllReduce{X: make([]float32, 4), Alpha: constant(1), Rank: 0, Workers: 2}
				g := []float32{1, 2, 3, 4}
				if err := a.Descend(0, g); err != nil {
					t.Fatal(err)
				}
				_, err := a.Mix(0, hop, []algos.Message{{From: 1, Payload: test.payload}})
				var bad *algos.MessageError
				if !errors.As(err, &bad) || bad.From != 1 {
					t.Errorf("error %v, want that of worker 1's message", err)
				}
				if !slices.Equal(g, []float32{1, 2, 3, 4}) || !slices.Equal(a.X, make([]float32, 4)) {
					t.Errorf("sum %v, model %v: changed", g, a.X)
				}
			})
		}
	}
}

func TestAllReduceWantsOneMessage(t *testing.T) {
	a := &algos.AllReduce{X: make([]float32, 4), Alpha: constant(1), Workers: 2}
	if _, err := a.Mix(0, 0, nil); err == nil {
		t.Error("mixed without a message")
	}
}

func TestAllReduceSendsNoOverflow(t *testing.T) {
	a := &algos.AllReduce{X: make([]float32, 2), Alpha: constant(1), Workers: 2}
	if err := a.Descend(0, []float32{1, math.MaxFloat32}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Mix(0, 0, []algos.Message{{From: 1, Payload: raw(math.MaxFloat32)}}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Send(7, 1, nil); err == nil {
		t.Error("sent a sum that is Inf")
	}
}

func TestAllReduceAllocatesNothing(t *testing.T) {
	a := &algos.AllReduce{X: make([]float32, 1000), Alpha: constant(1), Workers: 2}
	g, payload := make([]float32, 1000), make([]byte, 0, 2000)
	in := []algos.Message{{From: 1, Payload: make([]byte, 2000)}}
	got := testing.AllocsPerRun(20, func() {
		err := a.Descend(0, g)
		for hop := 0; hop < 2 && err == nil; hop++ {
			payload, err = a.Send(0, hop, payload[:0])
			if err == nil {
				_, err = a.Mix(0, hop, in)
			}
		}
		if err != nil {
			t.Error(err)
		}
	})
	if got != 0 {
		t.Errorf("%v allocations per round", got)
	}
}
