package gossip

import (
	"math"
	"slices"

	"gossiptrainer/algos"
	"gossiptrainer/internal/vec"
	"gossiptrainer/topology"
)

// A Stack goes through the rounds of D-PSGD in place of the workers of a Lockstep. Small models of many workers take
// longer to reach in memory than to mix. So what a round needs of all workers lies side by side, and the workers are
// brought to their round only before a driver looks at them.
//
// A round has the parts Encode, Sure and Step. Each is over for all workers before the next begins, and each may be
// called for several workers at the same time.
type Stack struct {
	k, rounds int
	began     int // the round in which it has taken over the workers
	workers   []*Worker
	rules     []*algos.DPSGD
	models    algos.Models
	messages  algos.Stack
	makes     bool // messages are not the models themselves
	bytes     int  // of a message
	left      bool // the workers have their messages
	scratch   []byte

	first   []int32 // by worker: its first neighbour in from, with the number of all at the end
	from    []int32
	at      []int // beside from: where its row begins, in bytes
	weights []float32
	guards  []guard
	saw     []algos.Mixed
}

// mostStacked bounds the coordinates of all workers that encode. A stack takes more memory than their messages: the
// models of two rounds, and indices of 4 bytes.
const mostStacked = 1 << 25

// newStack returns nil where the workers run something else, or have not all the same kind of messages. Their models
// stay where they are if they are the rows of models.
func newStack(workers []*Worker, models algos.Rows) *Stack {
	r := &Stack{k: workers[0].k, began: workers[0].k, rounds: workers[0].schedule.Rounds, workers: workers}
	r.rules = make([]*algos.DPSGD, len(workers))
	codecs := make([]algos.Codec, len(workers))
	for i, w := range workers {
		rule, ok := w.alg.Algorithm.(*algos.DPSGD)
		if !ok || !rule.Stacks() || len(rule.X) != len(workers[0].alg.Params()) || len(w.rows.At(0).In) == 0 {
			return nil
		}
		r.rules[i], codecs[i] = rule, rule.Codec
	}
	stacker, ok := codecs[0].(algos.Stacker)
	if !ok {
		return nil
	}
	n, dim := len(workers), len(r.rules[0].X)
	_, full := codecs[0].(algos.Full)
	if !full && n*dim > mostStacked {
		return nil
	}
	r.models.Rows[0] = algos.NewRows(0, dim) // for the question alone
	if r.messages = stacker.Stack(codecs, &r.models); r.messages == nil {
		return nil
	}
	r.makes = !full
	if overlap(workers[0]) != nil {
		return nil // and the same error comes again
	}
	r.bytes = len(workers[0].mail().outbox.at(r.k).pieces[0])
	for _, now := range []int{r.k % 2, (r.k + 1) % 2} { // the models of the workers may be freed in between
		r.models.Largest[now] = make([]float32, n)
		if r.models.Rows[now] = models; now != r.k%2 || !r.lie(models) {
			r.models.Rows[now] = algos.NewRows(n, dim)
		}
		if now == r.k%2 {
			r.enter()
		}
	}
	return r
}

// lie reports whether the models of the workers are the rows of models.
func (r *Stack) lie(models algos.Rows) bool {
	dim := len(r.rules[0].X)
	if models.Dim != dim || len(models.Data) != len(r.rules)*models.Stride {
		return false
	}
	for i, rule := range r.rules {
		if dim > 0 && &rule.X[0] != &models.At(i)[0] {
			return false
		}
	}
	return true
}

// enter takes over the models and the neighbours of the workers.
func (r *Stack) enter() {
	now, n, edges := r.k%2, len(r.workers), 0
	for _, w := range r.workers {
		edges += len(w.rows.At(0).In)
	}
	r.first, r.guards, r.saw = make([]int32, 0, n+1), make([]guard, 0, n), make([]algos.Mixed, 0, n)
	r.from, r.at, r.weights = make([]int32, 0, edges), make([]int, 0, edges), make([]float32, 0, edges)
	for i, w := range r.workers {
		r.first = append(r.first, int32(len(r.from)))
		for _, e := range w.rows.At(0).In {
			r.from, r.weights = append(r.from, int32(e.Peer)), append(r.weights, float32(e.Weight))
			r.at = append(r.at, 4*int(e.Peer)*r.models.Rows[0].Stride)
		}
		r.guards, r.saw = append(r.guards, w.guard), append(r.saw, w.mixed)
		row := r.models.Rows[now].At(i)
		copy(row, r.rules[i].X)
		r.rules[i].Move(row)
		r.rules[i].Forget()
		vacate(w)
		r.models.Largest[now][i] = vec.MaxAbs(row)
	}
	r.first = append(r.first, int32(len(r.from)))
}

// vacate gives up the memory of messages that leave makes again. A worker that has just begun has no others.
func vacate(w *Worker) {
	switch m := w.box; {
	case m == nil:
	case w.k == w.first && m.outbox.lender == nil && !m.outbox.logged:
		w.box = nil
	default:
		m.outbox.at(w.k).pieces[0], m.ready = nil, [2]work{}
	}
}

// Models returns the models in the present round, and their largest magnitudes.
func (r *Stack) Models() (x algos.Rows, largest []float32) {
	return r.models.Rows[r.k%2], r.models.Largest[r.k%2]
}

