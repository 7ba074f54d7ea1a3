//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/stats"
	"gossiptrainer/studies/markdown"
)

// A game plays changes on a LAN, one after the other, and measures how long the members take to agree on each.
type game struct {
	*lan
	rand  *rand.Rand
	began time.Time            // of the change, or of the end of its fault
	took  map[string][]float64 // seconds by change
	views int                  // of the run
	said  string               // how it ended
}

// Changes.
const (
	joins  = "join"
	leaves = "leave"
	dies   = "kill -9"
	cut    = "cable out"
	parted = "partition"
)

var changes = []string{joins, leaves, dies, cut, parted}

func newGame(l *lan, seed uint64) *game {
	return &game{lan: l, rand: rand.New(rand.NewPCG(seed, 0)), took: map[string][]float64{}}
}

// within is how long the members may take to agree again, on a busy machine.
const within = 90 * time.Second

// longest is how long a change may take that begins while the run goes on: the longest fault of the network, and the
// agreement after it.
const longest = 3*grace + 13*time.Second

// play starts the founders, and then plays changes until the run is nearly over.
func (g *game) play(ctx context.Context) error {
	for _, m := range g.all[:founders] {
		if err := m.start(); err != nil {
			return err
		}
	}
	if err := g.until(ctx, "the founders train", g.whole); err != nil {
		return err
	}
	for (1-g.progress())*float64(g.rounds) > pace*longest.Seconds() {
		what := changes[g.rand.IntN(len(changes))]
		g.began = time.Now()
		played, err := g.change(ctx, what)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if played {
			took := time.Since(g.began).Seconds()
			g.took[what] = append(g.took[what], took)
			names, known := g.running()[0].names()
			fmt.Fprintf(os.Stderr, "%s: %.1f s; view %d: %s; %.0f %% of the rounds\n", what, took, known-1,
				strings.Join(names, " "), 100*g.progress())
		}
		if err := g.rest(ctx, time.Duration(g.rand.Int64N(int64(4*time.Second)))); err != nil {
			return err
		}
	}
	return nil
}

