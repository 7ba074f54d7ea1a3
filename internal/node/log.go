package node

import (
	"context"
	"log/slog"

	"gossiptrainer/internal/node/handshake"
)

// A placedHandler adds to each line where its worker is: its rank when it has
// one, and the rounds it has finished when it trains.
type placedHandler struct {
	slog.Handler
	vitals *vitals
}

// Handle adds the place as it is now.
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

// WithAttrs keeps the place.
func (h *placedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &placedHandler{h.Handler.WithAttrs(attrs), h.vitals}
}

// WithGroup keeps the place, which then is in the group.
func (h *placedHandler) WithGroup(name string) slog.Handler {
	return &placedHandler{h.Handler.WithGroup(name), h.vitals}
}
