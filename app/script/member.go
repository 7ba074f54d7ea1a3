package script

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gossiptrainer/gossip/retrace"
	views "gossiptrainer/gossip/view"
	"gossiptrainer/internal/bridge"
	"gossiptrainer/internal/vec"
	"gossiptrainer/internal/work"
	"gossiptrainer/node/hall"
	"gossiptrainer/node/handshake"
)

// A Member is the script of a machine in a run whose members come and go. The machine may be one member after
// another, as one that was taken for dead comes back. Its script stays. Rounds have a number, so a script that takes no
// step needs no word with others: its member mixes without an update. Scripts call each other in the same rounds.
//
// One goroutine at a time calls Found, Finish and Leave. Gradient, Sees, Hears and Give may come from others.
type Member struct {
	child *Child
	plan  Plan
	board *board
	hall  Hall

	mu     sync.Mutex // held while the script may have the vector
	ctx    context.Context
	cancel context.CancelFunc // ends the waits of the present life as a member
	told   struct {
		welcomed bool
		next     int // the first view that the script has not been told
	}
	script scripted
	crossing
}

// Plan are the settings of a run for its scripts.
type Plan struct {
	Run    string
	Seed   uint64
	Rounds int
	Grace  time.Duration // of silence, after which a member counts as dead
}

// A Hall is where members ask each other, a hall.Hall.
type Hall interface {
	Ask(ctx context.Context, who views.Member, r hall.Request, most int64) ([]byte, error)
}

// scripted is what the script of a member does.
type scripted struct {
	turn     bool        // it has the vector of the round, until it steps
	round    int         // of the last GO
	calls    int         // that it has made in this round
	call     *bridge.Act // in which it waits; nil: in none
	finished bool        // it takes no step, and keeps its vector
	left     bool        // it has ended
	loss     float32     // the newest; NaN: none
	spent    time.Duration
}

// crossing is where the machine stands among the members, as its seat says. The lock guards it.
type crossing struct {
	lock  sync.Mutex
	id    views.ID
	views []told // with this member, up to the one in which it works
}

// told is a view as scripts hear of it.
type told struct {
	bridge.View
	members []views.Member // by rank
}

