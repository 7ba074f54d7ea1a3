// Rivals measures simulations beside what users would write themselves: NumPy with all workers in one matrix, and
// PyTorch with stacked replicas. It writes a Markdown table of CPU seconds and ratios.
//
//	go run ./studies/rivals -o docs/results/rivals.md
//
// Ours and theirs run in turns, and the table has medians. It needs a Python with NumPy. Without PyTorch, or without
// Fashion-MNIST, it says that it leaves a row out. It judges nothing.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"gossiptrainer/studies/markdown"
)

func main() {
	python := flag.String("python", pythonOf(os.Getenv("PEER_VENV")), "Python with NumPy")
	turns := flag.Int("turns", 5, "measurements of each program")
	markdown.Program("rivals", func(ctx context.Context, output string) error {
		return compare(ctx, output, &field{python: *python, turns: max(1, *turns), data: os.Getenv("PEER_DATA")})
	})
}

// pythonOf returns the Python of a virtual environment, or that of the machine.
func pythonOf(venv string) string {
	if venv == "" {
		return "python3"
	}
	return filepath.Join(venv, "bin", "python")
}

// A field is where the programs run.
type field struct {
	peer, python string // programs
	dir          string // of runs
	data         string // folder of data sets; "": there are none
	turns        int
}

// has reports whether the Python has a module.
func (f *field) has(ctx context.Context, module string) bool {
	return exec.CommandContext(ctx, f.python, "-c", "import "+module).Run() == nil
}

// compare measures all rows and writes the document to output.
func compare(ctx context.Context, output string, f *field) error {
	if !f.has(ctx, "numpy") {
		return fmt.Errorf("%s has no NumPy: install it, or name another Python by -python", f.python)
	}
	dir, err := os.MkdirTemp("", "rivals")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	f.dir, f.peer = dir, filepath.Join(dir, "peer")
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", f.peer, "./cmd/peer").CombinedOutput(); err != nil {
		return fmt.Errorf("build ./cmd/peer: %w: %s", err, text)
	}
	var all []result
	for _, r := range rows() {
		if r.needs != "" && (!f.has(ctx, r.needs) || f.data == "") {
			fmt.Fprintf(os.Stderr, "left out: %s: needs %s, and Fashion-MNIST in PEER_DATA\n", r.work, r.needs)
			continue
		}
		got, err := f.measure(ctx, r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.work, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %.3g\n", r.work, got.ratio())
		all = append(all, got)
	}
	own, err := f.alone(ctx)
	if err != nil {
		return err
	}
	return markdown.Write(output, document(all, own, f.turns, cmp.Or(processor(), "unknown")))
}