// change plays one change, unless too few machines are on or off for it. It waits until the members agree again.
func (g *game) change(ctx context.Context, what string) (played bool, err error) {
	on, off := g.running(), g.off()
	pick := func(from []*machine) *machine { return from[g.rand.IntN(len(from))] }
	few := len(on) <= fewest
	switch {
	case what == joins && len(off) > 0:
		err = pick(off).start()
	case what == leaves && !few:
		m := pick(on)
		if err := m.signal(syscall.SIGINT); err != nil {
			return false, err
		}
		if err := g.until(ctx, m.name()+" ends", func() bool { return !m.on() }); err != nil {
			return false, err
		}
		told := strings.Contains(m.out.String(), "this machine has left")
		if code := m.cmd.ProcessState.ExitCode(); code != interrupted || !told {
			return false, fmt.Errorf("exit code %d: %s", code, m.said())
		}
	case what == dies && !few:
		m := pick(on)
		err = m.signal(syscall.SIGKILL)
		<-m.ended
	case what == cut && !few:
		m := pick(on)
		if err := m.cable("down"); err != nil {
			return false, err
		}
		if err := g.rest(ctx, g.while()); err != nil {
			return false, err
		}
		err = m.cable("up")
	case what == parted && len(on) > 3:
		err = g.part(ctx, on)
	default:
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if what == cut || what == parted {
		g.began = time.Now()
	}
	return true, g.until(ctx, "all members agree", g.whole)
}

// interrupted is the exit code of a member that Ctrl-C has made leave.
const interrupted = 130

// while draws how long a fault of the network lasts: half a grace to three.
func (g *game) while() time.Duration { return grace/2 + time.Duration(g.rand.Int64N(int64(5*grace/2))) }

// part parts the machines, two or three ways, for a while.
func (g *game) part(ctx context.Context, on []*machine) error {
	parts := 2 + g.rand.IntN(bridges-1)
	for _, m := range on {
		if err := m.attach(g.rand.IntN(parts)); err != nil {
			return err
		}
	}
	err := g.rest(ctx, g.while())
	for _, m := range on {
		err = errors.Join(err, m.attach(0))
	}
	return err
}

// whole reports whether all machines that are on, and no others, are the members of the newest view, which all know.
func (g *game) whole() bool {
	var want []string
	for _, m := range g.running() {
		want = append(want, m.name())
	}
	newest := 0
	for _, m := range g.running() {
		names, known := m.names()
		if newest == 0 {
			newest = known
		}
		if known == 0 || known != newest || !slices.Equal(names, want) {
			return false
		}
	}
	return len(want) > 0
}

func (g *game) progress() float64 {
	most := 0
	for _, m := range g.running() {
		most = max(most, m.done())
	}
	return float64(most) / float64(g.rounds)
}

// until waits for something, and names the machines if it does not come.
func (g *game) until(ctx context.Context, what string, holds func() bool) error {
	end := time.Now().Add(within)
	for !holds() {
		if time.Now().After(end) {
			var said []string
			for _, m := range g.all {
				if m.runs > 0 {
					names, known := m.names()
					said = append(said, fmt.Sprintf("on %v, %d views, %v, %s", m.on(), known, names, m.said()))
				}
			}
			return fmt.Errorf("not within %v: %s\n%s", within, what, strings.Join(said, "\n"))
		}
		if err := g.rest(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func (g *game) rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end waits for the end of the run, and checks what its members have left.
func (g *game) end(ctx context.Context) error {
	last := g.running()
	for _, m := range last {
		if err := g.until(ctx, m.name()+" ends", func() bool { return !m.on() || g.progress() < 1 }); err != nil {
			return err
		}
		select {
		case <-m.ended:
		case <-time.After(10 * within):
			return fmt.Errorf("the run does not end: %s", m.said())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	digest := ""
	for _, m := range last {
		var result struct{ Digest string }
		if err := json.Unmarshal(m.out.Bytes(), &result); err != nil || result.Digest == "" ||
			m.cmd.ProcessState.ExitCode() != 0 {
			return fmt.Errorf("exit code %d, %s", m.cmd.ProcessState.ExitCode(), m.said())
		}
		if digest == "" {
			digest = result.Digest
		}
		if result.Digest != digest {
			return fmt.Errorf("%s ends with digest %.16s, %s with %.16s", m.name(), result.Digest, last[0].name(), digest)
		}
	}
	if err := g.logs(last[0]); err != nil {
		return err
	}
	g.said = fmt.Sprintf("%d members ended with the digest %.16s, and `peer sim --views` has the same.", len(last), digest)
	return g.replay(ctx, last[0], digest)
}

// logs compares the logs of all processes: each is the beginning of the last one.
func (g *game) logs(last *machine) error {
	whole := last.views(last.runs - 1)
	g.views = whole.Len()
	for _, m := range g.all {
		for run := range m.runs {
			log := m.views(run)
			for v := 0; log != nil && v < log.Len(); v++ {
				if v >= whole.Len() || !same(log.At(v), whole.At(v)) {
					return fmt.Errorf("view %d of process %d of %s is another one than in the log of %s", v, run, m.name(),
						last.name())
				}
			}
		}
	}
	return nil
}

func same(a, b *view.Record) bool {
	return a.First == b.First && reflect.DeepEqual(a.IDs(), b.IDs()) && reflect.DeepEqual(a.Dead, b.Dead)
}

// replay compares the digest of the run with that of a simulation of its log.
func (g *game) replay(ctx context.Context, last *machine, want string) error {
	args := append([]string{"sim", "ring8", "--json", "--views", last.folder(last.runs - 1)}, g.settings()...)
	out, err := exec.CommandContext(ctx, g.program, args...).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return fmt.Errorf("replay: %w", err)
	}
	var got struct{ Digest string }
	if err := json.Unmarshal(out, &got); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if got.Digest != want {
		return fmt.Errorf("the replay has digest %.16s, the run %.16s", got.Digest, want)
	}
	return nil
}

// document returns the Markdown text of the game.
func (g *game) document(seed uint64, failed error) string {
	table := [][]string{{"change", "times", "agreed after, median", "at most"}}
	all := 0
	for _, what := range changes {
		if took := g.took[what]; len(took) > 0 {
			all += len(took)
			table = append(table, []string{what, fmt.Sprint(len(took)), fmt.Sprintf("%.1f s", stats.Median(took)),
				fmt.Sprintf("%.1f s", slices.Max(took))})
		}
	}
	said := g.said
	if failed != nil {
		said = "NOT kept: " + failed.Error()
	}
	return fmt.Sprintf(`# Members on a LAN

Written by test/members with seed %d. Eight machines in network namespaces take part in a run of %d rounds, as members
that come and go at random: %d changes, %d views.
The grace is %v. A change counts as agreed when all machines that are on are the members of the newest view, and all
of them know it. Cables are out and partitions last for half a grace to three. Their times count from their end.

%s
%s
`, seed, g.rounds, all, g.views, grace, markdown.Table(table), said)
}
