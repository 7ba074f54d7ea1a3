package script

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/gossip/pace"
	"gossiptrainer/internal/bridge"
	"gossiptrainer/internal/vec"
	"gossiptrainer/model"
	"gossiptrainer/topology"
)

// A script may begin to train tensors that were frozen, or replace some by others. All scripts do so in the same call.
// The run then goes on with another vector, a few rounds later: no message of it may come before all know it.

// refresh changes the outline at the boundary of round k. It returns the values that the new tensors have at first.
func (t *turns) refresh(call int, parts map[topology.Rank]pace.Call, k int) ([]byte, error) {
	switch {
	case t.place.Free:
		return nil, errors.New("the parameters cannot change where workers share no rounds: join with all that will train")
	case t.place.Sheds:
		return nil, errors.New("the parameters cannot change in a run that goes on without lost workers: join with all " +
			"that will train, or set faults.on_lost_neighbor: wait")
	case t.heir.from > k:
		return nil, fmt.Errorf("the parameters change in round %d already", t.heir.from)
	}
	root := slices.Min(slices.Collect(maps.Keys(parts)))
	raw, err := t.bytesOf(call, root, parts[root])
	if err != nil {
		return nil, err
	}
	shape, fresh, err := bridge.ReadRefresh(raw)
	if err != nil {
		return nil, fmt.Errorf("worker %d: %w", root, err)
	}
	if _, called := parts[topology.Rank(t.place.Rank)]; called {
		own, _, err := bridge.ReadRefresh(t.call.given)
		if err == nil {
			err = sameOutline(own, t.place.Rank, shape, int(root))
		}
		if err != nil {
			return nil, err
		}
	}
	next := outlineOf(shape)
	vector, err := successor(outlineOf(t.shape), next, fresh)
	if err != nil {
		return nil, err
	}
	// A worker whose script has left hears of the call at any time before it is over. So it is over when all know it.
	if _, err := t.room.Average(t.room.ctx, call, []float32{0}); err != nil {
		return nil, err
	}
	from := t.place.After(k)
	t.heir = heir{from, shape, &Change{From: from, Outline: next, Vector: vector}}
	return fresh, nil
}

// bytesOf returns what a worker contributes to a call.
func (t *turns) bytesOf(call int, root topology.Rank, part pace.Call) ([]byte, error) {
	switch {
	case int(root) == t.place.Rank:
		return t.call.given, nil
	case part.Size == 0:
		return part.Body, nil
	}
	x := make([]float32, (part.Size+3)/4)
	if err := t.room.Fetch(t.room.ctx, root, tagOf(call), x); err != nil {
		return nil, err
	}
	return vec.AppendLE(nil, x)[:part.Size], nil
}

// tagOf names the bytes of a broadcast among the vectors of a worker.
func tagOf(call int) string { return "call " + strconv.Itoa(call) }

// reach gives the script the vector of its heir, if round k begins with it.
func (t *turns) reach(k int) error {
	if t.heir.from == 0 || k < t.heir.from {
		return nil
	}
	err := bridge.Reshape(t.script, t.heir.shape)
	t.shape, t.heir = t.heir.shape, heir{}
	if err != nil {
		return &Error{err}
	}
	return nil
}

// sameOutline names the first tensor in which two outlines differ.
func sameOutline(own bridge.Outline, self int, theirs bridge.Outline, root int) error {
	mine := tensorsOf(outlineOf(own))
	for _, t := range theirs.Tensors {
		have, there := mine[t.Name]
		switch {
		case !there:
			return fmt.Errorf("worker %d does not train %s, which worker %d trains now: all workers make the same change",
				self, t.Name, root)
		case !slices.Equal(have.Shape, t.Shape):
			return fmt.Errorf("%s is %s on worker %d and %s on worker %d: all workers make the same change", t.Name,
				sizes(have.Shape), self, sizes(t.Shape), root)
		}
		delete(mine, t.Name)
	}
	for _, t := range own.Tensors {
		if _, extra := mine[t.Name]; extra {
			return fmt.Errorf("worker %d trains %s now, which worker %d does not: all workers make the same change", self,
				t.Name, root)
		}
	}
	if own.Exact != theirs.Exact {
		return fmt.Errorf("%d elements travel exactly from worker %d, %d from worker %d: all workers make the same change",
			own.Exact, self, theirs.Exact, root)
	}
	return nil
}

// sizes writes a shape as 7x30.
func sizes(shape []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", "x"), "[]")
}

// tensorsOf returns the tensors of an outline by name.
func tensorsOf(o *model.Outline) map[string]model.Param {
	all := map[string]model.Param{}
	for _, p := range o.Params {
		all[p.Name] = p
	}
	return all
}

// successor returns what makes the vector of another outline, with the values of the tensors that are new in it.
func successor(old, next *model.Outline, fresh []byte) (func(x []float32) ([]float32, error), error) {
	had := tensorsOf(old)
	keeps := func(p model.Param) bool {
		was, there := had[p.Name]
		return there && slices.Equal(was.Shape, p.Shape)
	}
	wanted := 0
	for _, p := range next.Params {
		if !keeps(p) {
			wanted += p.Len()
		}
	}
	if 4*wanted != len(fresh) {
		return nil, fmt.Errorf("the new tensors have %d elements, but %d bytes of values came", wanted, len(fresh))
	}
	return func(x []float32) ([]float32, error) {
		if len(x) != old.Dim() {
			return nil, fmt.Errorf("a vector of %d elements, want %d", len(x), old.Dim())
		}
		y, rest := make([]float32, next.Dim()), fresh
		for _, p := range next.Params {
			to := y[p.Off : p.Off+p.Len()]
			if keeps(p) {
				copy(to, x[had[p.Name].Off:])
				continue
			}
			vec.ReadLE(to, rest)
			rest = rest[4*len(to):]
		}
		return y, nil
	}, nil
}
