package conformance

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/retrace"
	"gossiptrainer/gossip/state"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/registry"
	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/train"
	"gossiptrainer/moniqua"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// A viewsFile is a run through several views.
type viewsFile struct {
	Name        string
	Problem     problem
	Data        string
	Topology    topologySpec
	Algorithm   runAlgorithm
	X0          [][]float64
	StepSize    perRound `json:"step_size"`
	Steps       int
	Views       []viewSpec
	Checkpoints []membersAt
	Starts      []membersAt
	Mean        []meanAt
	Left        []struct {
		ID view.ID
		X  []float64
	}
	FinalLoss   float64        `json:"final_loss_at_mean"`
	FinalSpread float64        `json:"final_consensus_linf"`
	Messages    []firstMessage `json:"first_messages"`
	Gaps        []float64      `json:"gaps_over_theta"`
	Lanes       int
	Tolerance   struct{ Float32 float64 }
}

// A membersAt has the models of some members, at a step or at the beginning of a view.
type membersAt struct {
	Step, View int
	Members    []view.ID
	X          [][]float64
}

// The test computes whole runs from their logs, as the product does, with models in float32.
func TestConformanceViews(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(Dir3(), "runs", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no run files in %s (%v)", Dir3(), err)
	}
	for _, name := range files {
		var file viewsFile
		Load3(t, path.Join("runs", filepath.Base(name)), &file)
		t.Run(file.Name, func(t *testing.T) { checkViews(t, file) })
	}
}

func checkViews(t *testing.T, file viewsFile) {
	t.Helper()
	row, ok := file.Algorithm.row()
	if !ok || !file.Problem.known() {
		t.Fatalf("unknown algorithm %q or problem %q", file.Algorithm.Name, file.Problem.Kind)
	}
	if !row.Takes.Views.Given {
		t.Fatalf("%s: no views: it %s", row, row.Takes.Views.Reason())
	}
	if max(1, len(row.Lanes())) != file.Lanes {
		t.Errorf("%d lanes, the row has %d", file.Lanes, len(row.Lanes()))
	}
	c := newMaker(t, file)
	plan := retrace.Plan{Rounds: file.Steps, Every: c.period(), Together: row.Together(uint64(file.Topology.Seed))}
	if err := retrace.Run(c.log, c, plan, c); err != nil {
		t.Fatal(err)
	}
	c.checkCheckpoints()
	c.checkStarts()
	c.checkEnd()
	c.checkMessages()
}

// A makerOf makes the members of a file, and keeps all models and messages.
type makerOf struct {
	viewsFile
	t      *testing.T
	row    registry.Algorithm
	log    *view.Log
	models map[int]map[view.ID][]float32 // by round: x_k
	starts map[int]map[view.ID][]float32 // by view
	sent   []map[view.ID]*witness        // by lane
}

func newMaker(t *testing.T, file viewsFile) *makerOf {
	t.Helper()
	row, _ := file.Algorithm.row()
	c := &makerOf{viewsFile: file, t: t, row: row, models: map[int]map[view.ID][]float32{},
		starts: map[int]map[view.ID][]float32{}}
	c.log = newLog(t, file.Topology, file.Views)
	for range max(1, len(row.Lanes())) {
		c.sent = append(c.sent, map[view.ID]*witness{})
	}
	return c
}

func (c *makerOf) period() int { return max(1, c.Algorithm.LocalSteps) }

// A memberOf is a member of a file.
type memberOf struct {
	run       *makerOf
	place     retrace.Place
	machine   *gossip.Worker
	optimizer *train.Optimizer
}

