package main

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/gologshim"
)

// libraries is where libraries log, by log/slog, by log or by the logger of libp2p. Their warnings say nothing to the
// user of this program, so all of them have the level debug. They go to the newest logger of a node.
type libraries struct {
	to    *atomic.Pointer[slog.Logger] // points to nil before there is one: nothing is logged
	attrs []slog.Attr
}

// newLibraries takes over the default loggers of the process.
func newLibraries() *libraries {
	l := &libraries{to: new(atomic.Pointer[slog.Logger])}
	gologshim.SetDefaultHandler(l)
	slog.SetDefault(slog.New(l)) // package log writes there, too
	return l
}

// Enabled reports whether messages of the level debug are logged.
func (l *libraries) Enabled(ctx context.Context, _ slog.Level) bool {
	to := l.to.Load()
	return to != nil && to.Enabled(ctx, slog.LevelDebug)
}

// Handle logs a message.
func (l *libraries) Handle(ctx context.Context, r slog.Record) error {
	to := l.to.Load()
	if to == nil {
		return nil
	}
	r = r.Clone()
	r.Level = slog.LevelDebug
	r.AddAttrs(l.attrs...)
	return to.Handler().Handle(ctx, r)
}

// WithAttrs returns a handler that adds attributes.
func (l *libraries) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &libraries{l.to, slices.Concat(l.attrs, attrs)}
}

// WithGroup returns l: groups of libraries are flat here.
func (l *libraries) WithGroup(string) slog.Handler { return l }
