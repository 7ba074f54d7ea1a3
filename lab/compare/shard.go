package compare

import (
	"fmt"
	"strconv"
	"strings"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
)

// A Shard is a part of the cells of a comparison, for one of several machines. The zero value is all cells.
type Shard struct {
	Part, Of int // 1 ≤ Part ≤ Of
}

// mostShards bounds the parts of a comparison.
const mostShards = 10000

// ParseShard reads a shard like 2/4. The empty text stands for all cells.
func ParseShard(text string) (Shard, error) {
	if text == "" {
		return Shard{}, nil
	}
	part, of, _ := strings.Cut(text, "/")
	p, err := strconv.Atoi(part)
	n, err2 := strconv.Atoi(of)
	if err != nil || err2 != nil || p < 1 || p > n || n > mostShards {
		return Shard{}, advice.Usagef("compare: --shard %s: want a part and the number of parts, like 2/4", text)
	}
	return Shard{p, n}, nil
}

// takes returns the cells of the shard by their ID. Cells that differ only in their network stay together, because they
// share gradients.
func (s Shard) takes(cells []configs.Cell) map[string]bool {
	mine, places := map[string]bool{}, map[string]int{}
	for _, cell := range cells {
		run := fmt.Sprint(cell.Label, "\n", cell.Seed)
		if _, known := places[run]; !known {
			places[run] = len(places)
		}
		mine[cell.ID()] = s.Of == 0 || places[run]%s.Of == s.Part-1
	}
	return mine
}