// Enter makes a member as its row says.
func (c *makerOf) Enter(p retrace.Place) (retrace.Member, error) {
	x := make([]float32, len(c.X0[0]))
	if p.State == nil {
		x = narrowed(c.X0[p.ID])
	}
	m := &memberOf{run: c, place: p, optimizer: newOptimizer(c.t, c.Algorithm, len(x))}
	alg, err := c.row.Build(c.parts(p, x))
	if err != nil {
		return nil, err
	}
	schedule := gossip.Schedule{Rounds: p.Rounds, Every: c.period()}
	if p.State == nil {
		m.machine, err = gossip.NewScheduled(p.ID, p.Rows, alg, schedule)
		return m, err
	}
	if err := p.State.Load("task", m.optimizer); err != nil {
		return nil, err
	}
	m.machine, err = gossip.Enter(p.ID, p.Rows, alg, schedule, p.Entrance)
	return m, err
}

// parts returns the parts of the rule of a member: noise has the address of its id.
func (c *makerOf) parts(p retrace.Place, x []float32) registry.Parts {
	a := c.Algorithm
	order, ok := map[string]algos.Order{"": algos.CTA, "cta": algos.CTA, "atc": algos.ATC}[a.Order]
	if !ok {
		c.t.Fatalf("unknown order %q", a.Order)
	}
	const server = 1<<31 - 7
	parts := registry.Parts{
		Rank: p.ID, Seat: p.Seat, Server: server, Workers: p.Workers, Rows: p.Rows, X: x,
		Alpha: func(k int) float32 { return float32(c.StepSize.at(k)) },
		Compressor: func(of topology.Rank) (quant.Compressor, error) {
			if of == server && a.Server != "double" {
				return quant.Full{}, nil
			}
			return a.Compressor.compressor(c.t, rng.Stream(uint64(a.Seed), int(of))), nil
		},
		Settings: registry.Settings{
			Order: order, Gamma: float32(a.Gamma + a.Eta), Eta: float32(cmp.Or(a.Eta, 1)), Momentum: float32(a.Momentum),
			LocalSteps: c.period(), Slack: 1, Feedback: a.ErrorFeedback,
		},
	}
	for lane := range c.row.Lanes() {
		parts.Codecs = append(parts.Codecs, c.codec(p, lane))
	}
	return parts
}

// codec returns the codec of a lane of a member. It records all that the member sends in all views.
func (c *makerOf) codec(p retrace.Place, lane int) algos.Codec {
	m := c.Algorithm.Moniqua
	if m == nil {
		return algos.Full{}
	}
	w := &witness{models: make([][]float32, c.Steps), payloads: make([][]byte, c.Steps)}
	if old := c.sent[lane][p.ID]; old != nil {
		w.models, w.payloads = old.models, old.payloads
	}
	c.sent[lane][p.ID] = w
	w.Codec = newMoniqua(c.t, m, lane, p.ID)
	w.Verify = c.Algorithm.Verify
	w.Behind(p.Rows.Ahead())
	return w
}

// Machine returns the machine.
func (m *memberOf) Machine() *gossip.Worker { return m.machine }

// Gradient returns the direction of the objective of the member: that of its id, or the mean of those that are dealt to
// its rank.
func (m *memberOf) Gradient(_ int, x []float32) ([]float32, float32, error) {
	g := make([]float64, len(x))
	dealt := m.functions()
	for _, i := range dealt {
		for at, v := range m.run.Problem.gradient(i, widened(x)) {
			g[at] += v / float64(len(dealt))
		}
	}
	p := narrowed(g)
	m.optimizer.Direct(p, x)
	return p, 0, nil
}

func (m *memberOf) functions() (all []int) {
	switch m.run.Data {
	case "local":
		return []int{int(m.place.ID)}
	case "deal":
		n, s := len(m.run.log.At(m.place.View).Members), m.run.Problem.functions()
		for i := m.place.Rank * s / n; i < (m.place.Rank+1)*s/n; i++ {
			all = append(all, i)
		}
		return all
	}
	m.run.t.Fatalf("unknown data %q", m.run.Data)
	return nil
}

// functions returns the number of functions of a problem.
func (p problem) functions() int { return max(len(p.A), len(p.X)) }

// Save keeps the state of the optimizer.
func (m *memberOf) Save(s *state.Snapshot) { s.Save("task", m.optimizer) }

// Boundary keeps a model.
func (c *makerOf) Boundary(k int, id view.ID, x []float32) { keepModel(c.models, k, id, x) }

