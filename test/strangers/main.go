//go:build unix

// Strangers trains a small run twice, as processes on this machine: alone, and while strangers send garbage to the
// ports of all peers. It writes the cost per peer as a Markdown table, and fails if the digest changes.
//
//	go run ./test/strangers
//
// It judges no time, because the shares depend on the machine. With -haunt NAME it is a stranger itself, until Ctrl-C.
// It announces itself by multicast among the peers of a run, refuses them for every reason, and sends them garbage. See
// test/lan/strangers.sh.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"gossiptrainer/studies/markdown"
)

func main() {
	calls := flag.Int("calls", 10_000, "connections that strangers make, to all peers together")
	garbage := flag.Int("garbage", 100_000, "`bytes` that each of them sends, if it can")
	rounds := flag.Int("rounds", 3000, "rounds of the run")
	times := flag.Int("times", 1, "how often both are done, in turns; the least CPU time counts")
	binary := flag.String("peer", "", "the `program`; built without it")
	haunted := flag.String("haunt", "", "be a stranger among the peers of the run `name`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *haunted != "" {
		if err := haunt(ctx, *haunted); err != nil {
			fmt.Fprintln(os.Stderr, "strangers:", err)
			os.Exit(1)
		}
		return
	}
	c := &crowd{calls: *calls, garbage: *garbage}
	if err := compare(ctx, *binary, *rounds, *times, c); err != nil {
		fmt.Fprintln(os.Stderr, "strangers:", err)
		os.Exit(1)
	}
}

// compare makes both runs in turns and writes the table.
func compare(ctx context.Context, binary string, rounds, times int, c *crowd) error {
	dir, err := os.MkdirTemp("", "strangers-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	site, err := newSite(ctx, dir, binary, rounds)
	if err != nil {
		return err
	}
	var alone, besieged outcome
	for i := range times {
		quiet, err := site.run(ctx, nil)
		if err != nil {
			return err
		}
		loud, err := site.run(ctx, c)
		if err != nil {
			return err
		}
		if quiet.digest != loud.digest || quiet.digest == "" {
			return fmt.Errorf("digest %q among strangers, %q alone", loud.digest, quiet.digest)
		}
		alone, besieged = least(i, alone, quiet), least(i, besieged, loud)
	}
	fmt.Printf("%d peers, %d rounds; %d calls by strangers, %d of them let in as far as a handshake or more, %.2f GB "+
		"offered, %.2f GB taken by sockets\n\n",
		peers, rounds, c.calls, besieged.met, float64(c.calls)*float64(c.garbage)/1e9, float64(besieged.taken)/1e9)
	fmt.Print(markdown.Table([][]string{
		{"", "CPU per peer and round", "largest peer", "time"},
		{"alone", each(alone, rounds), megabytes(alone.peak), alone.wall.Round(time.Millisecond).String()},
		{"among strangers", each(besieged, rounds), megabytes(besieged.peak), besieged.wall.Round(time.Millisecond).String()},
	}))
	fmt.Printf("\nCPU time: %+.1f %%. The digest is the same.\n", 100*(besieged.cpu.Seconds()/alone.cpu.Seconds()-1))
	return nil
}

// least keeps the outcome that took less CPU time. The first outcome (i = 0) has none to compare with.
func least(i int, best, next outcome) outcome {
	if i > 0 && best.cpu <= next.cpu {
		return best
	}
	return next
}

func each(o outcome, rounds int) string {
	return (o.cpu / time.Duration(peers*rounds)).Round(time.Microsecond / 10).String()
}

func megabytes(b int64) string { return fmt.Sprintf("%.1f MB", float64(b)/1e6) }
