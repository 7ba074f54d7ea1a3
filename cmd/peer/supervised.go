package main

import (
	"context"
	"errors"
	"strings"

	"gossiptrainer/app/peer"
	"gossiptrainer/app/script"
	"gossiptrainer/app/worker"
	"gossiptrainer/internal/fleet"
	"gossiptrainer/internal/work"
	"gossiptrainer/node"
	"gossiptrainer/topology"
)

// runSupervised is a peer under the supervisor "peer lab": it takes commands on standard input and reports on standard
// output. The run file is resolved, so that neither environment nor flags count again.
func runSupervised(ctx context.Context, c *console, file *runFile, one *peer.Supervised) error {
	if file.resume {
		one.From = worker.Return
	}
	one.Log, one.Out = c.logger(c.err), c.err
	one.Script.Command, one.Script.Out, one.Script.Quiet, one.Script.Log = file.script, c.err, c.quiet, one.Log
	return supervised(ctx, c, one.Rank, one.Run)
}

// supervised runs the work of a process that a supervisor has started, and reports a failure to it.
func supervised(ctx context.Context, c *console, rank int, do func(context.Context, *fleet.Client) error) error {
	client := fleet.Attach(c.in, c.out.File)
	ctx, cancel := client.Context(ctx)
	defer cancel()
	err := do(ctx, client)
	if cause := context.Cause(ctx); errors.Is(cause, fleet.ErrStopped) || errors.Is(cause, fleet.ErrParentGone) {
		return &reportedError{cause}
	}
	if err == nil {
		return nil
	}
	said := complaintOf(err)
	failure := fleet.Failure{Reason: strings.TrimPrefix(said.text, "peer: "), Hint: said.hint, Code: exitCode(err),
		Again: errors.Is(err, work.ErrGone)}
	if own, ok := errors.AsType[*script.Error](err); ok { // names its round itself
		failure.Reason = own.Error()
	}
	if stop, ok := errors.AsType[*node.StoppedError](err); ok {
		failure.Echo = stop.Rank != topology.Rank(rank)
	}
	return &reportedError{errors.Join(err, client.Fail(failure))}
}
