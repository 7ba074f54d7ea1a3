package model

import (
	"fmt"
	"strconv"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/rng"
	"gossiptrainer/model/sample"
)

// A net is a chain of layers under the mean cross entropy of a softmax.
type net struct {
	batch   int
	input   node
	inPlace bool // the input is the batch itself
	layers  []layer
	logits  node
	params  []Param
	starts  []start
	grads   gradients
	longest int  // part of a gradient
	holds   bool // see Hold
	packed  bool // the layers have packed the parameters that are held
}

var (
	_ Model      = (*net)(nil)
	_ Parted     = (*net)(nil)
	_ Classifier = (*net)(nil)
	_ Holder     = (*net)(nil)
)

// net returns the finished network; the last layer's output are the logits.
func (b *builder) net(logits node) *net {
	return &net{
		batch: b.batch, input: b.input, inPlace: b.input.value.v == nil, layers: b.layers, logits: logits,
		params: b.params, starts: b.starts, longest: b.longest,
	}
}

// Dim returns the number of parameters.
func (n *net) Dim() int {
	last := n.params[len(n.params)-1]
	return last.Off + last.Len()
}

// Layout lists the parameters.
func (n *net) Layout() []Param { return n.params }

// Init draws the starting point: coordinate i is a function of (seed, i).
func (n *net) Init(x []float32, seed uint64) {
	key := rng.At(rng.Stream(seed, initStream), 0)
	for i, p := range n.params {
		s := n.starts[i]
		for j := range p.of(x) {
			u := 2*key.Uniform(uint32(p.Off+j)) - 1
			x[p.Off+j] = s.centre + float32(s.width*u)
		}
	}
}

// Gradient computes mean loss and gradient over a batch of at most Spec.Batch
// samples.
func (n *net) Gradient(g, x []float32, batch sample.Batch) (loss float32) {
	n.grads.whole, n.grads.take = g, nil
	loss = n.backward(x, batch)
	n.grads.whole = nil
	return loss
}

// GradientParts is Gradient in parts: layers, and rows of large dense ones.
func (n *net) GradientParts(x []float32, batch sample.Batch, take func(first int, part []float32)) (loss float32) {
	if n.grads.part == nil {
		n.grads.part = make([]float32, n.longest)
	}
	n.grads.take = take
	return n.backward(x, batch)
}

// backward runs the layers forward and backward, which gives n.grads.
func (n *net) backward(x []float32, batch sample.Batch) (loss float32) {
	size := batch.Len()
	if size == 0 || size > n.batch {
		panic(fmt.Sprintf("internal error: model: batch of %d samples in a network built for 1..%d", size, n.batch))
	}
	n.packed = false
	n.forward(x, batch, training)
	sum, _ := crossEntropyGradient(n.logits.grad.images(size), n.logits.value.images(size), batch.Y)
	for i := len(n.layers) - 1; i >= 0; i-- {
		n.layers[i].backward(&n.grads, x, size)
	}
	return float32(sum / float64(size))
}

// Hold lets the layers pack the parameters once.
func (n *net) Hold() { n.holds, n.packed = true, false }

// Release lets them pack the parameters for every call.
func (n *net) Release() { n.holds, n.packed = false, false }

// Evaluate scores a batch of any size, Spec.Batch samples at a time.
func (n *net) Evaluate(x []float32, batch sample.Batch) Score { return n.Classify(nil, x, batch) }

// Classify is Evaluate, and writes the probabilities of the classes into p unless it is nil.
func (n *net) Classify(p []float64, x []float32, batch sample.Batch) Score {
	features := n.input.value.h * n.input.value.w * n.input.value.c
	loss, correct, size, m := 0.0, 0, batch.Len(), evaluating
	if n.packed {
		m = repeating
	}
	for first := 0; first < size; first += n.batch {
		end := min(first+n.batch, size)
		part := sample.Batch{X: batch.X[first*features : end*features], Y: batch.Y[first:end]}
		n.forward(x, part, m)
		m, n.packed = repeating, n.holds
		logits := n.logits.value.images(end - first)
		l, c := crossEntropy(logits, part.Y)
		loss += l
		correct += c
		if p != nil {
			softmax(p[first*len(logits)/(end-first):], logits, len(logits)/(end-first))
		}
	}
	return Score{
		Loss:     loss / float64(size),
		Accuracy: float64(correct) / float64(size),
		Samples:  size,
	}
}

func (n *net) forward(x []float32, batch sample.Batch, m mode) {
	n.load(batch)
	for _, l := range n.layers {
		l.forward(x, batch.Len(), m)
	}
}

// load makes the batch the input: in place if the input has no memory of its
// own, otherwise row by row between the borders.
func (n *net) load(batch sample.Batch) {
	t := n.input.value
	if n.inPlace {
		t.v = batch.X
		return
	}
	wide := t.w * t.c
	for i := range batch.Len() * t.h {
		copy(t.row(i/t.h, i%t.h), batch.X[i*wide:(i+1)*wide])
	}
}

// State shows what layers carry from batch to batch.
func (n *net) State(v *state.Visit) { visitLayers(v, n.layers) }

func visitLayers(v *state.Visit, layers []layer) {
	for i, l := range layers {
		v.Part("layer"+strconv.Itoa(i), l)
	}
}
