package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/describe"
	"gossiptrainer/app/screen"
	"gossiptrainer/app/session"
	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/lab/compare"
)

func newConfig(c *console) *cobra.Command {
	return parent(&cobra.Command{
		Use:   "config",
		Short: "check and explain run files",
		Example: `  peer config check my-run.yaml
  peer config show ring8 > my-run.yaml`,
	}, newConfigCheck(c), newConfigShow(c), newConfigList(c), newConfigNew(c), newConfigSchema(c), newConfigReference(c))
}

func newConfigCheck(c *console) *cobra.Command {
	var file runFile
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "check a run file and list its errors",
		Long: `check a run file and list its errors

It also says how much memory a peer takes at most, by owner.

Of a comparison file it says what each cell sends in a round that exchanges, and how long
such a round takes at least on its network, without entropy coding.`,
		Example: `  peer config check my-run.yaml
  peer config check ring8 --set algorithm.bits=4
  peer config check moniqua-fig1`,
		Args: arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && configs.IsComparison(args[0]) {
				return checkComparison(c, args[0], file.set)
			}
			run, err := during(c, "preparing the run", func(*screen.Task) (*experiment.Run, error) {
				return file.assemble(args)
			})
			if err != nil {
				return err
			}
			check := session.Check(c.talk(), run)
			if err := c.print(check, check.Write); err != nil {
				return err
			}
			c.next(nextOf(&file, run), "run it on this machine")
			return nil
		},
	}
	file.addFlags(cmd)
	c.addJSON(cmd)
	cmd.ValidArgsFunction = completeNames(slices.Concat(configs.Presets(), configs.Comparisons()))
	return cmd
}

// nextOf returns a command that trains a run on this machine. Members in a lab are those of a network, which cannot do
// all that the simulator plays.
func nextOf(file *runFile, run *experiment.Run) string {
	switch cfg := run.Config(); {
	case cfg.External():
		return file.command("lab") + " -- python3 train.py"
	case session.CheckMembers(run, "lab") != nil:
		return file.command("sim")
	}
	return file.command("lab")
}

func newConfigShow(c *console) *cobra.Command {
	var file runFile
	var origin bool
	cmd := &cobra.Command{
		Use:   "show [FILE]",
		Short: "print a run file with every key that has an effect",
		Long: `print a run file with every key that has an effect

The comments of the file are kept. With --origin it prints where every value comes from.
A comparison file is printed unchanged.`,
		Example: `  peer config show ring8 > my-run.yaml
  peer config show moniqua-fig1 > my-comparison.yaml
  peer config show my-run.yaml --origin`,
		Args: arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && configs.IsComparison(args[0]) {
				return c.showComparison(args[0], file.set, origin)
			}
			loaded, err := file.load(args)
			switch {
			case err != nil:
				return err
			case origin:
				origins := describe.Origins(loaded)
				write := func(w io.Writer) error { return describe.WriteOrigins(w, origins) }
				return c.print(map[string]any{"keys": origins}, write)
			}
			shown := loaded.Config.WithoutSecrets()
			return c.print(shown, func(io.Writer) error {
				_, err := c.out.File.Write(loaded.Annotated())
				return err
			})
		},
	}
	file.addFlags(cmd)
	cmd.ValidArgsFunction = completeNames(slices.Concat(configs.Presets(), configs.Comparisons()))
	c.addJSON(cmd)
	cmd.Flags().BoolVar(&origin, "origin", false, "print where every value comes from")
	return cmd
}

// showComparison prints a comparison file.
func (c *console) showComparison(name string, set []string, origin bool) error {
	if len(set) > 0 || origin || c.json {
		return advice.Usagef("config show: %s is a comparison, which is printed unchanged: leave out --set, "+
			"--origin and --json", name)
	}
	text, err := configs.ComparisonText(name)
	if err == nil {
		_, err = c.out.File.Write(text)
	}
	return err
}

func newConfigList(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "list the run files and comparisons in this program",
		Example: "  peer config list",
		Args:    arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			all := describe.EmbeddedFiles()
			return c.print(all, func(w io.Writer) error { return describe.WriteEntries(w, all) })
		},
	}
	c.addJSON(cmd)
	return cmd
}