// Restarted keeps the model with which a view begins.
func (c *makerOf) Restarted(v, _ int, id view.ID, x []float32) { keepModel(c.starts, v, id, x) }

func keepModel(models map[int]map[view.ID][]float32, at int, id view.ID, x []float32) {
	if models[at] == nil {
		models[at] = map[view.ID][]float32{}
	}
	models[at][id] = slices.Clone(x)
}

func (c *makerOf) checkCheckpoints() {
	c.t.Helper()
	if len(c.Checkpoints) == 0 || len(c.Mean) == 0 {
		c.t.Error("no checkpoints in the file")
	}
	for _, want := range c.Checkpoints {
		if want.Step < c.Steps {
			if diff := gocmp.Diff(want.Members, c.log.Present(want.Step, c.period())); diff != "" {
				c.t.Errorf("step %d: members (-want +got):\n%s", want.Step, diff)
			}
		}
		c.checkAll(fmt.Sprintf("step %d", want.Step), want, c.models[want.Step])
		for _, mean := range c.Mean {
			if mean.Step == want.Step {
				c.near(fmt.Sprintf("step %d mean", want.Step), c.mean(c.models[want.Step], want.Members), mean.X)
			}
		}
	}
}

func (c *makerOf) checkStarts() {
	c.t.Helper()
	for _, want := range c.Starts {
		got, record := c.starts[want.View], c.log.At(want.View)
		begin := slices.DeleteFunc(record.IDs(), func(id view.ID) bool { return c.log.Off(id, record.First) })
		if diff := gocmp.Diff(want.Members, begin); diff != "" {
			c.t.Errorf("view %d: members that begin (-want +got):\n%s", want.View, diff)
		}
		c.checkAll(fmt.Sprintf("start of view %d", want.View), want, got)
	}
	if want, got := len(c.Starts), len(c.starts); got < want {
		c.t.Errorf("%d starts, want %d", got, want)
	}
}

// checkAll compares the models of members.
func (c *makerOf) checkAll(what string, want membersAt, models map[view.ID][]float32) {
	c.t.Helper()
	for i, id := range want.Members {
		x := models[id]
		if x == nil {
			c.t.Errorf("%s: no model of member %d", what, id)
			continue
		}
		c.near(fmt.Sprintf("%s member %d", what, id), widened(x), want.X[i])
	}
}

func (c *makerOf) near(what string, got, want []float64) {
	c.t.Helper()
	for i, v := range want {
		near(c.t, fmt.Sprintf("%s [%d]", what, i), got[i], v, c.Tolerance.Float32)
	}
}

func (c *makerOf) mean(models map[view.ID][]float32, ids []view.ID) []float64 {
	mean := make([]float64, len(c.X0[0]))
	for _, id := range ids {
		for i, v := range models[id] {
			mean[i] += float64(v) / float64(len(ids))
		}
	}
	return mean
}

// checkEnd compares the models of leavers, the loss and the spread at the end.
func (c *makerOf) checkEnd() {
	c.t.Helper()
	for _, want := range c.Left {
		end, _ := c.log.Ends(want.ID)
		x := c.models[end*c.period()][want.ID]
		if x == nil {
			c.t.Errorf("member %d, which left, has no model", want.ID)
			continue
		}
		c.near(fmt.Sprintf("member %d, which left", want.ID), widened(x), want.X)
	}
	last := c.Checkpoints[len(c.Checkpoints)-1]
	if last.Step != c.Steps {
		c.t.Fatalf("the last checkpoint is of step %d of %d", last.Step, c.Steps)
	}
	end := c.models[c.Steps]
	mean := c.mean(end, last.Members)
	near(c.t, "final loss at the mean", c.Problem.loss(c.Problem.functions(), mean), c.FinalLoss, c.Tolerance.Float32)
	var models [][]float32
	for _, id := range last.Members {
		models = append(models, end[id])
	}
	spread := farthest(models, func(int) []float64 { return mean })
	near(c.t, "final distance to the mean", spread, c.FinalSpread, c.Tolerance.Float32)
}

