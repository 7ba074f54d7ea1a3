package vector

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"time"

	"gossiptrainer/internal/vec"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
	"gossiptrainer/topology"
)

const (
	lostAfter = 10 * time.Second // as a link under the policy Fail
	// mostBroken is how many transfers in a row may break off. A partition of the network breaks one.
	mostBroken = 20
)

var errClosed = errors.New("this peer is closed")

// Fetch waits until a worker has published a vector of len(x) elements under a tag, and copies it to x.
// It calls the worker again after a failure. It fails with an *Error when ctx ends, or when the worker
// refuses this one or has ended without the vector. A worker that was there is lost when it has been
// gone for 10 seconds. After an error x may hold a part of the vector.
func (s *Service) Fetch(ctx context.Context, rank topology.Rank, tag string, x []float32) error {
	return s.fetch(ctx, rank, whole(key{tag: tag}, len(x)), x)
}

func (s *Service) fetch(ctx context.Context, rank topology.Rank, r Request, x []float32) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(errClosed) })()
	if err := s.pursue(ctx, rank, func() (bool, error) { return s.attempt(ctx, rank, r, x) }); err != nil {
		return &fetchError{rank, r.key().String(), err}
	}
	return nil
}

// pursue tries until it succeeds or the worker is lost. try reports whether the worker was there.
func (s *Service) pursue(ctx context.Context, rank topology.Rank, try func() (met bool, err error)) error {
	var gone time.Time
	broken := 0
	for wait := socket.FirstRetry; ; wait = min(2*wait, socket.LastRetry) {
		met, err := try()
		no, refused := errors.AsType[*handshake.RefusedError](err)
		_, unproven := errors.AsType[*handshake.UnprovenError](err)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case refused && no.Permanent():
			return err
		case unproven: // the worker is not lost: it may start again, with the right secret
			gone = time.Now()
		case met:
			gone, wait = time.Time{}, socket.FirstRetry
			if broken++; broken == mostBroken {
				return fmt.Errorf("%d transfers broke off: %w", broken, err)
			}
		case gone.IsZero():
			gone = time.Now()
		}
		if !met && s.gone(rank, time.Since(gone)) {
			return fmt.Errorf("%w: gone for %v: %s", errLost, time.Since(gone).Round(time.Second), socket.Cause(err))
		}
		s.Log.Debug("no vector yet", "worker", int(rank), "err", err)
		socket.Sleep(ctx, wait/2+rand.N(wait/2))
	}
}

// gone reports whether a worker counts as lost after a time without it. Workers that have never been
// there may start later.
func (s *Service) gone(rank topology.Rank, since time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.met[rank] || s.Host.Carried(s.members.Load().IDs[rank]).Received > 0
	if !known || since < lostAfter && !s.absent[rank] {
		return false
	}
	s.absent[rank] = true
	return true
}

// attempt asks a worker once. met reports whether both ends have passed the handshake.
func (s *Service) attempt(ctx context.Context, rank topology.Rank, r Request, x []float32) (met bool, err error) {
	stream, err := s.Host.Open(ctx, s.members.Load().IDs[rank], protocolID)
	if err != nil {
		return false, err
	}
	defer context.AfterFunc(ctx, func() { stream.Reset() })()
	t := handshake.New(stream)
	if err := s.greet(t, rank); err != nil {
		return false, err
	}
	if err := s.request(t, r, x); err != nil {
		stream.Reset()
		return true, err
	}
	return true, stream.Close()
}

// request sends a request and receives the answer.
func (s *Service) request(t *handshake.Talk, r Request, x []float32) error {
	t.Stream.SetDeadline(time.Now().Add(handshake.Timeout))
	if err := t.Say(handshake.AboutVector, r.Append(nil)); err != nil {
		return err
	}
	for began, told := time.Now(), false; ; {
		if !told && time.Since(began) > lostAfter {
			told = true
			s.Log.Info("still waiting for a vector", "vector", r.key(), "of", handshake.Short(t.Peer))
		}
		t.Stream.SetReadDeadline(time.Now().Add(max(stall, s.Detect)))
		body, err := t.Expect(handshake.AboutVector, 8)
		switch {
		case err != nil:
			return err
		case len(body) == 8 && binary.LittleEndian.Uint64(body) == r.Count:
			return s.receive(t, r, x)
		case len(body) > 0:
			return t.Refuse(handshake.Refusal(handshake.Protocol, "malformed answer about vector %s", r.key()))
		}
	}
}

// receive reads the values that send writes.
func (s *Service) receive(t *handshake.Talk, r Request, x []float32) error {
	sum, buf := r.checksum(), make([]byte, min(mostPiece, 4*len(x)))
	for len(x) > 0 {
		n := min(len(buf)/4, len(x))
		t.Stream.SetReadDeadline(time.Now().Add(stall))
		if _, err := io.ReadFull(t.In, buf[:4*n]); err != nil {
			return handshake.Explain(err)
		}
		vec.ReadLE(x[:n], buf)
		sum = crc32.Update(sum, castagnoli, buf[:4*n])
		x = x[n:]
		s.received.Add(int64(4 * n))
	}
	var end [4]byte
	if _, err := io.ReadFull(t.In, end[:]); err != nil {
		return handshake.Explain(err)
	}
	if got := binary.LittleEndian.Uint32(end[:]); got != sum {
		return fmt.Errorf("checksum %08x, want %08x", got, sum)
	}
	t.Stream.SetWriteDeadline(time.Now().Add(stall))
	if err := t.Say(handshake.AboutYes, nil); err != nil {
		return err
	}
	t.Part()
	return nil
}
