package conformance

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// An event of a pairwise run: both peers average their models, then peer takes a step along a gradient. The gradient is
// taken at its own model of delay events earlier; 0 is the model before this averaging.
type event struct {
	Peer, Partner topology.Rank
	Delay         int
}

// Pairwise runs through the exchange that the machine of package gossip uses: both ends encode, then average. The
// event is the number of the exchange.
func TestConformancePairwise(t *testing.T) {
	covered := 0
	for _, file := range loadRuns(t) {
		if row, ok := file.Algorithm.row(); !ok || !row.Asynchronous() {
			continue
		}
		covered++
		t.Run(file.Name, func(t *testing.T) {
			r := newPairwise(t, file)
			for e, event := range file.Algorithm.Events {
				r.happen(t, e, event)
			}
			r.checkModels(t)
			r.checkEnd(t)
			r.checkBytes(t)
			if file.Algorithm.Moniqua != nil {
				r.checkFirstMessages(t)
				r.checkWrong(t)
				near(t, "largest gap of neighbours over theta", r.gap, file.Gap, 10*file.Tolerance.Float32)
			}
		})
	}
	if covered == 0 {
		t.Error("no run file is covered")
	}
}

// A pairwise run counts events instead of rounds.
type pairwise struct {
	run
	algs  []*algos.ADPSGD
	gap   float64
	wrong []decodeError

	caught int // wrong messages that verification has caught
}

func newPairwise(t *testing.T, file runFile) *pairwise {
	t.Helper()
	row, _ := file.Algorithm.row()
	g := file.Topology.graph(t)
	n := g.N()
	r := &pairwise{run: run{runFile: file, rows: g.Sequences(), bytes: make([]int, n),
		models: make([][][]float32, 1, file.Steps+1)}}
	if len(file.Algorithm.Events) != file.Steps {
		t.Fatalf("%d events in %d steps", len(file.Algorithm.Events), file.Steps)
	}
	for i := range n {
		p, codec := r.parts(t, i, narrowed(file.X0[i])), r.codec(t, i, 0)
		p.Link = func(topology.Rank) algos.Codec { return codec }
		a := row.Pair(p)
		r.algs = append(r.algs, a)
		r.optimizers = append(r.optimizers, r.optimizer(t, len(a.X)))
		r.models[0] = append(r.models[0], slices.Clone(a.X))
	}
	return r
}

// happen executes event e.
func (r *pairwise) happen(t *testing.T, e int, event event) {
	t.Helper()
	i, j := event.Peer, event.Partner
	one, other := r.algs[i], r.algs[j]
	snapshots := [2][]float32{slices.Clone(one.X), slices.Clone(other.X)}
	offer, err := one.Encode(nil, e, j)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := other.Encode(nil, e, i)
	if err != nil {
		t.Fatal(err)
	}
	r.recover(t, e, algos.Message{From: i, Payload: offer}, func(offer algos.Message) error {
		_, err := other.Average(e, snapshots[1], answer, offer)
		return err
	})
	r.recover(t, e, algos.Message{From: j, Payload: answer}, func(answer algos.Message) error {
		_, err := one.Average(e, snapshots[0], offer, answer)
		return err
	})
	r.bytes[i] += len(offer) - r.hashBytes()
	r.bytes[j] += len(answer) - r.hashBytes()
	r.compare(t, e, i, j)
	one.Descend(e, r.direction(int(i), r.models[max(0, e-event.Delay)][i]))
	var now [][]float32
	for _, a := range r.algs {
		now = append(now, slices.Clone(a.X))
	}
	r.models = append(r.models, now)
}

// recover passes a message of exchange e to use, with its repair if it needs one.
func (r *pairwise) recover(t *testing.T, e int, m algos.Message, use func(m algos.Message) error) {
	t.Helper()
	ends, box := r.Algorithm.Events[e], mailbox{}
	m.Payload = box.keep(gossip.Frame{
		From: m.From, To: ends.Peer + ends.Partner - m.From, Round: e, Payload: m.Payload,
	}).Payload
	err := use(m)
	var wrong *algos.MismatchError
	if errors.As(err, &wrong) {
		r.caught++
		repair, ok := r.sent[0][m.From].AppendRepair(nil, e, 0, nil)
		if !ok {
			t.Fatalf("event %d: worker %d has no repair", e, m.From)
		}
		m.Repair = repair
		err = use(m)
	}
	if err = cmp.Or(err, box.check()); err != nil {
		t.Fatalf("%s: %v", r.Algorithm.variety(), err)
	}
}

// compare notes the distance of the two models of exchange e, and the indices that either end decodes wrongly.
func (r *pairwise) compare(t *testing.T, e int, i, j topology.Rank) {
	t.Helper()
	if r.Algorithm.Moniqua == nil {
		return
	}
	for _, ends := range [][2]topology.Rank{{i, j}, {j, i}} {
		one, other := r.sent[0][ends[0]], r.sent[0][ends[1]]
		wrong := decodeError{Step: e, Receiver: ends[0], Sender: ends[1], Coords: one.wrong(t, e, other)}
		apart := distance(one.models[e], other.models[e])
		r.gap = max(r.gap, float64(apart)/r.Algorithm.Moniqua.Theta.at(e))
		if wrong.Coords > 0 {
			r.wrong = append(r.wrong, wrong)
		}
	}
}

func (r *pairwise) checkWrong(t *testing.T) {
	t.Helper()
	if !slices.Equal(inOrder(r.wrong), inOrder(r.Errors)) {
		t.Errorf("decode errors %v, want %v", r.wrong, r.Errors)
	}
	if r.Algorithm.Verify && r.caught != len(r.Errors) {
		t.Errorf("%d wrong messages were caught, want %d", r.caught, len(r.Errors))
	}
}
