package markdown

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"gossiptrainer/internal/data"
)

// Program is the main function of a program that writes one document: it adds the flag -o, parses the command line and
// runs write as Run does. The output is the name of a file, or "" for standard output.
func Program(name string, write func(ctx context.Context, output string) error) {
	output := flag.String("o", "", "`file` to write; standard output without it")
	flag.Parse()
	Run(name, func(ctx context.Context) error { return write(ctx, *output) })
}

// Run runs work until it returns or the user interrupts it, and exits with 1 if it fails. If a data set is missing, it
// prints that the program is skipped.
func Run(name string, work func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := work(ctx)
	if missing, ok := errors.AsType[*data.MissingError](err); ok {
		fmt.Fprintf(os.Stderr, "SKIPPED: %s: needs the data set %s: set PEER_DATA to a folder that has it\n", name,
			missing.Set)
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Write writes a document to a file, or to standard output if file is empty. It creates missing folders.
func Write(file, text string) error {
	if file == "" {
		_, err := os.Stdout.WriteString(text)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o666)
}
