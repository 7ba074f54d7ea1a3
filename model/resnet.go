package model

import "fmt"

// normalizer returns what Norm names.
func (s Spec) normalizer() (normalizer, error) {
	switch s.Norm {
	case "group":
		return (*builder).groupNorm, nil
	case "batch":
		return (*builder).batchNorm, nil
	}
	return nil, fmt.Errorf("norm %q: want group or batch", s.Norm)
}

func resnetKind() Kind {
	kind := network("resnet", buildResNet, "depth", "norm")
	kind.Check = func(s Spec) (setting, why string) {
		if s.Depth%6 != 2 {
			return "depth", fmt.Sprintf("a resnet has 6n+2 layers: 8, 14, 20, 32, 44, 56, 110, ..., got %d", s.Depth)
		}
		return "", ""
	}
	return kind
}

// buildResNet makes the residual network for small images of He et al. 2016, section 4.2. It
// has a 3×3 convolution to 16 channels, then three stages of n blocks with 16, 32 and 64
// channels. Each stage but the first begins with step 2. The mean over the image and a dense
// layer follow: 6n+2 layers with weights. ResNet-20 on 32×32×3 images has 269,722 parameters.
func buildResNet(b *builder, s Spec) (node, error) {
	if s.Depth < 8 || (s.Depth-2)%6 != 0 {
		return node{}, fmt.Errorf("depth %d: want 6n+2, like 8, 14, 20, 32, 44, 56 or 110", s.Depth)
	}
	if s.Shape.H < 8 || s.Shape.W < 8 {
		return node{}, fmt.Errorf("images of %dx%d: want at least 8x8", s.Shape.H, s.Shape.W)
	}
	norm, err := s.normalizer()
	if err != nil {
		return node{}, err
	}
	at := b.conv("conv", b.inputs(s.Shape, 1), convShape{channels: 16, size: 3, step: 1, pad: 1})
	at = norm(b, "norm", at, rectified(nil))
	for stage, channels := range []int{16, 32, 64} {
		for block := range (s.Depth - 2) / 6 {
			step := 1
			if stage > 0 && block == 0 {
				step = 2
			}
			name := fmt.Sprintf("stage%d.block%d", stage+1, block+1)
			at = b.residual(name, at, channels, step, norm)
		}
	}
	at = b.meanPool(at)
	return b.dense("dense", at, s.Classes, narrow(64)), nil
}
