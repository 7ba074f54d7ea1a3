package main

import (
	"github.com/spf13/cobra"

	"gossiptrainer/app/screen"
	"gossiptrainer/internal/build"
	"gossiptrainer/lab/bench"
)

func newBench(c *console) *cobra.Command {
	return parent(&cobra.Command{
		Use:   "bench",
		Short: "measure what this machine can do, as ratios",
		Long: `measure what this machine can do, as ratios

Each figure is a ratio of two times, measured alternately in one run, so that
disturbances affect both.`,
		Example: `  peer bench codec
  peer bench compressors
  peer bench link --json
  peer bench step ring8-cifar
  peer bench sim`,
	}, newBenchCodec(c), newBenchCompressors(c), newBenchLink(c), newBenchStep(c), newBenchSim(c))
}

func newBenchCodec(c *console) *cobra.Command {
	var sizes, widths []int
	var rounds int
	cmd := &cobra.Command{
		Use:   "codec",
		Short: "time encoding and mixing against copying the same numbers",
		Long: `time encoding and mixing against copying the same numbers

Models of normal numbers differ by up to half of theta. Mixing is in place, as
the algorithms do it. PEER_SIMD=avx2 or off holds the program to fewer vector
instructions.`,
		Example: "  peer bench codec --size 1000000 --bits 8\n  PEER_SIMD=avx2 peer bench codec --json",
		Args:    arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			return c.answer(during(c, "timing the codec", func(t *screen.Task) (*bench.CodecReport, error) {
				return bench.Codec(sizes, widths, rounds, t.Reach)
			}))
		},
	}
	cmd.Flags().IntSliceVar(&sizes, "size", []int{270_000, 1_000_000, 10_000_000}, "coordinates of a `model`")
	cmd.Flags().IntSliceVar(&widths, "bits", []int{8, 4, 2, 1}, "`bits` per coordinate")
	cmd.Flags().IntVar(&rounds, "rounds", 31, "`times` to measure everything")
	c.addJSON(cmd)
	return cmd
}

func newBenchCompressors(c *console) *cobra.Command {
	var size, bucket, rounds int
	cmd := &cobra.Command{
		Use:   "compressors",
		Short: "time compressors against copying the same numbers and against Moniqua's codec",
		Long: `time compressors against copying the same numbers and against Moniqua's codec

The vector is of normal numbers. At equal bits, compressing is compared with Moniqua's
encoding, and adding to a sum with recovering and mixing one neighbour.`,
		Example: "  peer bench compressors\n  PEER_SIMD=avx2 peer bench compressors --size 270000 --json",
		Args:    arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			return c.answer(during(c, "timing compressors", func(t *screen.Task) (*bench.CompressorReport, error) {
				return bench.Compressors(size, bucket, rounds, t.Reach)
			}))
		},
	}
	cmd.Flags().IntVar(&size, "size", 1_000_000, "coordinates of the `vector`")
	cmd.Flags().IntVar(&bucket, "bucket", 8192, "`coordinates` with a scale of their own")
	cmd.Flags().IntVar(&rounds, "rounds", 31, "`times` to measure everything")
	c.addJSON(cmd)
	return cmd
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
same length between as many pairs of plain sockets, in turns with them, in one process.
Rounds without encryption, in turns as well, tell what encryption costs.`,
		Example: "  peer bench link\n  peer bench link --size 270000 --bits 8 --json",
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			tasks, err := bench.NewLinkTasks(sizes, widths)
			if err != nil {
				return err
			}
			for i := range tasks {
				tasks[i].Verify = verify
			}
			return c.answer(during(c, "timing links", func(t *screen.Task) (*bench.LinkReport, error) {
				return bench.Link(cmd.Context(), tasks, times, t.Reach)
			}))
		},
	}
	cmd.Flags().IntSliceVar(&sizes, "size", []int{270_000, 25_500_000}, "coordinates of a `model`")
	cmd.Flags().IntSliceVar(&widths, "bits", []int{32, 8}, "`bits` per coordinate")
	cmd.Flags().IntVar(&times, "times", 3, "`times` to measure everything")
	cmd.Flags().BoolVar(&verify, "verify", false, "messages of fewer than 32 bits end with a hash that receivers check")
	c.addJSON(cmd)
	cmd.AddCommand(newBenchLinkPeer(c))
	return cmd
}

func newBenchSim(c *console) *cobra.Command {
	var sizes []string
	var widths []int
	var rounds, times int
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "time simulated rounds against their gradients alone",
		Long: `time simulated rounds against their gradients alone

