package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/report"
	"gossiptrainer/internal/train"
	"gossiptrainer/internal/vec"
)

// compressorKey begins the keys of a compressor's settings in a run file.
const compressorKey = "algorithm.compressor."

func newQuant(c *console) *cobra.Command {
	return parent(&cobra.Command{
		Use:     "quant",
		Short:   "look at what compressors do to a vector",
		Example: "  peer quant show alq --bits 3",
	}, newQuantShow(c))
}

// A quantReport is what "quant show" prints.
type quantReport struct {
	Name string `json:"name"`
	On   string `json:"on"`
	*experiment.Look
}

// A subject is the vector that is looked at.
type subject struct {
	on    string
	count int
}

func newQuantShow(c *console) *cobra.Command {
	var (
		z    subject
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
			return compressorNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().IntVar(&bits, "bits", 0, "bits per parameter, as --set bits=")
	cmd.Flags().StringArrayVar(&set, "set", nil, "a setting of the compressor, as in `key=value`; may be repeated")
	cmd.Flags().StringVar(&z.on, "on", "normal", "the vector: a `file`, or normal")
	cmd.Flags().IntVar(&z.count, "count", 65536, "how many normal numbers")
	cmd.Flags().StringVarP(&file, "output", "o", "", "draw into `file`.png, .svg or .pdf")
	c.addJSON(cmd)
	return cmd
}

// compressorNames are those that run files know.
func compressorNames() []string {
	for _, k := range configs.Reference() {
		if k.Name == compressorKey+"name" {
			return strings.Split(k.Allowed, ", ")
		}
	}
	return nil
}

func (c *console) showQuantizer(keys []string, on subject, file string) error {
	for i := range keys {
		keys[i] = compressorKey + keys[i]
	}
	// Naive takes every compressor, and a run file knows compressors only of
	// algorithms that have one.
	loaded, err := configs.Load(configs.Source{Set: append([]string{"algorithm.name=naive"}, keys...)})
	if err != nil {
		return err
	}
	z, err := on.read()
	if err != nil {
		return err
	}
	settings := loaded.Config.Algorithm.Compressor
	look, err := experiment.LookAt(settings, z)
	if err != nil {
		return fmt.Errorf("quant: %s: %w", on.name(), loaded.Locate(err))
	}
	if file != "" {
		if err := c.drawLevels(look, z, file); err != nil {
			return err
		}
	}
	r := &quantReport{settings.Name, on.name(), look}
	return c.print(r, r.write)
}

func (s subject) name() string {
	if s.on == "normal" {
		return fmt.Sprintf("%d normal numbers", s.count)
	}
	return s.on
}

// mostNumbers bounds a vector to what any machine holds.
const mostNumbers = 1 << 28

// read returns the vector, of one number at least.
func (s subject) read() ([]float32, error) {
	if s.on == "normal" {
		if s.count < 1 || s.count > mostNumbers {
			return nil, advice.Usagef("quant: --count %d: must be 1 to %d", s.count, mostNumbers)
		}
		return experiment.Normal(s.count), nil
	}
	z, err := readVector(s.on)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, advice.Usage(fmt.Errorf("quant: --on: %w", err), "--on normal needs no file")
	case err != nil:
		return nil, fmt.Errorf("quant: --on: %w", err)
	case len(z) == 0:
		return nil, advice.Usagef("quant: --on %s: no numbers in it", s.on)
	}
	return z, nil
}

// readVector reads a model file or plain numbers.
func readVector(path string) ([]float32, error) {
	if filepath.Ext(path) == ".safetensors" {
		saved, err := train.Read(path)
		return saved.X, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if size := info.Size(); info.IsDir() || size%4 != 0 || size/4 > mostNumbers {
		return nil, fmt.Errorf("%s: no file of float32 numbers, 4 bytes each, at most %d", path, mostNumbers)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	z := make([]float32, len(text)/4)
	vec.ReadLE(z, text)
	return z, nil
}

// drawLevels writes the figure of the first bucket.
func (c *console) drawLevels(look *experiment.Look, z []float32, file string) error {
	var values, shares []float64
	for _, l := range look.Levels {
		values, shares = append(values, l.Value), append(shares, l.Share)
	}
	var figure bytes.Buffer
	if err := report.WriteLevels(&figure, z[:look.Bucket], values, shares, report.Format(file)); err != nil {
		return advice.Usage(err, "-o levels.png, -o levels.svg or -o levels.pdf, of a compressor with levels")
	}
	return c.saveFigure(file, figure.Bytes())
}

func (r *quantReport) write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "compressor\t%s: %s\n", r.Name, r.properties())
	fmt.Fprintf(t, "vector\t%s, %d parameters\n", r.On, r.Parameters)
	fmt.Fprintf(t, "payload\t%s, %.4g bits per parameter", report.Size(int64(r.Bytes)), r.Bits)
	if r.Ideal != nil {
		fmt.Fprintf(t, ", %.4g in an ideal code of order 0", *r.Ideal)
	}
	fmt.Fprintf(t, "\nerror\t%.4g of the squared length", r.Error)
	if r.Expected != nil {
		fmt.Fprintf(t, ", %.4g expected", *r.Expected)
	}
	fmt.Fprintln(t)
	if err := t.Flush(); err != nil {
		return err
	}
	if len(r.Levels) == 0 {
		_, err := fmt.Fprintf(w, "levels: more than %d\n", experiment.MostLevels)
		return err
	}
	fmt.Fprintf(w, "\nlevels of the first %d parameters:\n", r.Bucket)
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "LEVEL\tSHARE\t")
	for _, l := range r.Levels {
		fmt.Fprintf(t, "%.5g\t%.4f\t\n", l.Value, l.Share)
	}
	return t.Flush()
}

// properties writes what the compressor says of itself.
func (r *quantReport) properties() string {
	var words []string
	for _, p := range []struct {
		has  bool
		word string
	}{{r.Unbiased, "unbiased"}, {!r.Unbiased, "biased"}, {r.Contraction, "a contraction"}, {r.Deterministic, "deterministic"}} {
		if p.has {
			words = append(words, p.word)
		}
	}
	return strings.Join(words, ", ")
}
