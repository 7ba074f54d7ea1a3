package members

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/join"
)

// Return looks for members of the run, which give this process a place. If there are none for a while, the process
// resumes the run alone, from the state that it has at an exchange: the meeting has no place and no founders. Of
// several processes that do so at once, the one whose state is newest resumes the run, and the others wait for it.
func Return(ctx context.Context, p Peer, exchange int) (*Meeting, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := rivals{Peer: p, ctx: ctx, exchange: exchange}
	p.Host.SetStreamHandler(askProtocol, r.accept)
	m := meet{Peer: p, found: make(chan peer.AddrInfo, 64), places: make(chan *Place, 1), failed: make(chan error, 2),
		rival: r.hear}
	m.ask(ctx)
	m.search()
	looks := time.NewTimer(alone)
	defer looks.Stop()
	for {
		select {
		case place := <-m.places:
			return &Meeting{Place: place, Lineage: place.Lineage}, nil
		case err := <-m.failed:
			return nil, err
		case <-looks.C:
			if rest := r.rest(); rest > 0 {
				looks.Reset(rest)
				continue
			}
			return &Meeting{Lineage: p.Hello.Epoch}, nil
		}
	}
}

// rivals are the processes that resume the run at the same time.
type rivals struct {
	Peer
	ctx      context.Context
	exchange int

	mu     sync.Mutex
	beaten time.Time // when this process last heard one with a newer state
}

// hear takes the exchange of another process. Of equal ones the key decides.
func (r *rivals) hear(who peer.ID, exchange int) {
	if exchange > r.exchange || exchange == r.exchange && who > r.Host.ID() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.beaten = time.Now()
	}
}

// rest returns how long this process still waits for another one, 0 if it need not.
func (r *rivals) rest() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.beaten.IsZero() {
		return 0
	}
	return max(0, alone-time.Since(r.beaten))
}

// accept tells processes that ask for a place how far this one is.
func (r *rivals) accept(s network.Stream) {
	defer s.Reset()
	t := handshake.New(s)
	err := join.Greet(&r.Peer, t)
	if err == nil {
		err = r.serve(t)
	}
	handshake.Tell(r.Refused, r.Log, "peer refused", err)
}

func (r *rivals) serve(t *handshake.Talk) error {
	t.Stream.SetDeadline(time.Now().Add(handshake.Timeout))
	if _, err := t.Expect(handshake.AboutMember, mostAsked); err != nil {
		return err
	}
	text, err := json.Marshal(answer{Detail: "it resumes the run, and looks for other members", Resumes: &r.exchange})
	for err == nil {
		t.Stream.SetDeadline(time.Now().Add(handshake.Timeout))
		if err = t.Say(handshake.AboutMember, text); err != nil {
			return err
		}
		select {
		case <-time.After(asked):
		case <-r.ctx.Done():
			return nil
		}
	}
	return err
}
