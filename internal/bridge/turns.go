package bridge

import (
	"errors"
	"fmt"
)

// A phase is whose turn it is, and what the other side may say.
type phase int

const (
	joining    phase = iota // the script has not said HELLO
	sending                 // HELLO is there, START is still to come
	joined                  // the peer prepares the run
	welcomed                // the peer prepares the first round
	computing               // the script owns the region, until STEP
	mixing                  // the peer owns the region, until the next GO or END
	collecting              // the script waits for RESULT
	ended                   // the script owns the region; no round follows
	resting                 // the script has said FINISH, and owns the region for good
	paused                  // the script has given its turn back, and may want another
	left                    // the script has said BYE or ERROR
)

var phaseNames = [...]string{"before HELLO", "before START", "before WELCOME", "before the first GO", "during a round",
	"after STEP", "during COLLECT", "after END", "after FINISH", "after PAUSE", "after BYE or ERROR"}

func (p phase) String() string { return phaseNames[p] }

// Turns is the state machine of a conversation, as the peer sees it. It holds no vector and does no input or output.
type turns struct {
	phase  phase
	before phase  // the phase to which RESULT returns
	memory Memory // known from HELLO on
	views  bool   // the script takes VIEW
	length uint64 // bytes of a vector
	round  uint64 // of the last GO, or of END
	done   uint64 // rounds that are over: STEP is there, or the run began after them
	over   bool   // the peer has said END
	owes   bool   // the script: a STATE of the round
	wished bool   // the peer asked a script that waits for a STATE, which may come after the RESULT
	wish   uint64 // its round
	calls  uint64 // of COLLECT
	number uint64 // of the call in which the script waits; 0 for a Newest
}

// hear admits a message of the script, or says why it may not come now. Its body is still to be read.
func (t *turns) hear(h Header) error {
	if h.Flags != 0 {
		return fmt.Errorf("%v with flags %#x: a script sets none", h.Kind, h.Flags)
	}
	switch h.Kind {
	case KindHello, KindStart:
		return t.hearJoin(h)
	case KindStep, KindCollect, KindState, KindFinish, KindStop, KindPause:
		return t.hearTurn(h)
	case KindLog, KindScore, KindBye, KindError:
		return t.hearNote(h)
	default:
		return fmt.Errorf("%v from a script: only the peer says it", h.Kind)
	}
}

func (t *turns) hearJoin(h Header) error {
	switch {
	case h.Kind == KindHello && t.phase == joining:
		return atMost(h, maxHello)
	case h.Kind == KindStart && t.phase == sending:
		t.phase = joined
		return t.vector(h)
	}
	return t.outOfTurn(h)
}

// greeted says what the HELLO held.
func (t *turns) greeted(h Hello) {
	t.memory, t.length, t.phase = h.Memory, 4*uint64(h.Elements), joined
	if h.Memory == Frames {
		t.phase = sending
	}
}

func (t *turns) hearTurn(h Header) error {
	if h.Kind == KindState && t.wished && h.Round == t.wish {
		t.wished = false
		return atMost(h, maxState)
	}
	if h.Kind == KindPause && t.phase == paused {
		t.phase = mixing
		return atMost(h, 0)
	}
	if t.phase != computing && t.phase != ended && (t.phase != resting || h.Kind != KindCollect) {
		return t.outOfTurn(h)
	}
	switch {
	case h.Kind == KindState && !t.owes:
		return fmt.Errorf("STATE %d: the peer has not asked for it", h.Round)
	case h.Kind == KindState && h.Round != t.round:
		return fmt.Errorf("STATE %d: the peer has asked for the state before round %d", h.Round, t.round)
	case h.Kind == KindState:
		t.owes = false
		return atMost(h, maxState)
	case t.owes:
		return fmt.Errorf("%v %d: the STATE that the peer asked for before round %d comes first", h.Kind, h.Round, t.round)
	case h.Kind == KindCollect && h.Round != 0 && t.calls > 0 && h.Round != t.calls+1:
		return fmt.Errorf("COLLECT %d: the next call is number %d", h.Round, t.calls+1)
	case h.Kind == KindCollect:
		if t.number = h.Round; h.Round != 0 {
			t.calls = h.Round
		}
		t.phase, t.before = collecting, t.phase
		return atMost(h, maxCall)
	case h.Kind == KindFinish:
		t.phase = resting
		return atMost(h, 0)
	case t.phase == ended:
		return fmt.Errorf("%v %d %v: no round follows: leave the loop when peer.done", h.Kind, h.Round, t.phase)
	case h.Round != t.round:
		return fmt.Errorf("%v %d: the peer said GO %d", h.Kind, h.Round, t.round)
	case h.Kind == KindStop:
		t.phase = mixing
		return atMost(h, maxNote)
	case h.Kind == KindPause:
		t.phase = paused
		return atMost(h, 0)
	}
	t.phase, t.done = mixing, t.round+1
	return t.vector(h)
}

