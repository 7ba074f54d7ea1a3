// Variance trains a small CNN on Fashion-MNIST in the simulator and measures compressors on the gradients and models of
// that run. A picture shows the expected rounding error of quantizers over the run, as figures 4 and 5 of Faghri et al.
// do ("Adaptive Gradient Quantization for Data-Parallel SGD", NeurIPS 2020). A table shows the cost of the messages of
// every compressor.
//
//	go run ./studies/variance -o docs/results/variance.md
//	go run ./studies/variance -table docs/results/compressors.md
//
// One call can write both from the same run. The table has times and needs an idle machine. The program judges nothing.
// If the data set is missing, it prints that it is skipped.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gossiptrainer/internal/chart"
	"gossiptrainer/studies/markdown"
)

func main() {
	var f files
	var p plan
	flag.StringVar(&f.figure, "o", "", "`file` for the variance over the run, with a picture beside it")
	flag.StringVar(&f.table, "table", "", "`file` for the table of all compressors")
	flag.IntVar(&p.rounds, "rounds", 3000, "rounds to train")
	flag.IntVar(&p.looks, "looks", 20, "rounds to look at, spread evenly")
	spend := flag.Duration("spend", 3*time.Second, "how long to measure the `time` of each compressor")
	flag.Parse()
	markdown.Run("variance", func(ctx context.Context) error { return f.write(ctx, p, *spend) })
}

// files names the documents to write; "" skips one.
type files struct{ figure, table string }

// write trains and writes the files.
func (f files) write(ctx context.Context, p plan, spend time.Duration) error {
	if f == (files{}) {
		return errors.New("nothing to make: say -o or -table")
	}
	if err := p.check(); err != nil {
		return err
	}
	began := time.Now()
	samples, err := p.train(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "trained %d rounds in %.1fs\n", p.rounds, time.Since(began).Seconds())
	if f.figure != "" {
		if err := f.writeFigure(p, samples); err != nil {
			return err
		}
	}
	if f.table == "" {
		return nil
	}
	costs, err := measureAll(ctx, p, samples, spend)
	if err != nil {
		return err
	}
	return markdown.Write(f.table, p.tableDocument(costs, thetaOf(samples), spend))
}

// writeFigure writes the document of the curves and their picture.
func (f files) writeFigure(p plan, samples []sample) error {
	curves, err := followAll(p, samples)
	if err != nil {
		return err
	}
	var picture bytes.Buffer
	all, some := panels(curves)
	if err := chart.WriteLines(&picture, all, some, "png"); err != nil {
		return err
	}
	image := strings.TrimSuffix(f.figure, filepath.Ext(f.figure)) + ".png"
	if err := markdown.Write(image, picture.String()); err != nil {
		return err
	}
	return markdown.Write(f.figure, p.figureDocument(curves, filepath.Base(image)))
}
