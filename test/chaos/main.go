//go:build linux

// Chaos injects faults into running peers and checks that they keep their promises.
//
//	go run ./test/chaos -o docs/results/faults.md       all scenarios: the fault table
//	go run ./test/chaos -run 'cable|partition'          some of them
//	go run ./test/chaos -soak 10m -seed 1               random faults for a time
//
// A scenario is a row of rows.go. The seed decides which peer a fault hits and in which round. Scenarios in network
// namespaces need root; without root the program skips them and reports that.
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
	o := options{rig: rig{log: say}}
	flag.StringVar(&o.output, "o", "", "`file` to write; standard output without it")
	flag.StringVar(&o.pattern, "run", "", "`regexp` of the scenarios to play; all without it")
	flag.Uint64Var(&o.seed, "seed", 1, "draws whom a fault strikes, and when")
	flag.StringVar(&o.peer, "peer", "", "`program` to test; without it, it is built")
	flag.DurationVar(&o.length, "soak", 0, "random faults for this long instead of the scenarios")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

// options are the settings of the command line.
type options struct {
	rig
	output, pattern string
	length          time.Duration // of a soak; 0 plays the scenarios
}

func (o options) run(ctx context.Context) error {
	chosen, err := regexp.Compile(o.pattern)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "chaos-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if o.peer == "" {
		if o.peer, err = build(ctx, work); err != nil {
			return err
		}
	}
	var text string
	if o.length > 0 {
		text, err = o.soak(ctx, o.length)
	} else {
		text, err = o.playAll(ctx, chosen)
	}
	if text != "" {
		if o.output == "" {
			fmt.Print(text)
		} else if writeErr := os.WriteFile(o.output, []byte(text), 0o666); writeErr != nil {
			return writeErr
		}
	}
	return err
}

// build makes the program in a folder.
func build(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "peer")
	if text, err := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", program,
		"gossiptrainer/cmd/peer").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, text)
	}
	return program, nil
}

// say writes a progress line.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// playAll plays the scenarios whose names match and returns the document. The error lists broken promises.
func (r rig) playAll(ctx context.Context, chosen *regexp.Regexp) (string, error) {
	var effects []effect
	var skipped []string
	broken := 0
	for _, s := range rows() {
		if !chosen.MatchString(s.name) {
			continue
		}
		if err := available(); s.place == lan && err != nil {
			r.log("SKIPPED: %s: %v: nothing was tested", s.name, err)
			skipped = append(skipped, s.name)
			continue
		}
		got, err := r.play(ctx, s)
		if err != nil {
			return "", fmt.Errorf("%s: %w", s.name, err)
		}
		for _, t := range tallies(got) {
			r.log("%s", strings.Join(t.cells(), ", "))
		}
		for _, e := range got {
			for _, why := range e.broken {
				r.log("BROKEN: %s", why)
				broken++
			}
		}
		effects = append(effects, got...)
	}
	if broken > 0 {
		return document(effects, r.seed, skipped), fmt.Errorf("%d promises were not kept", broken)
	}
	return document(effects, r.seed, skipped), nil
}
