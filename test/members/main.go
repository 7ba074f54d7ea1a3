//go:build linux

// Members plays a LAN of eight machines whose peers join, leave, die, lose their cables and are parted at random. It
// checks that the run goes on after each change, that all members end with one digest, and that a simulation of their
// log of views has the same.
//
//	go run ./test/members -length 30m -seed 1 -o docs/results/members-lan.md
//
// It needs root, ip and tc: each machine is a network namespace of its own. The program removes them at the end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"gossiptrainer/studies/markdown"
)

func main() {
	length := flag.Duration("length", time.Minute, "how long the run takes about")
	seed := flag.Uint64("seed", 1, "draws the changes")
	program := flag.String("peer", "", "`program` to test; without it, it is built")
	output := flag.String("o", "", "`file` to write; standard output without it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	text, err := play(ctx, *program, *length, *seed)
	if text != "" {
		err = errors.Join(err, markdown.Write(*output, text))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "members:", err)
		os.Exit(1)
	}
}

// play builds the LAN, plays on it, and returns the document.
func play(ctx context.Context, program string, length time.Duration, seed uint64) (string, error) {
	if os.Geteuid() != 0 {
		return "", errors.New("SKIPPED: needs root for network namespaces: nothing was tested")
	}
	work, err := os.MkdirTemp("", "members-")
	if err != nil {
		return "", err
	}
	if program == "" {
		program = filepath.Join(work, "peer")
		if text, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/peer").CombinedOutput(); err != nil {
			return "", fmt.Errorf("build: %w: %s", err, text)
		}
	}
	l := newLAN(work, program, int(length.Seconds()*pace))
	defer l.close()
	if err := l.open(); err != nil {
		return "", err
	}
	g := newGame(l, seed)
	err = g.play(ctx)
	if err == nil {
		err = g.end(ctx)
	}
	if err == nil {
		return g.document(seed, nil), os.RemoveAll(work)
	}
	return g.document(seed, err), fmt.Errorf("%w\nrecords and logs are in %s", err, work)
}

// pace is about how many rounds the members do in a second, changes included.
const pace = 30
