package vector

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"gossiptrainer/internal/vec"
	"gossiptrainer/node/handshake"
	"gossiptrainer/topology"
)

// beatsPerDetect is how many signs of life a peer sends in Detect while its vector is not there.
const beatsPerDetect = 4

// stall is how long a stream may stand still while values travel.
const stall = time.Minute

// answer serves one request. A peer outside the roster gets a refusal.
func (s *Service) answer(stream network.Stream) {
	stop := context.AfterFunc(s.ctx, func() { stream.Reset() })
	defer stop()
	t := handshake.New(stream)
	rank, known := s.members.Load().Rank(t.Peer)
	if !known {
		t.TurnAway(s.Admission, handshake.Refusal(handshake.Stranger, "not in the roster"), s.tell)
		stream.Conn().Close()
		return
	}
	if err := s.greet(t, rank); err != nil {
		s.Log.Debug("handshake about a vector failed", "worker", int(rank), "err", err)
		return
	}
	if err := s.serve(t, rank); err != nil {
		s.Log.Debug("a vector was not fetched", "worker", int(rank), "err", err)
		stream.Reset()
	}
}

// tell counts the refusal in err, if it has one.
func (s *Service) tell(err error) { handshake.Tell(s.Refused, s.Log, "refused a peer", err) }

// greet admits a member as a link does.
func (s *Service) greet(t *handshake.Talk, rank topology.Rank) error {
	mine := s.Hello()
	err := t.Greet(s.Admission, mine, func(theirs handshake.Hello) *handshake.RefusedError {
		if no := mine.CompareShape(theirs); no != nil {
			return no
		}
		return mine.CompareRoster(theirs, rank)
	})
	s.tell(err)
	if err != nil {
		t.Stream.ResetWithError(handshake.CodeRefused)
		return err
	}
	s.enter(rank)
	return nil
}

// serve answers the request of a worker when its vector is published.
func (s *Service) serve(t *handshake.Talk, to topology.Rank) error {
	t.Stream.SetDeadline(time.Now().Add(handshake.Timeout))
	body, err := t.Expect(handshake.AboutVector, requestMax)
	if err != nil {
		return err
	}
	r, ok := ParseRequest(body)
	if !ok {
		return t.Refuse(handshake.Refusal(handshake.Protocol, "malformed request for a vector"))
	}
	p, err := s.await(t, r)
	if err != nil {
		return err
	}
	x, err := p.vector()
	if x == nil {
		s.Log.Info("a vector cannot be read", "vector", r.key().String(), "err", err)
		return t.Refuse(notKept(r.key()))
	}
	if n := uint64(len(x)); n != r.Elements {
		return t.Refuse(handshake.Refusal(handshake.OtherShape, "vector %s has %d elements here, %d are wanted",
			r.key(), n, r.Elements))
	}
	if err := s.send(t, r, x[r.From:r.From+r.Count]); err != nil {
		return err
	}
	t.Stream.SetReadDeadline(time.Now().Add(stall))
	if _, err := t.Expect(handshake.AboutYes, 0); err != nil {
		return err
	}
	if r.Count == r.Elements {
		s.shelf.fetched(r.key(), p, to)
	}
	return t.Stream.Close()
}

// await waits for a vector and shows signs of life meanwhile.
func (s *Service) await(t *handshake.Talk, r Request) (*publication, error) {
	beat := time.NewTicker(s.Detect / beatsPerDetect)
	defer beat.Stop()
	for {
		p, no, changed := s.shelf.find(r.key())
		if p != nil {
			return p, nil
		}
		if no != nil {
			return nil, t.Refuse(no)
		}
		select {
		case <-changed:
		case <-beat.C:
			t.Stream.SetWriteDeadline(time.Now().Add(stall))
			if err := t.Say(handshake.AboutVector, nil); err != nil {
				return nil, err
			}
		case <-s.ctx.Done():
			return nil, s.ctx.Err()
		}
	}
}

// mostPiece bounds the bytes of values that are written or read at once.
const mostPiece = 64 << 10

// send writes the number of values, the values and their checksum. It takes turns with the frames of
// links, piece by piece.
func (s *Service) send(t *handshake.Talk, r Request, x []float32) error {
	t.Stream.SetWriteDeadline(time.Now().Add(stall))
	if err := t.Say(handshake.AboutVector, binary.LittleEndian.AppendUint64(nil, r.Count)); err != nil {
		return err
	}
	sum, piece := r.checksum(), max(1, min(mostPiece, s.Host.Pieces(t.Peer))/4)
	var buf []byte
	for len(x) > 0 {
		n := min(piece, len(x))
		buf = vec.AppendLE(buf[:0], x[:n])
		x = x[n:]
		sum = crc32.Update(sum, castagnoli, buf)
		s.Host.Pace(t.Peer, len(buf), s.ctx.Done())
		t.Stream.SetWriteDeadline(time.Now().Add(stall))
		if _, err := t.Stream.Write(buf); err != nil {
			return err
		}
		s.sent.Add(int64(len(buf)))
	}
	_, err := t.Stream.Write(binary.LittleEndian.AppendUint32(nil, sum))
	return err
}
