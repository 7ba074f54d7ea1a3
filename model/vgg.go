package model

import "fmt"

// buildVGG makes VGG-16 for small images (Simonyan and Zisserman, "Very Deep Convolutional
// Networks", 2015, configuration D). It has thirteen 3×3 convolutions in five stages, each
// halved at its end, with a normalization after each convolution. It keeps only the last of
// the three dense layers. With 32×32×3 images, which become 1×1, it has 14,724,042 parameters.
func buildVGG(b *builder, s Spec) (node, error) {
	return vgg(b, s, []int{64, 128, 256, 512, 512})
}

// vgg makes the network with so many channels in its stages.
func vgg(b *builder, s Spec, channels []int) (node, error) {
	if s.Shape.H%32 != 0 || s.Shape.W%32 != 0 {
		return node{}, fmt.Errorf("images of %dx%d: height and width must be multiples of 32", s.Shape.H, s.Shape.W)
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