Workers on a ring descend quadratics, with the algorithm of the default run file: full
precision at 32 bits, otherwise Moniqua with verification. The reference takes the
gradients of a round one after another. Digests and model files are left out. Memory is
that of a second run, in its second round.`,
		Example: "  peer bench sim\n  peer bench sim --size 1000x10000 --bits 8 --json",
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			tasks, err := bench.NewSimTasks(sizes, widths, rounds)
			if err != nil {
				return err
			}
			result, err := during(c, "timing simulations", func(t *screen.Task) (*bench.SimReport, error) {
				return bench.Sim(cmd.Context(), tasks, times, t.Reach)
			})
			if err != nil {
				return stopped(cmd.Context(), err)
			}
			return c.print(result, result.Write)
		},
	}
	cmd.Flags().StringSliceVar(&sizes, "size", []string{"1000x10000", "10000x100", "100000x1000x8"},
		"`sizes`, workers x coordinates")
	cmd.Flags().IntSliceVar(&widths, "bits", []int{32, 8}, "`bits` per coordinate")
	cmd.Flags().IntVar(&rounds, "rounds", 20, "rounds of one run, fewer for very large ones")
	cmd.Flags().IntVar(&times, "times", 3, "`times` to measure everything")
	c.addJSON(cmd)
	return cmd
}

func newBenchStep(c *console) *cobra.Command {
	var set []string
	var times int
	cmd := &cobra.Command{
		Use:   "step [FILE]...",
		Short: "time gradients against the machine's peak",
		Long: `time gradients against the machine's peak

FILE is a run file or the name of a preset; without it, it is ` + defaultPreset + `. One thread takes the
gradients of worker 0: mini-batch, forward and backward pass, momentum. The reference
does nothing but multiply and add in registers, in turns with it.`,
		Example: "  peer bench step ring8-cifar\n  peer bench step ring8-fashion ring8-cifar --json",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{defaultPreset}
			}
			var runs []bench.Subject
			for _, name := range args {
				run, err := (&runFile{set: set}).assemble([]string{name})
				if err != nil {
					return err
				}
				cfg := run.Config()
				runs = append(runs, bench.Subject{Run: cfg.Name, Model: cfg.Model.Name, Batch: cfg.Train.Batch,
					Build: func() (*build.Worker, error) { return build.New(run, 0, nil) }})
			}
			return c.answer(during(c, "timing gradients", func(t *screen.Task) (*bench.StepReport, error) {
				return bench.Step(runs, times, t.Reach)
			}))
		},
	}
	cmd.Flags().StringArrayVar(&set, "set", nil, "override a key of the run files, as in `key=value`; may be repeated")
	cmd.Flags().IntVar(&times, "times", 31, "`gradients` to time")
	c.addJSON(cmd)
	return cmd
}

// newBenchLinkPeer returns the command of one process of "bench link", which starts it.
func newBenchLinkPeer(c *console) *cobra.Command {
	return &cobra.Command{
		Use:    "peer RANK SIZE BITS ROUNDS VERIFY OPEN",
		Hidden: true,
		Args:   arguments(7, 7),
		RunE: func(cmd *cobra.Command, args []string) error {
			rank, task, err := bench.ParseLinkTask(args)
			if err != nil {
				return err
			}
			one := bench.LinkPeer{Rank: rank, Task: task, Log: c.logger(c.err), Out: c.err}
			return supervised(cmd.Context(), c, rank, one.Run)
		},
	}
}
