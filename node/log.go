package node

import (
	"context"
	"log/slog"

	"gossiptrainer/node/handshake"
)

// A placedHandler adds the worker's rank to each log line once it is known, and the finished rounds
// while the worker trains.
type placedHandler struct {
	slog.Handler
	vitals *vitals
}

// Handle adds the current rank and round.
func (h *placedHandler) Handle(ctx context.Context, r slog.Record) error {
	rank, round, training := h.vitals.place()
	r = r.Clone()
	if rank != handshake.Unranked {
		r.AddAttrs(slog.Int("rank", rank))
	}
	if training {
		r.AddAttrs(slog.Int("round", round))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs keeps the rank and round.
func (h *placedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &placedHandler{h.Handler.WithAttrs(attrs), h.vitals}
}

// WithGroup keeps the rank and round, which then are in the group.
func (h *placedHandler) WithGroup(name string) slog.Handler {
	return &placedHandler{h.Handler.WithGroup(name), h.vitals}
}
