//go:build linux

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gossiptrainer/internal/record"
)

// judgeNotice finds when the others noticed a fault, and whether that was in time.
func (t *trial) judgeNotice(e *effect, began time.Time) {
	l, told := t.watch.said(began, func(l line) bool {
		return !e.strikes(l.rank, t.peers) &&
			e.strikes(l.lost(), t.peers)
	})
	if told {
		e.noticed = l.at.Sub(began)
	}
	switch {
	case t.noticed == whenever():
	case t.noticed == span{} && told:
		e.broken = append(e.broken, "taken for dead, which it was not: "+l.text)
	case t.noticed != span{} && !told:
		e.broken = append(e.broken, "no other peer has noticed the fault")
	case told && (e.noticed < t.noticed.from || e.noticed > t.noticed.to):
		e.broken = append(e.broken, fmt.Sprintf("noticed after %v, want %v to %v", e.noticed, t.noticed.from, t.noticed.to))
	}
}

// conclude waits for the end of the run and judges it.
func (t *trial) conclude(ctx context.Context, want record.Summary) {
	if !t.watch.until(ctx, t.allOver) {
		t.broken = append(t.broken, fmt.Sprintf("the run hangs in rounds %v:\n%s", t.watch.rounds(), t.watch.words(20)))
		return
	}
	var wrong []string
	for _, p := range t.site.programs() {
		if why := t.misses(p, want); why != "" {
			wrong = append(wrong, why)
		}
	}
	if len(wrong) > 0 {
		t.broken = append(t.broken, strings.Join(wrong, "\n")+":\n"+t.watch.words(20))
	}
	if t.ends == survived {
		edges, err := t.edges()
		if err != nil {
			t.broken = append(t.broken, err.Error())
			return
		}
		t.broken = append(t.broken, misweighed(edges, t.peers, t.watch.gone)...)
	}
	t.broken = append(t.broken, damaged(t.dir)...)
	if left := processesIn(t.dir); len(left) > 0 {
		t.broken = append(t.broken, fmt.Sprintf("processes left behind: %v", left))
	}
}

// tolerance is how much accuracy the survivors may lose.
const tolerance = 0.02

// misses describes the first expectation that an ended program does not meet.
func (t *trial) misses(p *program, want record.Summary) string {
	code, got := p.cmd.ProcessState.ExitCode(), p.summary()
	switch {
	case t.ends == stopped && code == 0:
		return fmt.Sprintf("process of rank %d ended well, want an error", p.rank)
	case t.ends == stopped || t.watch.gone[p.rank]:
		return ""
	case code != 0:
		return fmt.Sprintf("process of rank %d: exit code %d", p.rank, code)
	case t.ends != survived && got.Digest != want.Digest:
		return fmt.Sprintf("process of rank %d: digest %.8s, want %.8s", p.rank, got.Digest, want.Digest)
	case t.ends == survived && got.Accuracy.Mean == nil:
		return fmt.Sprintf("process of rank %d: no accuracy", p.rank)
	case t.ends == survived && *got.Accuracy.Mean < *want.Accuracy.Mean-tolerance:
		return fmt.Sprintf("process of rank %d: accuracy %.4f, of the run without faults %.4f", p.rank, *got.Accuracy.Mean,
			*want.Accuracy.Mean)
	}
	return ""
}
