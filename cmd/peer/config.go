package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gossiptrainer/configs"
	"gossiptrainer/experiment"
)

func newConfig(c *console) *cobra.Command {
	return parent(&cobra.Command{
		Use:   "config",
		Short: "check and explain run files",
		Example: `  peer config check my-run.yaml
  peer config show ring8 > my-run.yaml`,
	}, newConfigCheck(c), newConfigShow(c), newConfigSchema(c), newConfigReference(c))
}

func newConfigCheck(c *console) *cobra.Command {
	var file runFile
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "say what is wrong with a run file, if anything",
		Long: `say what is wrong with a run file, if anything

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
			run, err := file.assemble(args)
			if err != nil {
				return err
			}
			c.warn(run)
			fmt.Fprintln(c.out, "ok: "+describeInFull(run))
			c.next(file.command("lab"), "run it on this machine")
			return nil
		},
	}
	file.addFlags(cmd)
	return cmd
}

func newConfigShow(c *console) *cobra.Command {
	var file runFile
	var origin bool
	cmd := &cobra.Command{
		Use:   "show [FILE]",
		Short: "print a run file with every key, and where each value comes from",
		Example: `  peer config show ring8 > my-run.yaml
  peer config show my-run.yaml --origin`,
		Args: arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			loaded, err := file.load(args)
			switch {
			case err != nil:
				return err
			case origin:
				origins := computed(loaded)
				return c.print(map[string]any{"keys": origins}, func(w io.Writer) error { return writeOrigins(w, origins) })
			}
			shown := loaded.Config.WithoutSecrets()
			return c.print(shown, func(io.Writer) error {
				_, err := c.out.file.Write(shown.YAML())
				return err
			})
		},
	}
	file.addFlags(cmd)
	c.addJSON(cmd)
	cmd.Flags().BoolVar(&origin, "origin", false, "print where every value comes from")
	return cmd
}

// computed returns the origins of all keys, with the value that each auto has in
// this run, if there can be such a run.
func computed(loaded *configs.Loaded) []configs.Origin {
	origins := loaded.Origins()
	run, err := experiment.New(loaded.Config)
	if err != nil {
		return origins
	}
	now := run.Config()
	for i, o := range origins {
		switch {
		case o.Key == "topology.slack" && loaded.Config.Topology.Slack != now.Topology.Slack:
			origins[i].Origin += fmt.Sprintf(": %v here", float64(now.Topology.Slack))
		case o.Key == "algorithm.gamma" && loaded.Config.Algorithm.Gamma != now.Algorithm.Gamma:
			origins[i].Origin += fmt.Sprintf(": %v here", float64(now.Algorithm.Gamma))
		}
	}
	return origins
}

func writeOrigins(w io.Writer, origins []configs.Origin) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, o := range origins {
		fmt.Fprintf(t, "%s\t%s\t# %s\n", o.Key, o.Value, o.Origin)
	}
	return t.Flush()
}

func newConfigSchema(c *console) *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "print the JSON schema of run files, for editors",
		Example: "  peer config schema > peer.schema.json",
		Args:    arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			_, err := c.out.file.Write(append(configs.Schema(), '\n'))
			return err
		},
	}
}

func newConfigReference(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reference",
		Short: "print every key with its default and meaning",
		Long: `print every key with its default and meaning

Every key in a section has an environment variable, which is named behind its meaning: its
name in capitals after PEER_, with two underscores in place of a dot. Variables win over the
run file, --set wins over both; config show --origin says where each value comes from.`,
		Example: `  peer config reference | less
  PEER_TRAIN__ROUNDS=50 PEER_ALGORITHM__BITS=4 peer lab ring8`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			return c.print(map[string]any{"keys": configs.Reference()}, func(w io.Writer) error { return writeReference(w, configs.Reference()) })
		},
	}
	c.addJSON(cmd)
	return cmd
}

func writeReference(w io.Writer, keys []configs.Key) error {
	for _, k := range keys {
		fmt.Fprintf(w, "%s: %s", k.Name, k.Default)
		if k.Same {
			io.WriteString(w, "   [same on all peers]")
		}
		fmt.Fprintf(w, "\n    %s", k.Description)
		if k.Allowed != "" {
			fmt.Fprintf(w, "; %s", k.Allowed)
		}
		if k.Variable != "" {
			fmt.Fprintf(w, "; %s", k.Variable)
		}
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
	}
	return nil
}
