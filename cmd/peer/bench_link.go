package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/lab"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/wire"
)

// A linkReport is what "bench link" prints.
type linkReport struct {
	Peers int       `json:"peers"` // processes on a ring
	Rows  []linkRow `json:"rows"`
}

// A linkRow is one size and number of bits.
type linkRow struct {
	Coordinates int     `json:"coordinates"`
	Bits        int     `json:"bits"`
	Rounds      int     `json:"rounds"`           // of one measurement
	Rate        float64 `json:"rounds_per_s"`     // the best
	Round       float64 `json:"s_per_round"`      // likewise
	TCP         float64 `json:"tcp_gb_per_s"`     // of the reference, all connections together, the best
	OverTCP     figure  `json:"over_tcp"`         // time of a round over that of the same bytes through plain sockets
	Allocs      float64 `json:"allocs_per_round"` // of one peer, the least
}

// linkPeers is the size of the ring.
const linkPeers = 4

// A linkTask is what the processes of one measurement do.
type linkTask struct {
	dim, bits, rounds int
	verify            bool
}

func newBenchLink(c *console) *cobra.Command {
	var sizes, widths []int
	var times int
	var verify bool
	cmd := &cobra.Command{
		Use:   "link",
		Short: "time rounds between processes against the same bytes over plain TCP",
		Long: `time rounds between processes against the same bytes over plain TCP

Four processes on a ring exchange models and mix them, over libp2p on loopback as in
"peer lab"; gradients are zero and cost nothing. The reference sends messages of the
same length between as many pairs of plain sockets, in turns with them, in one process.`,
		Example: "  peer bench link\n  peer bench link --size 270000 --bits 8 --json",
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if times < 1 {
				return advice.Usagef("bench link: --times %d: must be at least 1", times)
			}
			result := &linkReport{Peers: linkPeers}
			for _, d := range sizes {
				for _, bits := range widths {
					task := linkTask{dim: d, bits: bits, rounds: min(max(80_000_000/max(d, 1), 6), 600), verify: verify}
					if err := task.check(); err != nil {
						return err
					}
					row, err := benchLink(cmd.Context(), task, times)
					if err != nil {
						return err
					}
					result.Rows = append(result.Rows, row)
				}
			}
			return c.print(result, result.write)
		},
	}
	cmd.Flags().IntSliceVar(&sizes, "size", []int{270_000, 25_500_000}, "coordinates of a `model`")
	cmd.Flags().IntSliceVar(&widths, "bits", []int{32, 8}, "`bits` per coordinate")
	cmd.Flags().IntVar(&times, "times", 3, "`times` that everything is measured")
	cmd.Flags().BoolVar(&verify, "verify", false, "messages of fewer than 32 bits end with a hash that receivers check")
	c.addJSON(cmd)
	cmd.AddCommand(newBenchLinkPeer(c))
	return cmd
}

func (t linkTask) check() error {
	if t.dim < 1 {
		return advice.Usagef("bench link: --size %d: must be at least 1", t.dim)
	}
	if t.bits != 32 && (t.bits < 1 || t.bits > 16) {
		return advice.Usagef("bench link: --bits %d: must be 1 to 16, or 32", t.bits)
	}
	return nil
}

// bytes returns the length of a message.
func (t linkTask) bytes() int { return wire.HeaderLen + (t.dim*t.bits+7)/8 }

func benchLink(ctx context.Context, task linkTask, times int) (linkRow, error) {
	var tcp, rounds sample
	row := linkRow{Coordinates: task.dim, Bits: task.bits, Rounds: task.rounds}
	for i := range times {
		plain, err := plainRound(linkPeers, task.bytes(), task.rounds)
		if err != nil {
			return linkRow{}, fmt.Errorf("bench link: reference: %w", err)
		}
		found, err := linkRounds(ctx, task)
		if err != nil {
			return linkRow{}, err
		}
		tcp, rounds = append(tcp, plain), append(rounds, found.Round)
		if i == 0 || found.Allocs < row.Allocs {
			row.Allocs = found.Allocs
		}
	}
	row.Round = rounds.shortest().Seconds()
	row.Rate = 1 / row.Round
	row.TCP = float64(2*linkPeers*task.bytes()) / tcp.shortest().Seconds() / 1e9
	row.OverTCP = rounds.over(tcp)
	return row, nil
}

// A linkMeasure is what one process finds.
type linkMeasure struct {
	Round  time.Duration `json:"round_ns"`
	Allocs float64       `json:"allocs_per_round"`
}

// linkRounds lets processes do a task and returns the measure of the slowest.
func linkRounds(ctx context.Context, task linkTask) (linkMeasure, error) {
	program, err := os.Executable()
	if err != nil {
		return linkMeasure{}, fmt.Errorf("bench link: where is this program: %w", err)
	}
	var slowest linkMeasure
	heard := 0
	err = lab.Run(ctx, lab.Options{
		Peers: linkPeers,
		Command: func(rank, _ int) *exec.Cmd {
			args := []string{"bench", "link", "peer"}
			for _, v := range []int{rank, task.dim, task.bits, task.rounds} {
				args = append(args, strconv.Itoa(v))
			}
			cmd := exec.Command(program, append(args, strconv.FormatBool(task.verify))...)
			cmd.Env = withProcessors(os.Environ(), linkPeers)
			return cmd
		},
		Event: func(record.Event) {},
		Log: func(_ int, line string) {
			var found linkMeasure
			if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &found) == nil {
				heard++
				if found.Round > slowest.Round {
					slowest = found
				}
			}
		},
	})
	if err == nil && heard < linkPeers {
		err = fmt.Errorf("bench link: %d of %d processes have told what they measured", heard, linkPeers)
	}
	return slowest, err
}

func (r *linkReport) write(w io.Writer) error {
	fmt.Fprintf(w, "ring of %d processes on loopback, best of each; times over those of plain TCP, medians (best)\n\n", r.Peers)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "coordinates\tbits\trounds/s\ts/round\tTCP GB/s\tover TCP\tallocations\t")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%d\t%d\t%.1f\t%.4f\t%.1f\t%.2f (%.2f)\t%.0f\t\n",
			row.Coordinates, row.Bits, row.Rate, row.Round, row.TCP, row.OverTCP.Median, row.OverTCP.Best, row.Allocs)
	}
	return t.Flush()
}
