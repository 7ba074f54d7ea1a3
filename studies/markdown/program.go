package markdown

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"gossiptrainer/internal/data"
)

// Program does the work of a program of that name until it is done or
// interrupted, and exits with 1 if it failed. Where a data set is not there it
// skips, and says so.
func Program(name string, work func(ctx context.Context) error) {
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

// Write writes a document to a file, in folders that it makes, or to standard
// output if file is empty.
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
