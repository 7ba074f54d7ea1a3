package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/internal/fleet"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/machine"
	"gossiptrainer/internal/record"
)

// A LinkReport is what "bench link" prints.
type LinkReport struct {
	Peers int       `json:"peers"` // processes on a ring
	Rows  []LinkRow `json:"rows"`
}

// A LinkRow is one size and number of bits.
type LinkRow struct {
	Coordinates int     `json:"coordinates"`
	Bits        int     `json:"bits"`
	Rounds      int     `json:"rounds"`           // of one measurement
	Rate        float64 `json:"rounds_per_s"`     // the best
	Round       float64 `json:"s_per_round"`      // likewise
	TCP         float64 `json:"tcp_gb_per_s"`     // of the reference, all connections together, the best
	OverTCP     Figure  `json:"over_tcp"`         // time of a round over that of the same bytes through plain sockets
	Allocs      float64 `json:"allocs_per_round"` // of one peer, the least
	// Medians of core-seconds per gigabyte that the peers send: of rounds, of rounds without encryption, and of the
	// reference. 0 where the system does not tell processor times.
	Cost       float64 `json:"core_s_per_gb"`
	OpenCost   float64 `json:"core_s_per_gb_unencrypted"`
	TCPCost    float64 `json:"core_s_per_gb_tcp"`
	Encryption float64 `json:"encryption_share"` // of Cost
}

// Link measures all tasks several times each. Less than once is a usage error. watch hears how much is done,
// in bytes.
func Link(ctx context.Context, tasks []LinkTask, times int, watch func(done, all int64)) (*LinkReport, error) {
	if times < 1 {
		return nil, advice.Usagef("bench link: --times %d: must be at least 1", times)
	}
	result, all := &LinkReport{Peers: linkPeers}, tally{watch: watch}
	for _, task := range tasks {
		all.all += measuredTimes * int64(times) * task.sent()
	}
	for _, task := range tasks {
		row, err := measureLink(ctx, task, times, func() { all.add(task.sent()) })
		if err != nil {
			return nil, err
		}
		result.Rows = append(result.Rows, row)
	}
	return result, nil
}

// measuredTimes is how often all rounds of a task are measured for one result: over plain TCP, with and without
// encryption.
const measuredTimes = 3

// sent returns the bytes of all rounds of a task.
func (t LinkTask) sent() int64 { return int64(t.bytes()) * int64(t.Rounds) }

// measureLink measures a task, and calls after after each measurement.
func measureLink(ctx context.Context, task LinkTask, times int, after func()) (LinkRow, error) {
	var tcp, rounds, tcpCPU, roundsCPU, openCPU sample
	row := LinkRow{Coordinates: task.Dim, Bits: task.Bits, Rounds: task.Rounds}
	for i := range times {
		plain, err := measurePlain(task)
		if err != nil {
			return LinkRow{}, fmt.Errorf("bench link: reference: %w", err)
		}
		after()
		found, err := linkRounds(ctx, task)
		if err != nil {
			return LinkRow{}, err
		}
		after()
		task.Open = true
		open, err := linkRounds(ctx, task)
		if err != nil {
			return LinkRow{}, err
		}
		after()
		task.Open = false
		tcp, rounds = append(tcp, plain.Round), append(rounds, found.Round)
		tcpCPU, roundsCPU = append(tcpCPU, plain.CPU), append(roundsCPU, found.CPU)
		openCPU = append(openCPU, open.CPU)
		if i == 0 || found.Allocs < row.Allocs {
			row.Allocs = found.Allocs
		}
	}
	row.Round = rounds.shortest().Seconds()
	row.Rate = 1 / row.Round
	row.TCP = task.gigabytes() / tcp.shortest().Seconds()
	row.OverTCP = rounds.over(tcp)
	row.Cost = roundsCPU.median().Seconds() / task.gigabytes()
	row.OpenCost = openCPU.median().Seconds() / task.gigabytes()
	row.TCPCost = tcpCPU.median().Seconds() / task.gigabytes()
	if row.Cost > 0 {
		row.Encryption = max(0, 1-row.OpenCost/row.Cost)
	}
	return row, nil
}

// measurePlain measures the reference of a task.
func measurePlain(task LinkTask) (linkMeasure, error) {
	spent := machine.ProcessorTime()
	round, err := plainRound(linkPeers, task.bytes(), task.Rounds)
	return linkMeasure{Round: round, CPU: (machine.ProcessorTime() - spent) / time.Duration(task.Rounds)}, err
}

// linkRounds lets processes do a task. It returns the round of the slowest and the processor time of all.
func linkRounds(ctx context.Context, task LinkTask) (linkMeasure, error) {
	program, err := os.Executable()
	if err != nil {
		return linkMeasure{}, fmt.Errorf("bench link: cannot find the path of this program: %w", err)
	}
	var slowest linkMeasure
	heard := 0
	err = fleet.Run(ctx, fleet.Options{
		Peers: linkPeers,
		Command: func(rank, _ int) *exec.Cmd {
			cmd := exec.Command(program, append([]string{"bench", "link", "peer"}, task.arguments(rank)...)...)
			cmd.Env = machine.ShareProcessors(os.Environ(), linkPeers)
			return cmd
		},
		Event: func(record.Event) {},
		Log: func(_ int, line string) {
			var found linkMeasure
			if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &found) == nil {
				heard++
				cpu := slowest.CPU + found.CPU
				if found.Round > slowest.Round {
					slowest = found
				}
				slowest.CPU = cpu
			}
		},
	})
	if err == nil && heard < linkPeers {
		err = fmt.Errorf("bench link: %d of %d processes have told what they measured", heard, linkPeers)
	}
	return slowest, err
}

// Write prints the report as a table.
func (r *LinkReport) Write(w io.Writer) error {
	fmt.Fprintf(w, "ring of %d processes on loopback, best of each; times over those of plain TCP, medians (best);\n"+
		"core-seconds per GB sent, medians; encryption: its share of them, by rounds without it\n\n", r.Peers)
	t := human.AlignRight(w)
	fmt.Fprint(t, "coordinates\tbits\trounds/s\ts/round\tTCP GB/s\tover TCP\tallocations\t",
		"core-s/GB\tof TCP\tencryption\t\n")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%d\t%d\t%.1f\t%.4f\t%.1f\t%.2f (%.2f)\t%.0f\t%.2f\t%.2f\t%.0f %%\t\n",
			row.Coordinates, row.Bits, row.Rate, row.Round, row.TCP, row.OverTCP.Median, row.OverTCP.Best,
			row.Allocs, row.Cost, row.TCPCost, 100*row.Encryption)
	}
	return t.Flush()
}
