package model

import "fmt"

// buildLeNet makes LeNet-5 with max pooling, ReLU and a softmax (LeCun, Bottou, Bengio and
// Haffner, "Gradient-based learning applied to document recognition", 1998, figure 2). It has
// 5×5 convolutions to 6 and 16 channels, each halved, then dense layers of 120 and 84. The
// first convolution pads by 2, which makes 28×28 images the paper's 32×32. For MNIST it has
// 61,706 parameters.
func buildLeNet(b *builder, s Spec) (node, error) {
	if s.Shape.H%4 != 0 || s.Shape.W%4 != 0 || s.Shape.H < 12 || s.Shape.W < 12 {
		return node{}, fmt.Errorf("images of %dx%d: height and width must be multiples of 4 of at least 12", s.Shape.H,
			s.Shape.W)
	}
	at := b.inputs(s.Shape, 2)
	at = b.biased("conv1", b.conv("conv1", at, convShape{channels: 6, size: 5, step: 1, pad: 2}))
	at = b.maxPool(b.relu(at), 0)
	at = b.biased("conv2", b.conv("conv2", at, convShape{channels: 16, size: 5, step: 1}))
	at = b.maxPool(b.relu(at), 0)
	at = b.relu(b.dense("dense1", at, 120, he(at.value.size())))
	at = b.relu(b.dense("dense2", at, 84, he(120)))
	return b.dense("dense3", at, s.Classes, narrow(84)), nil
}
