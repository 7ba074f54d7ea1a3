// Quantizers trains Fashion-MNIST by all-gather of quantized gradients, once
// with each quantizer and seed, in the simulator, and writes what each reaches
// as a Markdown table, with the settings of every row.
//
//	go run ./test/quantizers -o docs/results/quantizers.md
//
// It judges nothing: a run that diverges is a cell that says so. It skips, and
// says so, where the data set is not there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"gossiptrainer/data"
)

func main() {
	output := flag.String("o", "", "`file` to write; standard output without it")
	rounds := flag.Int("rounds", 500, "rounds of each run")
	seeds := flag.Int("seeds", 3, "runs of each quantizer, with the seeds 1, 2, ...")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := compare(ctx, *output, *rounds, *seeds)
	if missing, ok := errors.AsType[*data.MissingError](err); ok {
		fmt.Fprintf(os.Stderr, "SKIPPED: quantizers need the data set %s: set PEER_DATA to a folder that has it\n", missing.Set)
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "quantizers:", err)
		os.Exit(1)
	}
}

// compare makes the runs of all rows and writes the document to output.
func compare(ctx context.Context, output string, rounds, seeds int) error {
	if rounds < 1 || seeds < 1 {
		return fmt.Errorf("%d rounds with %d seeds: must be at least 1 of both", rounds, seeds)
	}
	results, err := runAll(ctx, rows(), rounds, seeds)
	if err != nil {
		return err
	}
	text := document(results, rounds, seeds)
	if output == "" {
		_, err := os.Stdout.WriteString(text)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(output), 0o777); err != nil {
		return err
	}
	return os.WriteFile(output, []byte(text), 0o666)
}
