package model

import "gossiptrainer/internal/kernel"

// A bias is a number b per channel that a layer with weights adds to its
// outputs: db = Σ dy over all pixels.
type bias struct {
	param Param
	part  []float32 // sums of one image
}

// newBias appends the parameter.
func newBias(b *builder, name string, channels int) bias {
	return bias{b.param(name+".bias", zeros, channels), make([]float32, channels)}
}

// backward computes db over n images.
func (l *bias) backward(t kernel.Tier, g *gradients, dy *tensor, n int) {
	sum := g.of(l.param)
	defer g.done(l.param.Off, sum)
	if dy.h*dy.w == 1 { // the samples are the pixels of one image
		kernel.ChannelSums(t, sum, kernel.Plane{V: dy.v}, kernel.Size{Rows: 1, Pixels: n, Channels: dy.c})
		return
	}
	clear(sum)
	for b := range n {
		kernel.ChannelSums(t, l.part, dy.plane(b), dy.shape())
		for c, v := range l.part {
			sum[c] += v
		}
	}
}
