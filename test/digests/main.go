// Digests makes short runs of every algorithm, codec, compressor, graph and preset, and compares the digests of their
// final models with those in test/digests/digests.txt. A change that is not meant to alter results leaves all digests
// as they are.
//
//	go run ./test/digests            compares
//	go run ./test/digests -write     writes the file
//
// Digests depend on the kind of processor, because vector units round gradients in different orders. On another kind,
// write the file before a change and compare after it.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

// file holds a line per run: its name, a tab and its digest.
const file = "test/digests/digests.txt"

func main() {
	write := flag.Bool("write", false, "write the file instead of comparing with it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx, *write); err != nil {
		fmt.Fprintln(os.Stderr, "digests:", err)
		os.Exit(1)
	}
}

// check makes all runs.
func check(ctx context.Context, write bool) error {
	work, err := os.MkdirTemp("", "digests-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	program := filepath.Join(work, "peer")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "gossiptrainer/cmd/peer")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, text)
	}
	var got strings.Builder
	for _, r := range rows() {
		digest, err := r.run(ctx, program, filepath.Join(work, "runs"))
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		fmt.Fprintf(&got, "%s\t%s\n", r.name, digest)
	}
	if write {
		return os.WriteFile(file, []byte(got.String()), 0o666)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return compare(string(want), got.String())
}

// compare lists the runs whose digests differ or that stand in only one of the two lists.
func compare(want, got string) error {
	was := digests(want)
	var differ []string
	for name, digest := range digests(got) {
		if was[name] != digest {
			differ = append(differ, fmt.Sprintf("%s: %s, was %q", name, digest, was[name]))
		}
		delete(was, name)
	}
	for name := range was {
		differ = append(differ, name+": no such run any more")
	}
	if len(differ) > 0 {
		return fmt.Errorf("%d differences:\n%s", len(differ), strings.Join(differ, "\n"))
	}
	return nil
}

// digests reads the lines of a list.
func digests(list string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(list) {
		name, digest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		all[name] = digest
	}
	return all
}

// run makes a run and returns its digest.
func (r row) run(ctx context.Context, program, runs string) (string, error) {
	args := append(r.args(), "--json", "--quiet", "--set", "output.dir="+runs)
	cmd := exec.CommandContext(ctx, program, args...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, complaint.String())
	}
	var summary struct {
		Digest string `json:"digest"`
	}
	if err := json.Unmarshal(out, &summary); err != nil {
		return "", err
	}
	return summary.Digest, nil
}