func newConfigNew(c *console) *cobra.Command {
	starts := map[string]func() []byte{"run": configs.NewRun, "comparison": configs.NewComparison}
	kinds := []string{"run", "comparison", "paper"}
	var p configs.PaperComparison
	cmd := &cobra.Command{
		Use:   "new KIND",
		Short: "print a template of a run file or comparison",
		Long: `print a template of a run file or comparison

KIND is run, comparison or paper. A paper is a comparison whose rivals have what their own
papers prescribe, with several seeds and a target. The flags are for it. --algorithms takes
` + strings.Join(configs.PaperAlgorithms()[:8], ", ") + `,
` + strings.Join(configs.PaperAlgorithms()[8:], ", ") + `.`,
		Example: `  peer config new run > my-run.yaml
  peer config new comparison > my-comparison.yaml
  peer config new paper --algorithms dpsgd,moniqua-8 --links 100mbit,1mbit/5ms > paper.yaml`,
		Args:      arguments(1, 1),
		ValidArgs: kinds,
		RunE: func(cmd *cobra.Command, args []string) error {
			start, ok := starts[args[0]]
			switch {
			case args[0] == "paper":
				text, err := configs.NewPaper(p)
				if err != nil {
					return advice.Usage(fmt.Errorf("config new: %w", err), "see peer config new --help")
				}
				start = func() []byte { return text }
			case !ok:
				return advice.OneOf("config new", args[0], kinds)
			case slices.ContainsFunc([]string{"base", "algorithms", "links", "seeds", "target"}, cmd.Flags().Changed):
				return advice.Usagef("config new: the flags are for paper, and %s has none", args[0])
			}
			_, err := c.out.File.Write(start())
			return err
		},
	}
	cmd.Flags().StringVar(&p.Base, "base", "ring8-fashion", "`file` or preset from which every cell starts")
	cmd.Flags().StringSliceVar(&p.Algorithms, "algorithms", []string{"allreduce", "dpsgd", "moniqua-8", "moniqua-4",
		"choco-sign", "deepsqueeze-sign"}, "`names` with commas between them")
	cmd.Flags().Lookup("algorithms").DefValue = "six of them"
	cmd.Flags().StringSliceVar(&p.Links, "links", []string{"100mbit/0.15ms", "1mbit/1ms"}, "`rates`, each with a latency")
	cmd.Flags().IntVar(&p.Seeds, "seeds", 5, "`number` of seeds")
	cmd.Flags().StringVar(&p.Target, "target", "accuracy=0.85", "loss or accuracy to reach, as in `key=value`")
	return cmd
}

func newConfigSchema(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [comparison]",
		Short: "print the JSON schema of run files, or of comparisons, for editors",
		Example: `  peer config schema > peer.schema.json
  peer config schema comparison > comparison.schema.json`,
		Args:      arguments(0, 1),
		ValidArgs: []string{"comparison"},
		RunE: func(_ *cobra.Command, args []string) error {
			schema := configs.Schema
			switch {
			case len(args) == 1 && args[0] == "comparison":
				schema = configs.ComparisonSchema
			case len(args) == 1 && args[0] != "run":
				return advice.OneOf("config schema", args[0], []string{"run", "comparison"})
			}
			_, err := c.out.File.Write(append(schema(), '\n'))
			return err
		},
	}
}

func newConfigReference(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reference [comparison]",
		Short: "print every key of run files, or of comparisons, with its default and meaning",
		Long: `print every key of run files, or of comparisons, with its default and meaning

Every key in a section of a run file has an environment variable, which is named behind its
meaning: its name in capitals after PEER_, with two underscores in place of a dot. Variables win
over the run file, --set wins over both; config show --origin says where each value comes from.`,
		Example: `  peer config reference | less
  peer config reference comparison
  PEER_TRAIN__ROUNDS=50 PEER_ALGORITHM__BITS=4 peer lab ring8`,
		Args:      arguments(0, 1),
		ValidArgs: []string{"comparison"},
		RunE: func(_ *cobra.Command, args []string) error {
			keys := configs.Reference()
			switch {
			case len(args) == 1 && args[0] == "comparison":
				keys = configs.ComparisonReference()
			case len(args) == 1 && args[0] != "run":
				return advice.OneOf("config reference", args[0], []string{"run", "comparison"})
			}
			return c.print(map[string]any{"keys": keys}, func(w io.Writer) error { return describe.WriteReference(w, keys) })
		},
	}
	c.addJSON(cmd)
	return cmd
}

// checkComparison prints what the cells of a comparison will send.
func checkComparison(c *console, name string, set []string) error {
	file, err := configs.LoadComparison(name, os.Environ())
	if err != nil {
		return err
	}
	all, until, err := compare.Predict(file, set)
	if err != nil {
		return err
	}
	c.say("ok: %s: %s of:", file.Name, compare.Extent(file))
	if err := c.print(all, func(w io.Writer) error { return compare.WriteForecasts(w, all) }); err != nil {
		return err
	}
	if until != "" {
		c.say("cells end before their rounds are over at %s", until)
	}
	c.next(advice.Command("peer", "compare", name), "run it")
	return nil
}
