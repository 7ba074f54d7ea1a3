package model

import (
	"math"

	"gossiptrainer/internal/kernel"
	"gossiptrainer/model/sample"
)

// A builder wires a net: each method appends a layer, its memory and its
// parameters, and returns the node that the layer computes.
type builder struct {
	tier    kernel.Tier
	batch   int
	dim     int
	params  []Param
	form    Form
	starts  []start
	input   node
	layers  []layer
	shared  map[tensorShape]*tensor
	turn    int           // of the next normalized value's gradient
	floats  int           // of all tensors
	strip   *kernel.Panel // of packed weights, which all large dense layers share; nil: there is none
	packed  int           // floats of packed weights and of sums of their gradients
	longest int           // coordinates of the longest part of a gradient
}

// A tensorShape identifies tensors that can take each other's place.
type tensorShape struct {
	dims
	images, turn int
}

// inputs declares the samples. They are copied if they are to have a border, or
// if there are too few features for the kernels to read by fours.
func (b *builder) inputs(s sample.Shape, border int) node {
	d := dims{s.H, s.W, s.C, border}
	b.input = node{value: &tensor{dims: d}}
	if border > 0 || s.Features() <= beyond {
		b.input.value = b.tensor(b.batch, d)
	}
	return b.input
}

// tensor allocates a tensor and counts it.
func (b *builder) tensor(images int, d dims) *tensor {
	t := newTensor(images, d)
	b.floats += len(t.v)
	return t
}

// node allocates a value and its gradient.
func (b *builder) node(d dims) node {
	return node{value: b.tensor(b.batch, d), grad: b.tensor(b.batch, d)}
}

// scratch returns a tensor for gradients. One layer's backward pass writes them, and a layer
// soon after consumes them. So all tensors of one shape and turn share their memory.
func (b *builder) scratch(images int, d dims, turn int) *tensor {
	shape := tensorShape{d, images, turn}
	if b.shared[shape] == nil {
		if b.shared == nil {
			b.shared = map[tensorShape]*tensor{}
		}
		b.shared[shape] = b.tensor(images, d)
	}
	return b.shared[shape]
}

// The gradients of normalized values take turns: while a residual block goes
// backward, those of its output, of the value inside it and of its input are
// needed at once. Those of a convolution's output are used up at once.
const (
	turns   = 3
	ownTurn = turns
)

// param appends a parameter to the flat vector.
func (b *builder) param(name string, s start, shape ...int) Param {
	p := Param{Name: name, Off: b.dim, Shape: shape}
	b.dim += p.Len()
	b.params = append(b.params, p)
	b.starts = append(b.starts, s)
	b.form = append(b.form, inOrder(name, p))
	return p
}

// files says how files hold the parameter that was appended last.
func (b *builder) files(t Tensor) { b.form[len(b.form)-1] = t }

// statistics appends running statistics to the form.
func (b *builder) statistics(name string, length int) {
	off := 0
	for _, t := range b.form {
		if t.statistic {
			off += t.part.Len()
		}
	}
	t := inOrder(name, Param{Name: name, Off: off, Shape: []int{length}})
	t.statistic = true
	b.form = append(b.form, t)
}

// A start says how a parameter begins: at centre plus or minus a uniform
// deviation of at most width.
type start struct{ centre, width float32 }

var (
	zeros = start{}
	ones  = start{centre: 1}
)

// he is the start of weights below a ReLU, with or without a normalization between (He, Zhang, Ren and Sun, "Delving
// Deep into Rectifiers", 2015, eq. 10). Its variance 2/fanIn keeps the size of signals from layer to layer. The authors
// take it for ResNets, too ("Deep Residual Learning", 2016, section 3.4). The fanIn of a convolution is k·k·channels.
// The paper draws normally. Here all starts are uniform with the same variance, because that takes one exact product
// and so gives the same bits on every kind of processor. Biases are 0, as in the paper.
func he(fanIn int) start { return start{width: float32(math.Sqrt(6 / float64(fanIn)))} }

// narrow is the start of the last layer, whose outputs are the logits: uniform within ±1/√fanIn. It is eq. 1 of Glorot
// and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010, and the start of
// PyTorch's Linear. Its variance is a third of 1/fanIn, which would keep the size of signals below no ReLU. So a
// network begins closer to equal probabilities. The bias is 0, because no class is preferred.
func narrow(fanIn int) start { return start{width: float32(1 / math.Sqrt(float64(fanIn)))} }

// initStream separates the initial point from the streams of the workers.
const initStream = 1<<31 - 1
