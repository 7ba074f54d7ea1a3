package model

import "gossiptrainer/internal/kernel"

const (
	// ownGroups bounds the packed weights that a dense layer keeps to itself: 512 KiB.
	ownGroups = 512 << 10 / (4 * kernel.Lanes)
	// stripGroups bounds a strip of a larger layer, but for its least width: 2 MiB.
	stripGroups = 2 << 20 / (4 * kernel.Lanes)
	// leastPanels is the least width of a strip: the kernels take that number of panels at once.
	leastPanels = 2
)

// A strips is the product of a dense layer with packed weights of wide columns at a time.
type strips struct {
	product
	inputs, wide int
	memory       *kernel.Panel // of one strip: the layer's own, or one for all large layers of a net
	strip        kernel.Filter // the strip under way
}

// strips makes room for the strips of a matrix of these inputs and columns.
func (b *builder) strips(inputs, columns int) strips {
	s := strips{inputs: inputs, wide: columns, memory: new(kernel.Panel)}
	panels := kernel.Panels(columns)
	if panels > leastPanels && panels*inputs > ownGroups {
		panels = min(panels, max(leastPanels, stripGroups/inputs/leastPanels*leastPanels))
		if b.strip == nil {
			b.strip = new(kernel.Panel)
		}
		s.wide, s.memory = min(columns, panels*kernel.Lanes), b.strip
	}
	if need := panels * inputs; len(*s.memory) < need {
		b.packed += (need - len(*s.memory)) * kernel.Lanes
		*s.memory = make(kernel.Panel, need)
	}
	s.product = newProduct(1, 0, 0, columns)
	s.window = kernel.Window{Rows: 1, Len: inputs, Step: inputs}
	return s
}

// part returns the filter of the strip that begins with a column. Its weights are to be packed.
func (s *strips) part(first int) *kernel.Filter {
	count := min(s.wide, s.filter.Channels-first)
	panels := kernel.Panels(count)
	s.strip = kernel.Filter{
		Weights: (*s.memory)[:panels*s.inputs], Start: s.filter.Start[first/kernel.Lanes:][:panels], Channels: count,
	}
	return &s.strip
}
