package model

import (
	"fmt"

	"gossiptrainer/model/sample"
)

// buildVGG makes VGG-16 for small images (Simonyan and Zisserman, "Very Deep Convolutional
// Networks", 2015, configuration D). It has thirteen 3×3 convolutions in five stages, each
// halved at its end, with a normalization after each convolution. It keeps only the last of
// the three dense layers. With 32×32×3 images, which become 1×1, it has 14,724,042 parameters.
func buildVGG(b *builder, s Spec) (node, error) {
	return vgg(b, s, []int{64, 128, 256, 512, 512})
}

// vgg makes the network with these channels in its stages.
func vgg(b *builder, s Spec, channels []int) (node, error) {
	if err := halved(s.Shape); err != nil {
		return node{}, err
	}
	norm, err := s.normalizer()
	if err != nil {
		return node{}, err
	}
	at := b.inputs(s.Shape, 1)
	for stage, wide := range channels {
		for layer := range min(3, 2+stage/2) {
			name := fmt.Sprintf("stage%d.conv%d", stage+1, layer+1)
			at = b.conv(name, at, convShape{channels: wide, size: 3, step: 1, pad: 1})
			at = norm(b, fmt.Sprintf("stage%d.norm%d", stage+1, layer+1), at, rectified(nil))
		}
		border := 1
		if stage == len(channels)-1 {
			border = 0
		}
		at = b.maxPool(at, border)
	}
	return b.dense("dense", at, s.Classes, narrow(at.value.size())), nil
}

// halved refuses images that five pools cannot halve.
func halved(s sample.Shape) error {
	if s.H%32 != 0 || s.W%32 != 0 {
		return fmt.Errorf("images of %dx%d: height and width must be multiples of 32", s.H, s.W)
	}
	return nil
}

// buildVGG11 makes VGG-11 for small images (configuration A of the same paper) as T. Vogels et al., "RelaySum for
// decentralized deep learning on heterogeneous data" (NeurIPS 2021), train it on CIFAR-10. It has eight 3×3
// convolutions in five stages, each halved at its end, and three dense layers. The first two are 512 wide.
// There is no normalization: layers have biases. With 32×32×3 images it has 9,750,922 parameters.
//
// Theirs has dropout before the first two dense layers. This one has none, because a gradient is a function of the
// parameters and the batch alone.
func buildVGG11(b *builder, s Spec) (node, error) {
	return vgg11(b, s, []int{64, 128, 256, 512, 512}, 512)
}

// vgg11 makes the network with these channels in its stages, and dense layers of this width.
func vgg11(b *builder, s Spec, channels []int, wide int) (node, error) {
	if err := halved(s.Shape); err != nil {
		return node{}, err
	}
	at := b.inputs(s.Shape, 1)
	for stage, outputs := range channels {
		for layer := range min(2, 1+stage/2) {
			name := fmt.Sprintf("stage%d.conv%d", stage+1, layer+1)
			at = b.relu(b.biased(name, b.conv(name, at, convShape{channels: outputs, size: 3, step: 1, pad: 1})))
		}
		border := 1
		if stage == len(channels)-1 {
			border = 0
		}
		at = b.maxPool(at, border)
	}
	at = b.relu(b.dense("dense1", at, wide, he(at.value.size())))
	at = b.relu(b.dense("dense2", at, wide, he(wide)))
	return b.dense("dense3", at, s.Classes, narrow(wide)), nil
}
