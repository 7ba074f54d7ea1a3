package script

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"gossiptrainer/gossip/pace"
	views "gossiptrainer/gossip/view"
	"gossiptrainer/internal/bridge"
	"gossiptrainer/internal/vec"
	"gossiptrainer/node/hall"
	"gossiptrainer/topology"
)

// Members call each other at the boundary of a round. Each gives its part to those that ask. It asks the others of its
// view one after the other, in the order of ranks, so that all compute the same bits. One that is taken for dead
// meanwhile is left out.

// answer ends the call in which the script waits. Alone says that no other member takes part.
func (w *Member) answer(now moment, alone bool) error {
	act := w.script.call
	w.script.call = nil
	r := bridge.Result{Kind: act.Request.Kind, Round: now.k, Missing: map[int]string{}}
	var raw []byte
	var err error
	if act.Request.Kind == bridge.Newest {
		r.Rounds = map[int]int{}
		raw, err = w.seek(act, now, alone, &r)
	} else {
		raw, err = w.meet(act, now, alone, &r)
	}
	if err != nil {
		return &Error{fmt.Errorf("%s in round %d: %w", act.Request.Kind, now.k, err)}
	}
	if err := w.child.script.Answer(act.Call, r, raw); err != nil && !errors.Is(err, bridge.ErrLeft) {
		return fate(err)
	}
	return nil
}

// meet takes part in a call of all members.
func (w *Member) meet(act *bridge.Act, now moment, alone bool, r *bridge.Result) ([]byte, error) {
	v := w.now()
	at := callKey{now.k, w.script.calls}
	w.script.calls++
	request := act.Request
	own := part{Kind: request.Kind, Op: request.Op, Root: request.Root, Ranks: request.Ranks, raw: act.Raw}
	chosen := func(rank int) bool { return len(request.Ranks) == 0 || slices.Contains(request.Ranks, rank) }
	if request.Kind == pace.Mean && chosen(v.Rank) {
		own.raw = vec.AppendLE(nil, now.x)
	}
	body, err := own.encode()
	if err != nil {
		return nil, err
	}
	w.board.put(at, body)
	all := &models{of: make([]float64, len(now.x))}
	parts := map[topology.Rank]pace.Call{}
	for rank, m := range v.members {
		theirs := own
		if rank != v.Rank {
			why := excluded
			if alone {
				theirs = part{}
			} else if theirs, why, err = w.ask(m, at, int64(4*len(now.x))+int64(maxPart)); err != nil {
				return nil, err
			}
			if why == "" && !theirs.Ended && !own.agrees(theirs) && !(own.Kind == pace.Mean && theirs.Kind == pace.Mean) {
				return nil, fmt.Errorf("member %d is in %s: all members call the same functions in the same rounds and the "+
					"same order, with equally many values and the same ranks", m.ID, theirs.Kind)
			}
			if why == "" && theirs.Ended && (request.Kind != pace.Mean || len(theirs.raw) == 0) {
				why = "its script has ended"
			}
			if why != "" {
				if chosen(rank) {
					r.Missing[rank] = why
				}
				continue
			}
		}
		if request.Kind == pace.Mean && chosen(rank) {
			if len(theirs.raw) != 4*len(now.x) {
				return nil, fmt.Errorf("member %d gives a model of %d bytes: %w", m.ID, len(theirs.raw), errPart)
			}
			all.take(theirs.raw)
		}
		parts[topology.Rank(rank)] = pace.Call{Kind: own.Kind, Op: own.Op, Body: theirs.raw}
	}
	switch request.Kind {
	case pace.Mean:
		return all.mean(), nil
	case pace.Reduce:
		return reduce(parts), nil
	case pace.Broadcast:
		return parts[topology.Rank(request.Root)].Body, nil
	}
	return nil, nil
}

// excluded is why a call has only the part of this member.
const excluded = "this machine was taken for dead"

// maxPart bounds what a script gives to a call beside its model, in bytes.
const maxPart = 16 << 20

// ask asks a member for its part in a call. Why says that it has none, because it is gone.
func (w *Member) ask(m views.Member, at callKey, most int64) (p part, why string, err error) {
	ctx, cancel := w.board.until(w.ctx, func() bool { return w.board.dead[m.ID] })
	defer cancel()
	silence := time.Duration(0)
	if at.round == w.plan.Rounds { // no agreement says any more who is dead
		silence = w.plan.Grace
	}
	body, err := w.persist(ctx, m, hall.Request{What: askPart, Round: at.round, Call: at.call}, most, silence)
	if absent, ok := errors.AsType[*hall.AbsentError](err); ok {
		return p, "", fmt.Errorf("member %d (%s): %w: all members call the same functions in the same rounds", m.ID, m.Name,
			absent)
	}
	if err != nil {
		return p, "it is gone", nil
	}
	p, err = decodePart(body)
	return p, "", err
}

// seek takes the mean of the newest models of members, without waiting for their scripts.
func (w *Member) seek(act *bridge.Act, now moment, alone bool, r *bridge.Result) ([]byte, error) {
	v, request := w.now(), act.Request
	ctx, cancel := context.WithTimeout(w.ctx, time.Duration(request.Seconds*float64(time.Second)))
	defer cancel()
	all := &models{of: make([]float64, len(now.x))}
	for rank, m := range v.members {
		if len(request.Ranks) > 0 && !slices.Contains(request.Ranks, rank) {
			continue
		}
		y := now.stamped()
		if rank != v.Rank {
			if alone {
				r.Missing[rank] = excluded
				continue
			}
			body, err := w.hall.Ask(ctx, m, hall.Request{What: askNewest, To: m.ID}, int64(4*len(y)))
			if err != nil || len(body) != 4*len(y) {
				r.Missing[rank] = "it does not answer"
				continue
			}
			vec.ReadLE(y, body)
		}
		r.Rounds[rank] = roundOf(y)
		all.take(vec.AppendLE(nil, y[:len(now.x)]))
	}
	return all.mean(), nil
}

// farewell waits until the scripts of all other members have ended, because they may call this one.
func (w *Member) farewell() {
	v := w.now()
	var others sync.WaitGroup
	for rank, m := range v.members {
		if rank == v.Rank {
			continue
		}
		others.Go(func() {
			// A member asks the same once its own script has ended.
			ctx, cancel := w.board.until(w.ctx, func() bool { return w.board.gone[m.Key] || w.board.dead[m.ID] })
			defer cancel()
			_, _ = w.persist(ctx, m, hall.Request{What: askGone}, 0, w.plan.Grace)
		})
	}
	others.Wait()
}

// models is a sum of models.
type models struct {
	of    []float64
	count int
}

// take adds a model, as binary32.
func (s *models) take(raw []byte) {
	s.count++
	for i := range s.of {
		s.of[i] += float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
	}
}

// mean returns the mean as binary32; nil without a model.
func (s *models) mean() []byte {
	if s.count == 0 {
		return nil
	}
	raw := make([]byte, 0, 4*len(s.of))
	for _, v := range s.of {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(v/float64(s.count))))
	}
	return raw
}
