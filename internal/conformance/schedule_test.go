package conformance

import (
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"gossiptrainer/internal/data"
	"gossiptrainer/internal/rng"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// pathSums are the sums of a case in the files of the second set.
type pathSums struct {
	S, S1 float64
	SAll  float64 `json:"S_all_pairs"`
	S1All float64 `json:"S1_all_pairs"`
}

func (want pathSums) check(t *testing.T, g *topology.Graph) {
	t.Helper()
	sums, err := g.PathSums()
	if err != nil {
		t.Fatal(err)
	}
	all, err := g.AllPathSums()
	if err != nil {
		t.Fatal(err)
	}
	near(t, "S", sums.S, want.S, 1e-6)
	near(t, "S1", sums.S1, want.S1, 1e-6)
	near(t, "S over all pairs", all.S, want.SAll, 1e-6)
	near(t, "S1 over all pairs", all.S1, want.S1All, 1e-6)
}

// A matrix is one exchange of a schedule.
type matrix struct {
	Exchange     int
	W            [][]float64
	ReceivesFrom [][]topology.Rank `json:"receives_from"`
	SendsTo      [][]topology.Rank `json:"sends_to"`
}

func (want matrix) check(t *testing.T, g *topology.Graph) {
	t.Helper()
	w := g.W(want.Exchange)
	for i := range g.N() {
		row := g.Row(topology.Rank(i), want.Exchange)
		var from []topology.Rank
		for _, e := range row.In {
			from = append(from, e.Peer)
		}
		what := fmt.Sprintf("exchange %d worker %d", want.Exchange, i)
		if diff := gocmp.Diff(want.ReceivesFrom[i], from, noneIsEmpty); diff != "" {
			t.Errorf("%s receives from (-want +got):\n%s", what, diff)
		}
		if diff := gocmp.Diff(want.SendsTo[i], row.Out, noneIsEmpty); diff != "" {
			t.Errorf("%s sends to (-want +got):\n%s", what, diff)
		}
		for j := range g.N() {
			near(t, fmt.Sprintf("%s W[%d]", what, j), w.At(i, j), want.W[i][j], 1e-12)
		}
	}
}

func TestConformanceSchedule(t *testing.T) {
	var file struct {
		Cases []struct {
			Topology   topologySpec
			N          int
			Period     int
			ExactAfter int `json:"exact_after"`
			Symmetric  bool
			Exchanges  []matrix
			Horizon    int
			Reach      int
			pathSums
			Deviation float64 `json:"product_deviation"`
		}
		Periods []struct {
			Name   topology.Kind
			N      int
			Period int
		}
		Rejected []topologySpec
	}
	Load2(t, "schedule.json", &file)
	if len(file.Cases) == 0 || len(file.Periods) == 0 || len(file.Rejected) == 0 {
		t.Fatal("schedule.json: no cases, periods or rejected topologies")
	}
	for _, c := range file.Cases {
		c.Topology.exchanges = c.Horizon
		g := c.Topology.graph(t)
		t.Run(fmt.Sprintf("%v seed %d slack %v", g.Spec(), c.Topology.Seed, c.Topology.Slack), func(t *testing.T) {
			exact, deviation, err := g.ExactAfter()
			if err != nil {
				t.Fatal(err)
			}
			got, want := []any{g.N(), g.Period(), exact, g.Symmetric(), g.Reach()},
				[]any{c.N, c.Period, c.ExactAfter, c.Symmetric, c.Reach}
			if !slices.Equal(got, want) {
				t.Errorf("workers, period, exact after, symmetric, reach: %v, want %v", got, want)
			}
			near(t, "deviation of the product", deviation, c.Deviation, 1e-12)
			for _, e := range c.Exchanges {
				e.check(t, g)
			}
			c.check(t, g)
		})
	}
	for _, p := range file.Periods {
		g := topologySpec{Name: p.Name, N: p.N}.graph(t)
		if g.Period() != p.Period {
			t.Errorf("%v: period %d, want %d", g.Spec(), g.Period(), p.Period)
		}
	}
	for _, s := range file.Rejected {
		if _, err := topology.New(s.spec()); err == nil {
			t.Errorf("%+v: must be refused", s)
		}
	}
}

// The certified rule: theta = U·S/(1 − S1·q).
func TestConformanceCertifiedWindows(t *testing.T) {
	var file struct {
		Cases []struct {
			Topology topologySpec
			Alpha, G float64
			pathSums
			Certified map[int]struct {
				Exists bool
				Theta  float64
			}
		}
	}
	Load2(t, "theta2.json", &file)
	if len(file.Cases) == 0 {
		t.Fatal("theta2.json: no cases")
	}
	for _, c := range file.Cases {
		g := c.Topology.graph(t)
		c.check(t, g)
		sums, err := g.PathSums()
		if err != nil {
			t.Fatal(err)
		}
		updates := moniqua.Updates{Step: func(int) float64 { return c.Alpha }, Rounds: 1, Bound: c.G, Every: 1}
		for bits, want := range c.Certified {
			rule := moniqua.Certified{S: sums.S, S1: sums.S1, Levels: 1 << bits, Rounding: moniqua.Nearest}
			theta, err := rule.Rule(updates)
			if (err == nil) != want.Exists {
				t.Errorf("%v with %d bits: error %v, certificate exists: %v", g.Spec(), bits, err, want.Exists)
			} else if err == nil {
				near(t, fmt.Sprintf("%v with %d bits: theta", g.Spec(), bits), theta(0), want.Theta, 1e-6)
			}
		}
	}
}

// The certificate of gradient tracking has two thetas, for models and for directions.
func TestConformanceTracking(t *testing.T) {
	var file struct {
		Cases []struct {
			Topology topologySpec
			Alpha, G float64
			Tracking map[int]struct {
				Exists        bool
				Theta, Theta2 float64
			}
		}
	}
	Load2(t, "theta2.json", &file)
	checked := 0
	for _, c := range file.Cases {
		g := c.Topology.graph(t)
		sums, err := g.PathSums()
		if err != nil {
			t.Fatal(err)
		}
		all, err := g.AllPathSums()
		if err != nil {
			t.Fatal(err)
		}
		for bits, want := range c.Tracking {
			checked++
			rule := moniqua.Tracked{
				Certified: moniqua.Certified{S: sums.S, S1: sums.S1, Levels: 1 << bits, Rounding: moniqua.Nearest},
				AllS1:     all.S1,
			}
			theta, second, err := rule.Theta(c.Alpha, c.G)
			what := fmt.Sprintf("%v with %d bits", g.Spec(), bits)
			if (err == nil) != want.Exists {
				t.Errorf("%s: error %v, certificate exists: %v", what, err, want.Exists)
			} else if err == nil {
				near(t, what+": theta", theta/want.Theta, 1, 1e-6)
				near(t, what+": theta of directions", second/want.Theta2, 1, 1e-6)
			}
		}
	}
	if checked == 0 {
		t.Error("theta2.json: no certificates of gradient tracking")
	}
}

func TestConformanceAddress(t *testing.T) {
	var file struct {
		Streams []struct {
			Seed, Schedule, Sparse seed
			Lane                   []seed
			SharedU                []float64 `json:"lane1_shared_u"`
			WorkerU                []float64 `json:"lane1_worker2_u"`
		}
		Below []struct {
			Seed         seed
			Round, Index int
			M, Value     uint64
		}
		Shuffles []struct {
			Seed        seed
			Round, N    int
			Permutation []int
		}
		Sampler []samplerCase
	}
	Load2(t, "address.json", &file)
	if len(file.Streams) == 0 || len(file.Below) == 0 || len(file.Shuffles) == 0 || len(file.Sampler) == 0 {
		t.Fatal("address.json: a list is empty")
	}
	for _, c := range file.Streams {
		root := uint64(c.Seed)
		lane := func(h int) uint64 { return rng.Stream(root, 1<<31-16-h) }
		got := []uint64{rng.Stream(root, 1<<31-4), rng.Stream(root, 1<<31-5), root, lane(1), lane(2)}
		want := []uint64{uint64(c.Schedule), uint64(c.Sparse), uint64(c.Lane[0]), uint64(c.Lane[1]), uint64(c.Lane[2])}
		if !slices.Equal(got, want) {
			t.Errorf("streams of seed %d: %v, want %v", root, got, want)
		}
		var shared, own []float64
		for _, round := range []int{0, 5} {
			for i := range uint32(3) {
				shared = append(shared, float64(rng.At(lane(1), round).Uniform(i)))
			}
		}
		for i := range uint32(3) {
			own = append(own, float64(rng.At(rng.Stream(lane(1), 2), 4).Uniform(i)))
		}
		if !slices.Equal(shared, c.SharedU) || !slices.Equal(own, c.WorkerU) {
			t.Errorf("seed %d: noise of lane 1: %v, %v, want %v, %v", root, shared, own, c.SharedU, c.WorkerU)
		}
	}
	for _, c := range file.Below {
		if got := rng.At(uint64(c.Seed), c.Round).Below(uint32(c.Index), c.M); got != c.Value {
			t.Errorf("below(%d, %d, %d, %d) = %d, want %d", c.Seed, c.Round, c.Index, c.M, got, c.Value)
		}
	}
	for _, c := range file.Shuffles {
		order := make([]int, c.N)
		for i := range order {
			order[i] = i
		}
		rng.Shuffle(order, rng.At(uint64(c.Seed), c.Round))
		if !slices.Equal(order, c.Permutation) {
			t.Errorf("shuffle(%d, %d, %d) = %v, want %v", c.N, c.Seed, c.Round, order, c.Permutation)
		}
	}
	for _, c := range file.Sampler {
		c.check(t)
	}
}

// A samplerCase has the rows of a mini-batch.
type samplerCase struct {
	Seed                   seed
	Worker, Samples, Batch int
	Round                  int
	Rows                   []int
}

func (c samplerCase) check(t *testing.T) {
	t.Helper()
	s, err := data.NewSampler(uint64(c.Seed), c.Worker, c.Samples, c.Batch)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Append(nil, c.Round); !slices.Equal(got, c.Rows) {
		t.Errorf("%+v: got rows %v", c, got)
	}
}
