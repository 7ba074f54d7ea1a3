//go:build linux

// Chaos breaks what running peers rely on, on purpose, and checks what they
// promise about it.
//
//	go run ./test/chaos -o docs/results/faults.md       all scenarios: the fault table
//	go run ./test/chaos -run 'cable|partition'          some of them
//	go run ./test/chaos -soak 10m -seed 1               random faults for a time
//
// A scenario is a row of rows.go. Whom a fault strikes, and in which round, follows from the
// seed. What needs network namespaces needs root; without, it is skipped and said to be.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

func main() {
	output := flag.String("o", "", "`file` to write; standard output without it")
	pattern := flag.String("run", "", "`regexp` of the scenarios to play; all without it")
	seed := flag.Uint64("seed", 1, "draws whom a fault strikes, and when")
	program := flag.String("peer", "", "`program` to test; without it, it is built")
	soak := flag.Duration("soak", 0, "random faults for this long instead of the scenarios")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *program, *output, *pattern, *seed, *soak); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, peer, output, pattern string, seed uint64, soak time.Duration) error {
	chosen, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "chaos-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if peer == "" {
		if peer, err = build(ctx, work); err != nil {
			return err
		}
	}
	var text string
	if soak > 0 {
		text, err = soakFor(ctx, peer, soak, seed)
	} else {
		text, err = playAll(ctx, peer, chosen, seed)
	}
	if text != "" {
		if output == "" {
			fmt.Print(text)
		} else if writeErr := os.WriteFile(output, []byte(text), 0o666); writeErr != nil {
			return writeErr
		}
	}
	return err
}

// build makes the program in a folder.
func build(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "peer")
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", program,
		"gossiptrainer/cmd/peer").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, text)
	}
	return program, nil
}

// say writes a line of talk.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// playAll plays the scenarios whose names match and returns the document; an
// error says that a promise was not kept.
func playAll(ctx context.Context, peer string, chosen *regexp.Regexp, seed uint64) (string, error) {
	var effects []effect
	var skipped []string
	broken := 0
	for _, s := range rows() {
		if !chosen.MatchString(s.name) {
			continue
		}
		if err := available(); s.place == lan && err != nil {
			say("SKIPPED: %s: %v: nothing was tested", s.name, err)
			skipped = append(skipped, s.name)
			continue
		}
		got, err := s.play(ctx, peer, seed, say)
		if err != nil {
			return "", fmt.Errorf("%s: %w", s.name, err)
		}
		for _, t := range tallies(got) {
			say("%s", strings.Join(t.cells(), ", "))
		}
		for _, e := range got {
			for _, why := range e.broken {
				say("BROKEN: %s", why)
				broken++
			}
		}
		effects = append(effects, got...)
	}
	if broken > 0 {
		return document(effects, seed, skipped), fmt.Errorf("%d promises were not kept", broken)
	}
	return document(effects, seed, skipped), nil
}
