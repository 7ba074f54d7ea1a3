package build

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/bits"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/forecast"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/registry"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/summary"
	"gossiptrainer/internal/train"
	"gossiptrainer/model"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

const (
	trained = 40 // parameters of the external models of these tests
	exact   = 7  // exact elements behind them
)

// outlined assembles settings for an external model.
func outlined(t testing.TB, set ...string) *experiment.Run {
	t.Helper()
	cfg := load(t, "", append([]string{"model.name=external", "topology.size=8"}, set...)...).Config
	cfg.Model.Outline = &model.Outline{Exact: exact, Params: []model.Param{
		{Name: "weight", Shape: []int{trained / 4, 4}},
		{Name: "mean", Off: trained, Shape: []int{exact}},
	}}
	r, err := experiment.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A local program minimizes the mean of ½|x − target|² with an optimizer. Behind its parameters it keeps running
// averages, which do not depend on them.
type local struct {
	optimizer string // sgd, momentum or adamw
	rank, k   int
	m, v      []float64
}

// target is the optimum of parameter c of a worker.
func (p *local) target(c int) float64 { return math.Sin(float64(3*p.rank + c)) }

// update returns the update of the next step from x.
func (p *local) update(x []float64) []float64 {
	if p.m == nil {
		p.m, p.v = make([]float64, len(x)), make([]float64, len(x))
	}
	p.k++
	u := make([]float64, len(x))
	for c := range x[:trained] {
		g := x[c] - p.target(c)
		switch p.optimizer {
		case "sgd":
			u[c] = -0.05 * g
		case "momentum":
			p.m[c] = 0.9*p.m[c] + g
			u[c] = -0.01 * p.m[c]
		case "adamw":
			p.m[c], p.v[c] = 0.9*p.m[c]+0.1*g, 0.999*p.v[c]+0.001*g*g
			m, v := p.m[c]/(1-math.Pow(0.9, float64(p.k))), p.v[c]/(1-math.Pow(0.999, float64(p.k)))
			u[c] = -0.01 * (m/(math.Sqrt(v)+1e-8) + 0.01*x[c])
		}
	}
	for c := trained; c < len(x); c++ {
		u[c] = 0.1 * (math.Cos(float64(p.rank+c)+0.1*float64(p.k)) - x[c])
	}
	return u
}

// gradient takes the local step as a program does, in float32.
func (p *local) gradient(g []float32, _ int, x []float32) (float32, error) {
	loss := 0.
	for c, u := range p.update(doubles(x)) {
		after := float32(float64(x[c]) + u)
		g[c] = x[c] - after
		if c < trained {
			loss += (float64(x[c]) - p.target(c)) * (float64(x[c]) - p.target(c)) / 2
		}
	}
	return float32(loss), nil
}

func doubles(x []float32) []float64 {
	d := make([]float64, len(x))
	for c, v := range x {
		d[c] = float64(v)
	}
	return d
}

// begin is x_0.
func begin() []float32 {
	x := make([]float32, trained+exact)
	for c := range x {
		x[c] = float32(math.Cos(float64(c)))
	}
	return x
}

// programmed builds all workers of r with the local programs of an optimizer, from the beginning or from saved states.
func programmed(t testing.TB, r *experiment.Run, optimizer string, saved []state.Snapshot) []*Worker {
	t.Helper()
	all := make([]*Worker, r.N())
	for i := range all {
		p := experiment.Program{Gradient: (&local{optimizer: optimizer, rank: i}).gradient}
		var s *state.Snapshot
		if saved == nil {
			p.Start = begin()
		} else {
			s = &saved[i]
		}
		w, err := New(r.Programmed(p), topology.Rank(i), s)
		if err != nil {
			t.Fatal(err)
		}
		if w.Evaluate != nil {
			t.Error("an external model is evaluated here")
		}
		all[i] = w
	}
	return all
}

// inFull are all synchronous algorithms of the registry in full precision, with the way in which they then mix.
var inFull = map[string]struct{ set, form string }{
	"dpsgd cta":   {"{name: dpsgd, bits: 32}", "cta"},
	"dpsgd atc":   {"{name: dpsgd, bits: 32, order: atc}", "atc"},
	"d2":          {"{name: d2, bits: 32}", "d2"},
	"qg":          {"{name: qg, bits: 32}", "qg"},
	"decentlam":   {"{name: decentlam, bits: 32, update: {momentum: 0.5}}", "decentlam"},
	"gt":          {"{name: gt, bits: 32}", "gt"},
	"kgt":         {"{name: kgt, bits: 32}", "gt"},
	"choco":       {"{name: choco, gamma: 1, compressor: {name: full}}", "atc"},
	"deepsqueeze": {"{name: deepsqueeze, gamma: 1, compressor: {name: full}}", "atc"},
	"dcd":         {"{name: dcd, compressor: {name: full}}", "cta"},
	"ecd":         {"{name: ecd, compressor: {name: full}}", "cta"},
	"naive":       {"{name: naive, compressor: {name: full}}", "cta"},
	"ring":        {"{name: allreduce}", "mean"},
	"allgather":   {"{name: allreduce, reduce: allgather, compressor: {name: full}}", "mean"},
	"server":      {"{name: allreduce, reduce: server, compressor: {name: full}}", "mean"},
}

func TestTheTableHasEveryAlgorithm(t *testing.T) {
	for _, row := range registry.Algorithms() {
		there := row.Asynchronous() // TestExternalModelsInPairs
		for _, a := range inFull {
			there = there || strings.Contains(a.set, "name: "+row.Name) && (row.Form == "" ||
				strings.Contains(a.set+", reduce: ring", "reduce: "+row.Form))
		}
		if !there {
			t.Errorf("no run of %s", row)
		}
	}
}

// reference runs the algorithm in float64, with whole matrices.
func reference(r *experiment.Run, optimizer, form string, rounds int) [][]float64 {
	x, programs := make([][]float64, r.N()), make([]*local, r.N())
	var last, lastU [][]float64
	m := make([][]float64, r.N()) // momentum, or the correction of gradient tracking, in the unit of an update
	for i := range m {
		m[i] = make([]float64, len(begin()))
	}
	beta := r.Config().Algorithm.Update.Momentum
	for i := range x {
		x[i], programs[i] = doubles(begin()), &local{optimizer: optimizer, rank: i}
	}
	for range rounds {
		u := make([][]float64, len(x))
		for i := range x {
			u[i] = programs[i].update(x[i])
		}
		next := plus(x, u, 1)
		switch {
		case form == "qg":
			p := plus(u, m, beta)
			y := plus(x, p, 1)
			next = mixed(r, y)
			m = plus(scaled(m, beta), plus(next, x, -1), 1-beta)
		case form == "decentlam":
			m = plus(plus(mixed(r, next), x, -1), m, beta)
			next = plus(x, m, 1)
		case form == "gt":
			y := plus(u, m, 1)
			next, m = mixed(r, plus(x, y, 1)), plus(mixed(r, y), u, -1)
		case form == "cta":
			next = plus(mixed(r, x), u, 1)
		case form == "atc" || last == nil && form == "d2":
			next = mixed(r, next)
		case form == "d2":
			next = mixed(r, plus(plus(plus(next, x, 1), last, -1), lastU, -1))
		default:
			mean := make([]float64, len(x[0]))
			for i := range next {
				for c := range mean {
					mean[c] += next[i][c] / float64(len(next))
				}
			}
			next = slices.Repeat([][]float64{mean}, len(x))
		}
		last, lastU, x = x, u, next
	}
	return x
}

// plus returns x + w·y.
func plus(x, y [][]float64, w float64) [][]float64 {
	sum := make([][]float64, len(x))
	for i := range x {
		sum[i] = slices.Clone(x[i])
		for c := range sum[i] {
			sum[i][c] += w * y[i][c]
		}
	}
	return sum
}

// scaled returns w·x.
func scaled(x [][]float64, w float64) [][]float64 {
	zero := make([][]float64, len(x))
	for i := range zero {
		zero[i] = make([]float64, len(x[i]))
	}
	return plus(zero, x, w)
}

// mixed returns W·x.
func mixed(r *experiment.Run, x [][]float64) [][]float64 {
	next := make([][]float64, len(x))
	for i := range x {
		row := r.Rows()[i].At(0)
		next[i] = make([]float64, len(x[i]))
		for c := range next[i] {
			next[i][c] = row.Self * x[i][c]
			for _, e := range row.In {
				next[i][c] += e.Weight * x[e.Peer][c]
			}
		}
	}
	return next
}

// Updates of any optimizer take the place of −α times a gradient.
func TestExternalModelsFollowTheAlgorithms(t *testing.T) {
	const rounds = 200
	for name, a := range inFull {
		for _, optimizer := range []string{"sgd", "momentum", "adamw"} {
			t.Run(name+" "+optimizer, func(t *testing.T) {
				r := outlined(t, "train.rounds=200", "algorithm="+a.set)
				got := drive(t, r, programmed(t, r, optimizer, nil), 1).Models.(score.InMemory)
				want := reference(r, optimizer, a.form, rounds)
				moved, most := 0., 1e-5
				if r.Method().Compresses() {
					most = 5e-5 // models are sums of messages
				}
				for i := range want {
					for c, v := range want[i] {
						moved = max(moved, math.Abs(v-float64(begin()[c])))
						if off := math.Abs(float64(got[i].X[c]) - v); !(off < most) {
							t.Fatalf("worker %d: element %d is %v, want %v: %.2g off", i, c, got[i].X[c], v, off)
						}
					}
				}
				if moved < 0.1 {
					t.Errorf("the models moved by %v only", moved)
				}
			})
		}
	}
}

// coarse are runs whose parameters travel in few bits. Each has the elements behind them of a run in full precision,
// the second setting.
var coarse = map[string]struct{ set, like string }{
	"moniqua 8":          {"{bits: 8}", "{bits: 32}"},
	"moniqua 4":          {"{bits: 4}", "{bits: 32}"},
	"moniqua 1":          {"{bits: 1}", "{bits: 32}"},
	"moniqua atc 4":      {"{bits: 4, order: atc}", "{bits: 32, order: atc}"},
	"moniqua repaired":   {"{bits: 4, theta: {rule: fixed, value: 1e-4}}", "{bits: 32}"},
	"moniqua measured":   {"{bits: 8, theta: {rule: measured}}", "{bits: 32}"},
	"moniqua unverified": {"{bits: 8, theta: {rule: certified, bound: 0.2, verify: false}}", "{bits: 32}"},
	"moniqua controlled": {"{controller: {name: oland-raj}}", "{bits: 32}"},
	"moniqua local":      {"{bits: 4, local_steps: 3}", "{bits: 32, local_steps: 3}"},
	"moniqua-d2 8":       {"{name: d2, bits: 8}", "{name: d2, bits: 32}"},
	"moniqua-d2 4":       {"{name: d2, bits: 4}", "{name: d2, bits: 32}"},
	"choco 8":            {"{name: choco, gamma: 0.5, compressor: {bits: 8, scaled: true}}", "choco"},
	"choco 1":            {"{name: choco, gamma: 0.5, compressor: {name: sign}}", "choco"},
	"choco alq": {"{name: choco, gamma: 0.5, compressor: {name: alq, scaled: true, refit_at: [2, 9], refit_every: 20}}",
		"choco"},
	"choco topk":       {"{name: choco, gamma: 0.5, compressor: {name: topk, ratio: 0.2}}", "choco"},
	"choco controlled": {"{name: choco, gamma: 0.5, controller: {name: oland-raj}, compressor: {scaled: true}}", "choco"},
	"deepsqueeze 8": {"{name: deepsqueeze, gamma: 0.5, compressor: {name: minmax, bits: 8}}",
		"{name: deepsqueeze, gamma: 0.5, compressor: {name: full}}"},
	"deepsqueeze 1": {"{name: deepsqueeze, gamma: 0.5, compressor: {name: sign}}",
		"{name: deepsqueeze, gamma: 0.5, compressor: {name: full}}"},
	"dcd 8":   {"{name: dcd, compressor: {bits: 8}}", "{name: dcd, compressor: {name: full}}"},
	"ecd 8":   {"{name: ecd, compressor: {bits: 8}}", "{name: ecd, compressor: {name: full}}"},
	"naive 4": {"{name: naive, compressor: {name: linear, step: 0.01}}", "{name: naive, compressor: {name: full}}"},
	"allgather 4": {"{name: allreduce, reduce: allgather, compressor: {bits: 4}}",
		"{name: allreduce, reduce: allgather, compressor: {name: full}}"},
	"allgather 1, feedback": {"{name: allreduce, reduce: allgather, error_feedback: true, compressor: {name: sign}}",
		"{name: allreduce, reduce: allgather, compressor: {name: full}}"},
	"server 4": {"{name: allreduce, reduce: server, compressor: {bits: 4}}",
		"{name: allreduce, reduce: server, compressor: {name: full}}"},
}

// fewBits assembles a run of coarse, or the run in full precision that it is like.
func fewBits(t testing.TB, set string, more ...string) *experiment.Run {
	t.Helper()
	if set == "choco" {
		set = "{name: choco, gamma: 0.5, compressor: {name: full}}"
	}
	more = append(more, "train.rounds=60", "algorithm="+set)
	if !strings.Contains(set, "allreduce") {
		more = append(more, "topology.slack=0.2")
	}
	return outlined(t, more...)
}

// The last elements travel in full precision, however coarsely the others do.
func TestExactElementsAreThoseOfFullPrecision(t *testing.T) {
	for name, c := range coarse {
		t.Run(name, func(t *testing.T) {
			r := fewBits(t, c.set)
			all := programmed(t, r, "momentum", nil)
			inspectMessages(t, r, all)
			got := drive(t, r, all, 1).Models.(score.InMemory)
			like := fewBits(t, c.like)
			want := drive(t, like, programmed(t, like, "momentum", nil), 1).Models.(score.InMemory)
			same := true
			for i := range got {
				got, want := got[i].X, want[i].X
				if !slices.Equal(got[trained:], want[trained:]) {
					t.Fatalf("worker %d: exact elements %v, want %v", i, got[trained:], want[trained:])
				}
				same = same && slices.Equal(got[:trained], want[:trained])
				for c, v := range got[:trained] {
					if !(math.Abs(float64(v-want[c])) < 0.6) {
						t.Errorf("worker %d: parameter %d is %v, in full precision %v", i, c, v, want[c])
					}
				}
			}
			if same {
				t.Error("the parameters are those of full precision")
			}
		})
	}
}

// inspectMessages compares the sizes of the messages that workers send with those foretold, at the end of the test.
func inspectMessages(t *testing.T, r *experiment.Run, all []*Worker) {
	sizes := map[int]int{}
	for _, w := range all {
		layout := w.Coding.Layout
		send := w.Machine
		w.Machine = &watched{Machine: send, see: func(f gossip.Frame) {
			if f.Kind != gossip.Data || len(f.Payload) == 0 ||
				r.Method().Asynchronous() && len(f.Payload) == gossip.CensusBytes(r.N()) {
				return // without a model
			}
			sizes[len(f.Payload)]++
			l := layout(f)
			if err := l.Check(); err != nil || l.Len() != len(f.Payload) || l == quant.Bytes(len(f.Payload)) {
				t.Fatalf("a payload of %d bytes has the layout %+v (%v)", len(f.Payload), l, err)
			}
		}}
	}
	t.Cleanup(func() {
		if p := forecast.Predict(r).Payload; sizes[p] == 0 && !bits.Controlled(r.Config().Algorithm.Controller) {
			t.Errorf("messages have %v bytes, the prediction is %d", sizes, p)
		}
	})
}

// A watched machine shows the frames that it sends.
type watched struct {
	gossip.Machine
	see func(gossip.Frame)
}

func (w *watched) Ready() gossip.Ready {
	r := w.Machine.Ready()
	for _, f := range r.Send {
		w.see(f)
	}
	return r
}

func TestExternalModelsRepeat(t *testing.T) {
	for name, c := range coarse {
		t.Run(name, func(t *testing.T) {
			var digests []string
			for step := 1; step <= 3; step += 2 { // in another order of the workers
				r := fewBits(t, c.set)
				digests = append(digests, digest(t, r, programmed(t, r, "adamw", nil), step))
			}
			if digests[0] != digests[1] {
				t.Errorf("two runs end as %v", digests)
			}
		})
	}
}

func TestExternalModelsInPairs(t *testing.T) {
	for name, set := range map[string]string{
		"full":     "{name: adpsgd, bits: 32}",
		"8 bit":    "{name: adpsgd, bits: 8}",
		"1 bit":    "{name: adpsgd, bits: 1}",
		"repaired": "{name: adpsgd, bits: 4, theta: {rule: fixed, value: 1e-4}}",
		"measured": "{name: adpsgd, bits: 8, theta: {rule: measured}}",
	} {
		t.Run(name, func(t *testing.T) {
			var digests []string
			for range 2 {
				r := outlined(t, "train.rounds=300", "topology.slack=0.2", "algorithm="+set)
				all := programmed(t, r, "sgd", nil)
				inspectMessages(t, r, all)
				_, res := simulate(t, r, all)
				sum, err := combined(r, res.Finals)
				if err != nil {
					t.Fatal(err)
				}
				digests = append(digests, sum)
				mean := res.Models.(score.InMemory).Mean()
				for c := range trained {
					want := 0.
					for i := range r.N() {
						want += (&local{rank: i}).target(c) / float64(r.N())
					}
					if off := math.Abs(float64(mean[c]) - want); !(off < 0.1) {
						t.Errorf("parameter %d of the mean is %v, its optimum %v", c, mean[c], want)
					}
				}
			}
			if digests[0] != digests[1] {
				t.Errorf("two runs end as %v", digests)
			}
		})
	}
}

// A saved state holds all that a worker carries, but for its program.
func TestExternalModelsResume(t *testing.T) {
	const at = 23
	for name, c := range coarse {
		t.Run(name, func(t *testing.T) {
			r := fewBits(t, c.set)
			all := programmed(t, r, "sgd", nil)
			saved := make([]state.Snapshot, len(all))
			for i, w := range all {
				w.Machine.AtBoundary(func(k int) {
					if k == at {
						w.Save(&saved[i])
					}
				})
			}
			want := digest(t, r, all, 1)
			again := make([]*Worker, len(all))
			for i := range again {
				p := &local{optimizer: "sgd", rank: i, k: at}
				w, err := New(r.Programmed(experiment.Program{Gradient: p.gradient}), topology.Rank(i), &saved[i])
				if err != nil {
					t.Fatal(err)
				}
				again[i] = w
			}
			if got := digest(t, r, again, 1); got != want {
				t.Errorf("digest %s, want %s", got, want)
			}
		})
	}
}

// Before its program joins, an external model has no size.
func TestRunsOfUnknownSize(t *testing.T) {
	sets := []string{"{name: adpsgd}", "{name: choco, compressor: {name: sign}}", "{name: dpsgd, bits: 8}",
		"{name: choco, gamma: 0.1, compressor: {name: topk, k: 1000000}}"}
	for _, c := range coarse {
		sets = append(sets, c.set)
	}
	for _, a := range inFull {
		sets = append(sets, a.set)
	}
	for _, set := range sets {
		if set == "choco" {
			continue
		}
		whole := load(t, "", "model.name=external", "topology.size=8", "algorithm="+set)
		r, err := experiment.New(whole.Config)
		if err != nil {
			t.Errorf("%s: %v", set, err)
			continue
		}
		if r.Dim() != 0 || r.N() != 8 || len(r.Files().Layout()) != 0 || forecast.Predict(r).Payload != 0 ||
			r.Scorer().Due(10) || r.Bits() < 1 || r.Bits() > 32 || forecast.Memory(r) != 0 {
			t.Errorf("%s: %d parameters, %d bits, memory %d, prediction %+v", set, r.Dim(), r.Bits(), forecast.Memory(r),
				forecast.Predict(r))
		}
		for _, s := range r.Sections() {
			if s.Name == "script" {
				t.Errorf("%s: a section %s", set, s.JSON)
			}
		}
		_, err = New(r, 0, nil)
		if located := (*configs.Error)(nil); !errors.As(err, &located) || located.Problems[0].Key != "model.name" {
			t.Errorf("%s: a worker of unknown size: %v", set, err)
		}
	}
}

func TestModelFilesOfARunOfUnknownSize(t *testing.T) {
	r, err := experiment.New(load(t, "", "model.name=external", "topology.size=2").Config)
	if err != nil {
		t.Fatal(err)
	}
	saved := train.Saved{X: []float32{1, 2}, Layout: []model.Param{{Name: "a", Shape: []int{2}}}}
	if x, _, err := r.Files().Restore(saved, "peer-0.safetensors"); err != nil || !slices.Equal(x, saved.X) {
		t.Errorf("%v, %v: want the vector of the file", x, err)
	}
}

func TestSummaryOfARunOfUnknownSize(t *testing.T) {
	r, err := experiment.New(load(t, "", "model.name=external", "topology.size=2").Config)
	if err != nil {
		t.Fatal(err)
	}
	s, err := summary.Summarize(r, summary.Results{Mode: "lab",
		Models: score.InMemory{{X: []float32{1, 2}}, {X: []float32{3, 2}}},
		Finals: []record.Final{
			{Rank: 0, Digest: strings.Repeat("00", 32)}, {Rank: 1, Digest: strings.Repeat("11", 32)},
		}})
	if err != nil || s.Consensus == nil || *s.Consensus != 1 || s.Accuracy.AverageModel != nil || s.Digest == "" {
		t.Errorf("%+v, %v: want the consensus distance 1 and no accuracy of the mean", s, err)
	}
}

func TestSectionsTellScriptsApart(t *testing.T) {
	script := func(o *model.Outline) string {
		cfg := load(t, "", "model.name=external").Config
		cfg.Model.Outline = o
		r, err := experiment.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		sections := r.Sections()
		last := sections[len(sections)-1]
		if last.Name != "script" {
			t.Fatalf("the last section is %s", last.Name)
		}
		return string(last.JSON)
	}
	tensor := func(name string, shape ...int) model.Param { return model.Param{Name: name, Shape: shape} }
	first := script(&model.Outline{Params: []model.Param{tensor("a", 2, 3)}})
	if again := script(&model.Outline{Params: []model.Param{tensor("a", 2, 3)}}); again != first ||
		!strings.HasPrefix(first, `{"elements":6,"hash":"`) {
		t.Errorf("%s and %s", first, again)
	}
	for _, other := range []*model.Outline{
		{Params: []model.Param{tensor("a", 3, 2)}}, {Params: []model.Param{tensor("b", 2, 3)}},
		{Params: []model.Param{tensor("a", 6)}}, {Params: []model.Param{tensor("a", 2, 3)}, Exact: 1},
		{Params: []model.Param{tensor("a", 2), {Name: "b", Off: 2, Shape: []int{4}}}},
	} {
		if got := script(other); got == first {
			t.Errorf("%+v has the same section", other)
		}
	}
}

func TestUpdatesOfProgramsAreChecked(t *testing.T) {
	r := outlined(t, "algorithm={bits: 8, theta: {rule: certified, bound: 0.25}}")
	update, loss := float32(0), float32(math.NaN()) // none is known
	worker := func(r *experiment.Run) *Worker {
		gradient := func(g []float32, _ int, _ []float32) (float32, error) {
			for c := range g {
				g[c] = update
			}
			return loss, nil
		}
		w, err := New(r.Programmed(experiment.Program{Start: begin(), Gradient: gradient}), 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	w, g, x := worker(r), make([]float32, trained+exact), begin()
	update = -1
	if _, err := w.Gradient(g, 0, x); err != nil || g[trained-1] != -0.25 || g[trained] != -1 {
		t.Errorf("%v: parameters change by %v, exact elements by %v, want 0.25 and 1", err, -g[trained-1], -g[trained])
	}
	loss = 3e4 // the first one that is known
	if _, err := w.Gradient(g, 1, x); err != nil {
		t.Error(err)
	}
	for _, bad := range []struct{ update, loss float32 }{
		{float32(math.NaN()), 1}, {float32(math.Inf(1)), 1}, {0, 3e9}, {0, float32(math.Inf(1))},
	} {
		update, loss = bad.update, bad.loss
		var diverged interface {
			error
			Hint() string
		}
		if _, err := w.Gradient(g, 2, x); !errors.As(err, &diverged) || !errors.Is(err, train.ErrDiverged) ||
			!strings.Contains(diverged.Hint(), "learning rate in the script") {
			t.Errorf("update %v, loss %v: %v", bad.update, bad.loss, err)
		}
	}
}

func TestAProgramOfAnotherSizeIsRefused(t *testing.T) {
	r := outlined(t)
	_, err := New(r.Programmed(experiment.Program{Start: make([]float32, 3)}), 0, nil)
	if err == nil || !strings.Contains(err.Error(), "starts with 3 elements, but its tensors have 47") {
		t.Error(err)
	}
	var located *configs.Error
	if _, err := All(r); !errors.As(err, &located) {
		t.Errorf("workers without a program: %v", err)
	}
}

func TestTheExampleForPyTorch(t *testing.T) {
	cfg := load(t, "../../examples/pytorch/ring8.yaml").Config
	cfg.Model.Outline = &model.Outline{Params: []model.Param{{Name: "fc.weight", Shape: []int{10, 784}}}}
	r, err := experiment.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	label := r.Describe().Label
	if r.N() != 8 || r.Bits() != 8 || label != "moniqua" || cfg.Train.Rounds != 200 || len(r.Warnings()) > 0 {
		t.Errorf("%d peers, %d bits, %s, %d rounds, %v", r.N(), r.Bits(), label, cfg.Train.Rounds, r.Warnings())
	}
}
