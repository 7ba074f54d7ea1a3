package quant

import (
	"fmt"

	"gossiptrainer/internal/kernel"
)

// carried is the part of a rule that ORQ and Quantiles share. Each bucket has its own levels, which
// are sent in its header, and values between two levels are rounded at random.
type carried struct {
	cells  cells
	sorter sorter
	levels []float64
	points
	drawer kernel.Cells
	laned  bool // drawer is set
}

// use sets the levels to those in the header.
func (c *carried) use(header []float32) {
	c.levels = c.levels[:0]
	for _, level := range header {
		c.levels = append(c.levels, float64(level))
	}
	c.cells.reset(c.levels, 1)
	c.laned = c.drawer.Set(c.levels, 0)
}

func (c *carried) round(symbols []uint16, z, u []float32) { c.cells.round(symbols, z, u) }

func (c *carried) spread(z []float32) float64 { return c.cells.spread(z) }

func (c *carried) check(header []float32) error {
	for j := 1; j < len(header); j++ {
		if header[j-1] > header[j] {
			return fmt.Errorf("level %v before %v: must be ascending", header[j-1], header[j])
		}
	}
	return nil
}

func (c *carried) open(header []float32, w float32) {
	for j, level := range header {
		c.points[j] = float32(w * level)
	}
}
