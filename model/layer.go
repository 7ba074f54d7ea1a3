package model

// A mode says what a forward pass is for. Batch normalization differs.
type mode int

const (
	training mode = iota
	evaluating
	repeating // evaluating, with the parameters of the pass before: they are packed
)

// A layer computes its output node from its input node. Parameters lie in the
// flat vector x and their gradients go to g; n is the number of samples.
type layer interface {
	forward(x []float32, n int, m mode)
	// backward overwrites the layer's part of g, and its input's gradient if
	// there is one, given the gradient of its output. It follows a forward
	// pass in mode training with the same x and n.
	backward(g *gradients, x []float32, n int)
}

// A node is a value between two layers and the gradient of the loss with respect to it. At
// the input grad is nil, because no layer needs it.
type node struct {
	value, grad *tensor
	made        layer // computes the value: a convolution or a normalization, with which the next layer may work; or nil
}

// A normalization is a layer whose passes over memory work image by image. The convolutions
// before and after it run these passes while the image is in the cache.
type normalization interface {
	layer
	// passOn says that the next layer calls apply and measureGradient. They read z, and apply also rest, if any.
	passOn() (z *tensor, rest []*tensor)
	measure(b int, m mode)      // statistics of z of image b
	apply(b int)                // y of image b, after forward
	measureGradient(b int)      // statistics of dy of image b
	applyGradient(b, place int) // dz of image b, after backward, to an image of in.grad
}

// A shortcut leads around some layers. The first of these calls addGradient
// when it has computed dx of image b.
type shortcut interface{ addGradient(b int) }
