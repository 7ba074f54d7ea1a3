package describe

import (
	"fmt"
	"io"

	"gossiptrainer/internal/budget"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/forecast"
	"gossiptrainer/internal/human"
	"gossiptrainer/topology"
)

// A Check is what "config check" prints of a run file without errors.
type Check struct {
	Run    string  `json:"run"` // in one line
	Memory *Memory `json:"memory"`
	Disk   *Memory `json:"disk"`
}

// A Memory is the plan of the peer that takes the most memory, or the most of its disk.
type Memory struct {
	Rank   int         `json:"rank"`
	Total  int64       `json:"total_bytes"`
	Owners budget.Plan `json:"owners"`
	Peers  int64       `json:"all_peers_bytes"`
}

// CheckOf describes a run, its memory, and what it takes of disks. Both are nil for an external model, whose size its
// script knows.
func CheckOf(run *experiment.Run) Check {
	c := Check{Run: Run(run)}
	if run.Dim() == 0 {
		return c
	}
	c.Disk = DiskOf(run)
	c.Memory = new(Memory)
	for rank := range run.N() {
		plan := forecast.Plan(run, topology.Rank(rank))
		total := plan.Total()
		c.Memory.Peers += total
		if total > c.Memory.Total {
			c.Memory.Rank, c.Memory.Total, c.Memory.Owners = rank, total, plan
		}
	}
	return c
}

// DiskOf returns what the peers of a run take of disks at most.
func DiskOf(run *experiment.Run) *Memory {
	one := forecast.Disk(run, "run")
	return &Memory{Total: one.Total(), Owners: one, Peers: forecast.Disk(run, "lab").Total()}
}

// Write prints a line for the run and one for each owner of memory and of the disk.
func (c Check) Write(w io.Writer) error {
	fmt.Fprintln(w, "ok: "+c.Run)
	if c.Memory == nil {
		return nil
	}
	fmt.Fprintf(w, "\nmemory of peer %d, at most:\n", c.Memory.Rank)
	if err := c.Memory.write(w); err != nil {
		return err
	}
	return c.Disk.WriteDisk(w)
}

// WriteDisk prints a line for each owner of the disk.
func (m *Memory) WriteDisk(w io.Writer) error {
	fmt.Fprint(w, "\ndisk of a peer, at most; less where it has little room:\n")
	return m.write(w)
}

func (m *Memory) write(w io.Writer) error {
	t := human.AlignLeft(w)
	for _, i := range m.Owners {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", i.Owner, human.Size(i.Bytes), i.What)
	}
	fmt.Fprintf(t, "  total\t%s\tof one peer; %s of all peers\n", human.Size(m.Total), human.Size(m.Peers))
	return t.Flush()
}