// NewMember returns the script of a machine, which has begun. The caller uses no method of the child any more but
// Close and Tell.
func NewMember(c *Child, plan Plan) *Member {
	w := &Member{child: c, plan: plan, board: newBoard(plan.Rounds), script: scripted{loss: bridge.NoLoss}}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// Give is a hall.Give.
func (w *Member) Give(ctx context.Context, from string, r hall.Request) ([]byte, error) {
	return w.board.give(ctx, from, r)
}

// Live begins a life as a member, whose calls go through hall. The function that it returns ends the waits of the
// script for others.
func (w *Member) Live(hall Hall) (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hall = hall
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w.cancel
}

// Found returns the vector with which the founders begin: that of the script of the first one. It returns when all of
// them have it.
func (w *Member) Found(ctx context.Context, founders []views.Member, self views.ID) ([]float32, error) {
	x := w.child.start
	patience, silence := max(w.plan.Grace, longestStart), max(w.plan.Grace, shortestSilence)
	if self == founders[0].ID {
		w.board.change(func() { w.board.start = x })
		late, cancel := context.WithTimeoutCause(ctx, patience, errLate)
		defer cancel()
		late, refused := context.WithCancelCause(late)
		defer refused(nil)
		gone := 0
		for _, m := range founders[1:] {
			go func() { // one with another model is refused
				_, err := w.persist(late, m, hall.Request{What: askHello}, 0, silence)
				if no, ok := errors.AsType[*handshake.RefusedError](err); ok {
					refused(no)
				} else if err != nil {
					w.board.change(func() { w.board.fetched[m.Key] = true; gone++ })
				}
			}()
		}
		_ = w.board.wait(late, func() bool { return len(w.board.fetched) >= len(founders)-1 }) // others go on without
		if no, ok := errors.AsType[*handshake.RefusedError](context.Cause(late)); ok {
			return nil, no
		}
		lost := 0
		w.board.change(func() { w.board.begun, lost = true, gone })
		if len(founders) > 2 && 2*lost >= len(founders) {
			return nil, fmt.Errorf("%d of the %d founders are gone before the run has begun: start it again", lost,
				len(founders))
		}
		return slices.Clone(x), ctx.Err() // others may still fetch x
	}
	late, cancel := context.WithTimeoutCause(ctx, patience, errLate)
	defer cancel()
	body, err := w.persist(late, founders[0], hall.Request{What: askStart}, 4*int64(len(x)), silence)
	if _, refused := errors.AsType[*handshake.RefusedError](err); err != nil && !refused && ctx.Err() == nil {
		err = fmt.Errorf("machine %s, whose script gives all founders their start, does not answer: start the run again: %w",
			founders[0].Name, err)
	}
	if err != nil {
		return nil, err
	}
	if len(body) != 4*len(x) {
		return nil, fmt.Errorf("the script of machine %s starts with %d elements, this one with %d", founders[0].Name,
			len(body)/4, len(x))
	}
	x = make([]float32, len(x))
	vec.ReadLE(x, body)
	_, err = w.persist(late, founders[0], hall.Request{What: askBegin}, 0, silence)
	if ctx.Err() == nil { // without the first one the others may still begin
		err = nil
	}
	return x, err
}

// errLate ends the wait for founders that do not come.
var errLate = errors.New("not all founders have the start in time")

// longestStart is how long the founders of a run wait at least for the vector with which all begin.
const longestStart = 2 * time.Minute

// shortestSilence is how long a founder may not be there, at least, before the others give it up.
const shortestSilence = 10 * time.Second

// again is the time between two tries to ask a member.
const again = 100 * time.Millisecond

// persist asks until there is an answer, ctx ends, or the member has not been there for a time, 0 for any.
func (w *Member) persist(ctx context.Context, who views.Member, r hall.Request, most int64, silence time.Duration) (
	[]byte, error) {
	r.To = who.ID
	for since := time.Now(); ; {
		began := time.Now()
		body, err := w.hall.Ask(ctx, who, r, most)
		if _, absent := errors.AsType[*hall.AbsentError](err); err == nil || absent {
			return body, err
		}
		if no, refused := errors.AsType[*handshake.RefusedError](err); refused && no.Permanent() {
			return nil, err
		}
		if time.Since(began) > w.plan.Grace { // it was there meanwhile
			since = time.Now()
		}
		if silence > 0 && time.Since(since) > silence {
			return nil, err
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Sees takes the place of the member in a view that it enters, with all views before it.
func (w *Member) Sees(p retrace.Place, every int) {
	var all []told
	for v := range p.View + 1 {
		r := p.Log.At(v)
		rank, member := r.Rank(p.ID)
		if !member {
			continue
		}
		t := told{View: bridge.View{View: v, Rank: int(rank), Size: len(r.Members), ID: int(p.ID), Why: r.Why,
			Round: r.First * every}, members: r.Members}
		for _, m := range r.Members {
			t.Members = append(t.Members, bridge.ViewMember{ID: int(m.ID), Name: m.Name})
		}
		all = append(all, t)
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	w.id, w.views = p.ID, all
	w.board.change(func() { w.board.id = p.ID })
}

// Hears takes a record of the log: calls wait for no member that it names as dead.
func (w *Member) Hears(r views.Record) {
	w.board.change(func() {
		for _, d := range r.Dead {
			w.board.dead[d.ID] = true
		}
	})
}

// now returns the view in which the member works.
func (w *Member) now() told {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.views[len(w.views)-1]
}

// enter tells the script the run, and the views that it has not heard of, before round k.
func (w *Member) enter(k int, x []float32) error {
	w.lock.Lock()
	all := w.views
	w.lock.Unlock()
	if w.script.finished || w.script.call != nil {
		return nil // it hears of them before its next turn
	}
	if len(all) == 0 {
		return errors.New("internal error: script: the member is in no view")
	}
	if !w.told.welcomed {
		v := all[len(all)-1]
		err := w.child.script.Welcome(bridge.Welcome{Run: w.plan.Run, Rank: v.Rank, Size: v.Size, Rounds: w.plan.Rounds,
			Round: k, Seed: w.plan.Seed}, x, nil)
		if err != nil {
			return err
		}
		w.told.welcomed, w.told.next = true, v.View.View
	}
	for _, v := range all {
		if v.View.View < w.told.next {
			continue
		}
		v.Round = k
		if err := bridge.Tell(w.child.script, v.View); err != nil {
			return err
		}
		w.told.next = v.View.View + 1
	}
	return nil
}

// Gradient is a work.Gradient: the script takes the local step of round k from x to some y, and g is x − y. A script
// that takes none leaves g at 0.
func (w *Member) Gradient(g []float32, k int, x []float32) (float32, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, now := &w.script, moment{k, x}
	late := time.AfterFunc(patience, func() { w.child.o.Log.Warn("the script has not taken its step yet", "round", k) })
	defer late.Stop()
	began := time.Now()
	w.board.newest.lend(now)
	defer w.board.newest.back()
	for {
		switch {
		case s.turn && s.round != k: // of an earlier life as a member: the step is dropped
			if s.call != nil {
				if err := w.answer(moment{s.round, x}, true); err != nil {
					return 0, err
				}
			}
		case s.finished:
			if more, err := w.glance(); err != nil || more {
				if err != nil {
					return 0, err
				}
				continue
			}
			clear(g)
			w.board.newest.copy(now)
			w.child.Late.stepped(k, 0)
			return s.loss, nil
		case s.call != nil:
			if err := w.answer(now, false); err != nil {
				return 0, err
			}
			continue
		case !s.turn:
			if err := w.give(now); err != nil {
				return 0, err
			}
		}
		stepped, err := w.await(w.ctx, now)
		if err != nil {
			return 0, err
		}
		if stepped && s.round == k {
			w.step(g, now, time.Since(began))
			return s.loss, nil
		}
	}
}

var _ work.Gradient = (*Member)(nil).Gradient

// give hands the vector of a round to the script. One that has ended meanwhile is no error: await finds it.
func (w *Member) give(now moment) error {
	err := w.enter(now.k, now.x)
	if err == nil {
		err = w.child.script.Go(now.k, now.x)
	}
	if err != nil && !errors.Is(err, bridge.ErrLeft) {
		return fate(err)
	}
	w.script.turn, w.script.round, w.script.calls = true, now.k, 0
	w.board.change(func() { w.board.round = now.k })
	return nil
}

// step takes in the local step of a round.
func (w *Member) step(g []float32, now moment, took time.Duration) {
	var y []float32
	w.script.loss, y = w.child.script.Direction(g, now.x)
	w.board.newest.set(moment{now.k + 1, y})
	spent := w.child.script.Spent()
	w.child.Late.stepped(now.k, spent.Out+spent.Back-w.script.spent)
	w.script.spent = spent.Out + spent.Back
}

// glance takes in what a script has done that takes no step, without waiting.
func (w *Member) glance() (more bool, err error) {
	if w.script.left {
		return false, nil
	}
	acts, gone := w.child.script.Acts()
	select {
	case act := <-acts:
		return true, w.took(act)
	default:
	}
	select {
	case <-gone:
		select {
		case act := <-acts: // came before the end
			return true, w.took(act)
		default:
		}
		return true, w.ended()
	default:
		return false, nil
	}
}

// await waits until the script does something, and takes it in. It reports a step. It fails when ctx ends, and takes in
// nothing after that: a step may be there already.
func (w *Member) await(ctx context.Context, now moment) (stepped bool, err error) {
	if ctx.Err() != nil {
		return false, errStopping
	}
	acts, gone := w.child.script.Acts()
	select {
	case act := <-acts:
		return act.Kind == bridge.Stepped, w.took(act)
	case <-gone:
		select {
		case act := <-acts:
			return act.Kind == bridge.Stepped, w.took(act)
		default:
		}
		return false, w.ended()
	case <-ctx.Done():
		return false, errStopping
	}
}

// ended takes in that the program has ended.
func (w *Member) ended() error {
	if err := w.child.script.Lost(); err != nil {
		return fate(err)
	}
	return w.took(bridge.Act{Kind: bridge.Leaving})
}

// Calls that a script cannot make where members come and go, and what to do instead.
const (
	noStop = "peer.stop ends a run for all, which a script cannot do where members come and go: leave the loop, and " +
		"this machine mixes without updates; Ctrl-C leaves the run, and peer stop ends it"
	noRefresh = "other parameters cannot begin to train where members come and go: a newcomer would not know them: " +
		"unfreeze them before join"
	noPause = "peer.leave lends a worker to another script, which does not work where members come and go: end the script"
)

// took takes in an act of the script.
func (w *Member) took(act bridge.Act) error {
	s := &w.script
	switch act.Kind {
	case bridge.Stepped:
		s.turn = false
	case bridge.Calling:
		if act.Request.Kind == "refresh" {
			return w.refuse(noRefresh)
		}
		s.call = &act
	case bridge.Stopping:
		return w.refuse(noStop)
	case bridge.Pausing:
		return w.refuse(noPause)
	case bridge.Finishing:
		s.turn, s.finished = false, true
	case bridge.Leaving:
		s.turn, s.finished, s.left = false, true, true
	}
	idle, left := s.finished, s.left
	w.board.change(func() { w.board.idle, w.board.left = idle, left })
	return nil
}

func (w *Member) refuse(why string) error {
	w.child.script.Refuse(why, "")
	return &Error{errors.New(why)}
}

// Finish tells the script that the run is over after k rounds, with the final vector x. It takes part in calls until
// the script has ended, and those of the others. It returns the loss and the accuracy that the script has told of x,
// NaN if none. When ctx ends, the script is interrupted.
func (w *Member) Finish(ctx context.Context, k int, x []float32) (loss, accuracy float64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, now := w.child, moment{k, x}
	end := bridge.End{Why: bridge.Finished, Round: k, Message: fmt.Sprintf("all %d rounds are done", k)}
	if k < w.plan.Rounds {
		end.Why, end.Message = bridge.Stopped, fmt.Sprintf("the run was stopped after %d rounds", k)
	}
	w.plan.Rounds = k
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.hurry(turnover) })()
	w.ctx, w.cancel = context.WithCancel(ctx)
	defer w.cancel()
	w.board.newest.set(now)
	err = w.say(end, x)
	w.script.round, w.script.calls = k, 0
	idle := w.script.finished
	w.board.change(func() {
		if w.board.last, w.board.final = k, x; !idle {
			w.board.round = k // it has passed all rounds before
		}
	})
	for err == nil && !w.script.left {
		if w.script.call != nil {
			err = w.answer(now, false)
		} else {
			_, err = w.await(w.ctx, now)
		}
	}
	if err == nil {
		w.farewell()
	}
	return c.outcome(ctx, k, err)
}

// say tells the script the end of its rounds.
func (w *Member) say(end bridge.End, x []float32) error {
	if w.script.left {
		return nil
	}
	err := w.enter(end.Round, x)
	if err == nil {
		err = w.child.script.End(end, x)
	}
	if err != nil && !errors.Is(err, bridge.ErrLeft) {
		return fate(err)
	}
	return nil
}

// Leave ends the script of a machine that leaves the run after that many rounds, with vector x, nil if it has none. The
// script hears why. It may save what it has, and is killed if it takes longer than bridge.DefaultGrace after an
// interrupt.
func (w *Member) Leave(why string, rounds int, x []float32) {
	w.cancel()
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.child
	defer c.Close()
	defer w.board.change(func() { w.board.idle, w.board.left = true, true })
	if x == nil || w.script.left {
		c.script.Refuse(why, "")
		return
	}
	defer c.hurry(bridge.LastStep)()
	ctx, cancel := context.WithTimeout(context.Background(), bridge.LastStep)
	defer cancel()
	now := moment{rounds, x}
	for w.script.turn && w.script.call == nil { // the step under way ends
		if _, err := w.await(ctx, now); err != nil {
			break
		}
	}
	if err := w.say(bridge.End{Why: bridge.Interrupted, Round: rounds, Message: why, Cut: true}, x); err == nil {
		for !w.script.left && w.script.call == nil {
			if _, err := w.await(ctx, now); err != nil {
				break
			}
		}
	}
	c.script.Interrupt()
	_ = c.script.Wait() // the machine's own end counts
}