// Begin begins the round. It reports false where the workers have to go through it, see Lockstep.Unstack.
func (r *Stack) Begin() bool { return r.messages.Begin(r.k) }

// Makes reports whether messages are made and checked by Encode and Sure. Otherwise they are the models.
func (r *Stack) Makes() bool { return r.makes }

// Encode lets a worker make its message.
func (r *Stack) Encode(i int) error {
	if r.messages.Encode(i) == nil {
		return nil
	}
	return r.unsent(i, r.k, r.models.Rows[r.k%2].At(i))
}

// Sure reports whether a worker can use all messages of the round as they are.
func (r *Stack) Sure(i int) bool { return r.messages.Sure(i, r.passage(i, nil)) }

// passage returns the way of a worker through the round.
func (r *Stack) passage(i int, g []float32) algos.Passage {
	first, end := r.first[i], r.first[i+1]
	now, next := r.k%2, (r.k+1)%2
	return algos.Passage{
		Next: r.models.Rows[next].Whole(i), X: r.models.Rows[now].Whole(i), G: g, From: r.from[first:end],
		At: r.at[first:end], Weights: r.weights[first:end],
	}
}

// Step lets a worker mix the messages of its neighbours and descend along g, a row with what fills it up.
func (r *Stack) Step(i int, g []float32) error {
	p := r.passage(i, g)
	p.Step = -r.rules[i].Alpha(r.k)
	passed := r.messages.Mix(i, p)
	if limit := r.guards[i].limit(); !r.makes && !(passed.Largest <= limit) {
		return r.refuse(i, limit)
	}
	r.saw[i], r.models.Largest[(r.k+1)%2][i] = passed.Mixed, passed.Next
	r.guards[i].mixed(passed.Mixed)
	if !r.makes && !(passed.Next <= math.MaxFloat32) && r.k+1 < r.rounds {
		return r.unsent(i, r.k+1, p.Next[:r.models.Rows[0].Dim])
	}
	return nil
}

// unsent returns the error of a worker that cannot make its message of round k from its model.
func (r *Stack) unsent(i, k int, x []float32) error {
	w := r.workers[i]
	r.rules[i].Move(slices.Clone(x))
	w.k = k
	_, err := r.rules[i].Send(k, 0, nil)
	return w.fail(w.located(err))
}

// refuse returns the error of a message whose values are absurd.
func (r *Stack) refuse(i int, limit float32) error {
	var in []algos.Message
	for j := r.first[i]; j < r.first[i+1]; j++ {
		from := int(r.from[j])
		x := r.models.Rows[r.k%2].At(from)
		in = append(in, algos.Message{From: topology.Rank(from), Payload: vec.LE(x), Limit: limit})
	}
	w := r.workers[i]
	w.k = r.k
	_, err := r.rules[i].Mix(r.k, 0, in)
	return w.fail(w.located(err))
}

// settle brings the workers to the present round. Their messages are missing, see leave.
func (r *Stack) settle() {
	for i, w := range r.workers {
		w.k, w.guard, w.mixed = r.k, r.guards[i], r.saw[i]
		r.rules[i].Move(r.models.Rows[r.k%2].At(i))
		if w.phase = computing; r.k == r.rounds {
			w.phase = done
		}
	}
	if r.k == r.rounds {
		r.models.Rows[(r.k+1)%2] = algos.Rows{} // the models of the round before are of no use
	}
}

// leave gives the workers their last messages, too, unless the run is over. It comes after settle.
func (r *Stack) leave() error {
	if r.left {
		return nil
	}
	r.left = true
	for i, w := range r.workers {
		notes := r.messages.Leave(i, r.k)
		if r.k == r.rounds {
			w.box = nil
			continue
		}
		b := &w.mail().outbox
		for slot := max(r.began, r.k-1); slot <= r.k; slot++ {
			payload, err := r.payload(i, slot, nil)
			if err != nil {
				return w.fail(w.located(err))
			}
			m := b.at(slot)
			m.Frame = Frame{From: w.self, Round: slot, Note: uint64(notes[r.k-slot])}
			m.pieces[0] = payload
			b.size = max(b.size, len(payload))
		}
		b.sent, b.made = r.k+1, 1
		r.rules[i].Move(r.models.Rows[r.k%2].At(i))
	}
	return nil
}

// show lets look take the state of a worker. Its codec has made the message of the last round then, not that of this
// one.
func (r *Stack) show(i int, look func()) error {
	w, box := r.workers[i], r.workers[i].box
	r.messages.Leave(i, r.k)
	if r.makes && r.k > r.began {
		var err error
		if r.scratch, err = r.payload(i, r.k-1, r.scratch[:0]); err != nil {
			return w.fail(w.located(err))
		}
		r.rules[i].Move(r.models.Rows[r.k%2].At(i))
		r.rules[i].Forget()
	}
	w.box = nil
	look()
	w.box = box
	return nil
}

// payload makes the message of a worker of the last round or of the present one, in dst where it is not the model.
func (r *Stack) payload(i, k int, dst []byte) ([]byte, error) {
	x := r.models.Rows[k%2].At(i)
	if !r.makes && k < r.k { // nothing writes to this row any more
		return vec.LE(x), nil
	}
	r.rules[i].Move(x)
	return r.rules[i].Send(k, 0, dst)
}