func (t *turns) hearNote(h Header) error {
	early := t.phase < joined && h.Kind != KindError
	if early || t.phase == left {
		return t.outOfTurn(h)
	}
	if h.Kind == KindLog && h.Round > t.round {
		return fmt.Errorf("LOG %d: the peer has not said GO %d yet", h.Round, h.Round)
	}
	if h.Kind == KindBye || h.Kind == KindError {
		t.phase = left
	}
	return atMost(h, maxNote)
}

// say has the peer's own turn end with a message, or says why it is not the peer's turn.
func (t *turns) say(kind Kind, round int, flags uint32) error {
	next, allowed := t.phase, false
	switch kind {
	case KindWelcome:
		next, allowed = welcomed, t.phase == joined
		t.round, t.done = uint64(round), uint64(round)
	case KindGo:
		next, allowed = computing, t.phase == welcomed || t.phase == mixing
	case KindEnd:
		next, allowed = ended, t.phase == welcomed || t.phase == mixing || t.phase == paused ||
			t.phase == collecting && t.before != resting
		if t.phase == resting || t.phase == collecting && t.before == resting {
			next, allowed = t.phase, true
		}
	case KindResult:
		next, allowed = t.before, t.phase == collecting
	case KindState:
		allowed = t.phase == collecting && t.before == computing && !t.wished
	case KindView:
		if !t.views {
			return errors.New("VIEW: the script has not said in HELLO that it takes it")
		}
		allowed = t.phase == welcomed || t.phase == mixing
	}
	if !allowed {
		return fmt.Errorf("%v %v: it is not the peer's turn", kind, t.phase)
	}
	t.phase, t.over = next, t.over || kind == KindEnd
	if kind == KindGo || kind == KindEnd && next == ended {
		t.done = max(t.done, uint64(round))
	}
	if kind == KindState {
		t.wish, t.wished = uint64(round), true
	} else if kind != KindResult && kind != KindView && next != resting {
		t.round, t.owes = uint64(round), kind != KindWelcome && flags&FlagState != 0
	}
	return nil
}

// cut ends the call in which the script waits, if it does. It does not count.
func (t *turns) cut() {
	if t.phase != collecting {
		return
	}
	if t.number != 0 {
		t.calls--
	}
	if t.phase = t.before; t.phase == computing {
		t.phase = mixing
	}
}

// moved has a GO or END follow the RESULT that was said.
func (t *turns) moved() { t.phase = mixing }

// keeps reports whether the script has said FINISH, and so keeps the vector.
func (t *turns) keeps() bool {
	return t.phase == resting || t.phase == collecting && t.before == resting
}

// vector checks the length of a message that hands a vector over.
func (t *turns) vector(h Header) error {
	want := uint64(0)
	if t.memory == Frames {
		want = t.length
	}
	if h.Length != want {
		return fmt.Errorf("%v %d with a body of %d bytes: with memory %q it has %d", h.Kind, h.Round, h.Length, t.memory,
			want)
	}
	return nil
}

func (t *turns) outOfTurn(h Header) error {
	return fmt.Errorf("%v %d %v: it may not come now", h.Kind, h.Round, t.phase)
}

func atMost(h Header, limit uint64) error {
	if h.Length > limit {
		return fmt.Errorf("%v with a body of %d bytes: at most %d", h.Kind, h.Length, limit)
	}
	return nil
}
