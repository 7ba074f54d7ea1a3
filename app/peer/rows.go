package peer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/worker"
	"gossiptrainer/configs"
	"gossiptrainer/internal/human"
	"gossiptrainer/node"
)

// tagRows names the vector of a machine with its rows: the upper and the lower 16 bits, which float32 holds exactly.
const (
	tagRows  = "rows"
	rowsLen  = 2
	halfRows = 1 << 16
)

// tellRows writes the rows of a machine as a vector, which readRows reads.
func tellRows(rows int) []float32 {
	return []float32{float32(rows / halfRows), float32(rows % halfRows)}
}

// readRows returns the rows of all machines from their vectors.
func readRows(all []float32) ([]int, error) {
	rows := make([]int, len(all)/rowsLen)
	for rank := range rows {
		for _, v := range all[rowsLen*rank:][:rowsLen] {
			if !(v >= 0 && v < halfRows) || v != float32(int(v)) {
				return nil, fmt.Errorf("worker %d has told %v as its rows: want two whole numbers below %d", rank,
					all[rowsLen*rank:][:rowsLen], halfRows)
			}
			rows[rank] = halfRows*rows[rank] + int(v)
		}
		if rows[rank] == 0 {
			return nil, fmt.Errorf("worker %d has told that it has no rows to train on", rank)
		}
	}
	return rows, nil
}

// agree lets machines that see only their own files tell each other their rows. The session goes on with the run that
// follows from all of them. A machine of a list that is wrong ends once the others have its rows too, so that all say
// the same.
func (p *Part) agree(ctx context.Context, n *node.Node) error {
	run := p.Session.Run
	own, apart := run.Data().Apart()
	if !apart {
		return nil
	}
	all, err := n.Gather(ctx, tagRows, tellRows(own), worker.LostPolicy(run))
	if err != nil {
		return err
	}
	rows, err := readRows(all)
	if err != nil {
		return err
	}
	agreed, err := run.WithRows(rows)
	if err != nil {
		n.Told(ctx, tagRows)
		if wrong, ok := errors.AsType[*configs.Error](err); ok && p.From == worker.Resume {
			return advice.Usage(fmt.Errorf("--resume: the run began with other rows: %s", wrong.Problems[0].Message),
				"put the files back, or start again on all machines without --resume")
		}
		return p.Locate(err)
	}
	if agreed == run {
		return nil
	}
	shares := strings.ReplaceAll(fmt.Sprint(rows), " ", ", ")
	fmt.Fprintf(p.Display, "the machines have agreed on their rows: data.sizes={law: shares, shares: %s}, %s\n", shares,
		human.Count(int(agreed.Config().Train.Rounds), "round"))
	return p.Adopt(agreed)
}
