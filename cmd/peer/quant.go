package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"gossiptrainer/app/describe"
	"gossiptrainer/app/screen"
	"gossiptrainer/internal/report"
	"gossiptrainer/lab/reports"
)

func newQuant(c *console) *cobra.Command {
	return parent(&cobra.Command{
		Use:     "quant",
		Short:   "show what compressors do to a vector",
		Example: "  peer quant show alq --bits 3",
	}, newQuantShow(c))
}

func newQuantShow(c *console) *cobra.Command {
	var (
		z    describe.Subject
		bits int
		set  []string
		file string
	)
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "compress a vector and print levels, error and bits",
		Long: `compress a vector and print levels, error and bits

NAME is a compressor as in algorithm.compressor.name of a run file, and --set takes its
other settings. The vector is a model file (.safetensors), any file of float32 numbers,
little-endian, or "normal", standard normal numbers. Levels that adapt are fitted to it.`,
		Example: `  peer quant show alq --bits 3
  peer quant show orq --set levels=9 --set bucket=512 --on model.safetensors
  peer quant show nuqsgd --bits 4 -o levels.png`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			keys := []string{"name=" + args[0]}
			if cmd.Flags().Changed("bits") {
				keys = append(keys, fmt.Sprintf("bits=%d", bits))
			}
			return c.showQuantizer(append(keys, set...), z, file)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return describe.CompressorNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().IntVar(&bits, "bits", 0, "bits per parameter, as --set bits=")
	cmd.Flags().StringArrayVar(&set, "set", nil, "a setting of the compressor, as in `key=value`; may be repeated")
	cmd.Flags().StringVar(&z.On, "on", "normal", "the vector: a `file`, or normal")
	cmd.Flags().IntVar(&z.Count, "count", 65536, "how many normal numbers")
	cmd.Flags().StringVarP(&file, "output", "o", "", "draw into `file`.png, .svg or .pdf")
	c.addJSON(cmd)
	return cmd
}

func (c *console) showQuantizer(settings []string, on describe.Subject, file string) error {
	var z []float32
	r, err := during(c, "compressing", func(*screen.Task) (r *describe.Quantizer, err error) {
		r, z, err = describe.Quantize(settings, on)
		return r, err
	})
	if err != nil {
		return err
	}
	if file != "" {
		figure, err := r.Draw(z, report.Format(file))
		if err != nil {
			return err
		}
		if err := reports.SaveFigure(c.talk(), file, figure); err != nil {
			return err
		}
	}
	return c.print(r, r.Write)
}