// checkMessages compares indices, symbols and hashes, and the largest gaps.
func (c *makerOf) checkMessages() {
	c.t.Helper()
	if c.Algorithm.Moniqua == nil {
		return
	}
	for _, want := range c.Messages {
		got := c.message(want.Step, want.Lane, want.Peers)
		what := fmt.Sprintf("messages of step %d lane %d", want.Step, want.Lane)
		near(c.t, what+": grid", got.Grid, want.Grid, 1e-12)
		got.Grid = want.Grid
		if diff := gocmp.Diff(want, got); diff != "" {
			c.t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	gaps := c.gaps()
	if len(c.Gaps) == 1 { // the files give the largest of all lanes
		gaps = []float64{slices.Max(gaps)}
	}
	nearAll(c.t, "largest gap of neighbours over theta by lane", gaps, c.Gaps, 10*c.Tolerance.Float32)
}

// message returns the messages of members in a lane of round k.
func (c *makerOf) message(k, lane int, peers []topology.Rank) firstMessage {
	c.t.Helper()
	packing, err := quant.NewPacking(c.Algorithm.Moniqua.Levels)
	if err != nil {
		c.t.Fatal(err)
	}
	m := firstMessage{Step: k, Lane: lane, Peers: peers}
	for _, peer := range peers {
		w := c.sent[lane][peer]
		grid, err := w.Grid(k)
		if err != nil {
			c.t.Fatal(err)
		}
		indices, payload := w.indices(c.t, k), w.payloads[k]
		if c.Algorithm.Verify {
			payload = payload[:len(payload)-moniqua.HashLen]
		}
		symbols := make([]uint16, len(indices))
		if err := packing.Unpack(symbols, payload); err != nil {
			c.t.Fatal(err)
		}
		m.Grid = grid.Step()
		m.K, m.Symbols = append(m.K, indices), append(m.Symbols, symbols)
		m.Hash = append(m.Hash, hashOf(indices))
	}
	return m
}

// gaps returns the largest distances of those that mix each other's messages, by lane, in units of θ.
func (c *makerOf) gaps() []float64 {
	gaps := make([]float64, len(c.sent))
	for lane, members := range c.sent {
		for k := c.period() - 1; k < c.Steps; k += c.period() {
			for id, w := range members {
				if w.models[k] == nil {
					continue
				}
				for _, e := range c.log.Row(id, k/c.period()).In {
					if c.log.Off(id, k/c.period()) {
						continue
					}
					apart := distance(w.models[k], members[e.Peer].models[k])
					gaps[lane] = max(gaps[lane], float64(apart)/c.Algorithm.Moniqua.theta(lane).at(k))
				}
			}
		}
	}
	return gaps
}

// All members of an all-reduce have the same model in every round, through joins, leaves and deaths.
func TestReplicasStayEqualThroughViews(t *testing.T) {
	for _, algorithm := range []runAlgorithm{
		{Name: "allreduce"},
		{Name: "allreduce", Compressor: &compressorSpec{Name: "sign"}, ErrorFeedback: true},
		{Name: "allreduce", Compressor: &compressorSpec{Name: "qsgd", Bits: 6, Norm: "linf"}, Seed: 3},
		{Name: "allreduce", Server: "double", Compressor: &compressorSpec{Name: "minmax", Bits: 4}, ErrorFeedback: true},
	} {
		var file viewsFile
		Load3(t, "runs/allreduce_all.json", &file)
		file.Algorithm = algorithm
		c := newMaker(t, file)
		plan := retrace.Plan{Rounds: file.Steps, Every: 1, Together: c.row.Together(0)}
		if err := retrace.Run(c.log, c, plan, c); err != nil {
			t.Fatal(err)
		}
		for k, models := range c.models {
			var first []float32
			for id, x := range models {
				if first == nil {
					first = x
				}
				if !slices.Equal(x, first) {
					t.Errorf("%+v: round %d: member %d has another model", algorithm, k, id)
				}
			}
		}
	}
}
