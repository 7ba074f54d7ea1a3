package members

import (
	"fmt"
	"time"

	"gossiptrainer/gossip/member"
	"gossiptrainer/gossip/participant"
	views "gossiptrainer/gossip/view"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/node/handshake"
)

// Found returns the seat of a founder. The founders are in the order of ranks, and self is this one. The lineage of the
// run is that of the hello in the options.
func Found(o Options, founders []views.Member, self views.ID) (*Seat, error) {
	first := views.Record{Members: founders, Lineage: o.Hello.Lineage, Parent: o.Parent}
	log, err := views.New(o.Member.Council.Base, first)
	if err != nil {
		return nil, fmt.Errorf("members: %w", err)
	}
	o.Member.Council.ID = self
	m, err := participant.New(o.Member, o.Pairs, log)
	if err != nil {
		return nil, fmt.Errorf("members: %w", err)
	}
	return newSeat(o, m, founders)
}

// Resume returns the seat of the only member of the last view of a log, see view.Resume, with the state that it has
// kept. The lineage of the run is that of the hello in the options.
func Resume(o Options, log *views.Log, s member.State, self views.ID) (*Seat, error) {
	o.Member.Council.ID, o.Parent = self, log.At(0).Parent
	m, err := participant.Resume(o.Member, log, s)
	if err != nil {
		return nil, fmt.Errorf("members: %w", err)
	}
	return newSeat(o, m, log.Last().Members)
}

func newSeat(o Options, m participant.Participant, known []views.Member) (*Seat, error) {
	self := o.Member.Council.ID
	if p := o.Parent; p != nil {
		o.Hello.Parent = handshake.Parent{Lineage: p.Lineage, View: p.View}
	}
	encoder, err := entropy.NewEncoder(o.Coding.Entropy, entropy.Typical())
	if err != nil {
		return nil, fmt.Errorf("members: %w", err)
	}
	log := o.Log.With("member", int(self))
	s := &Seat{o: o, m: m, began: time.Now(), heard: map[id]time.Duration{}, results: make(chan gradient, 1),
		tests: make(chan tested), stops: make(chan struct{}, 1)}
	s.office = &postOffice{process: &s.o.Peer, self: self, log: log, detect: max(o.Member.Council.Grace/2, 2*pulse),
		mostPayload: o.Member.Payload, mostState: o.MostState,
		inbox: make(chan arrival, 64), lost: make(chan id, 64), leaves: make(chan struct{}), over: make(chan struct{}),
		lanes: map[id]*[lanes]*lane{}}
	s.office.room = newRoom(s.office.over)
	s.office.coder.how, s.office.coder.encoder = o.Coding, encoder
	s.office.coder.refused, s.office.coder.log = o.Refused, log
	s.office.book.enter(known...)
	s.end.finals, s.kept.Keeping = map[id]final{}, o.Keep
	s.door = newDoor(&s.o.Peer, s.office.over)
	s.office.open()
	s.door.open()
	return s, nil
}

// Join returns the seat of a newcomer at its place.
func Join(o Options, at *Place) (*Seat, error) {
	o.Member.Council.ID, o.Hello.Lineage, o.Parent = at.ID, at.Lineage, at.Parent
	m, err := participant.New(o.Member, o.Pairs, nil)
	if err != nil {
		return nil, fmt.Errorf("members: %w", err)
	}
	return newSeat(o, m, at.Members)
}
