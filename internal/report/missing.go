package report

import (
	"fmt"
	"slices"
	"strings"
)

// Missing names the cells of a comparison that have no result yet.
func (c *Comparison) Missing() []string {
	var names []string
	for _, network := range c.Networks {
		for _, label := range c.Labels {
			seeds := c.Seeds
			if n, fewer := c.Fewer[label]; fewer {
				seeds = seeds[:min(n, len(seeds))]
			}
			for _, seed := range seeds {
				if !slices.ContainsFunc(c.Cells, func(cell Cell) bool {
					return cell.Network == network.Name && cell.Label == label && cell.Seed == seed
				}) {
					names = append(names, fmt.Sprintf("%s on %s, seed %d", label, network.Name, seed))
				}
			}
		}
	}
	return names
}

// mostNamed bounds the number of names in one line.
const mostNamed = 5

// someOf lists the first few names and counts the others.
func someOf(names []string) string {
	text := strings.Join(names[:min(mostNamed, len(names))], "; ")
	if more := len(names) - mostNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
