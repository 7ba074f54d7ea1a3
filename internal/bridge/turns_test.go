package bridge

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"gossiptrainer/internal/witness"
)

// at returns the state of a conversation in a phase, with a vector of ten elements and round 5 as the last.
func at(p phase, memory Memory) turns {
	return turns{phase: p, memory: memory, length: 40, round: 5, done: 5}
}

func TestMessagesComeInTurn(t *testing.T) {
	phases := []phase{joining, sending, joined, welcomed, computing, mixing, collecting, ended, resting, paused, left}
	any := []phase{joined, welcomed, computing, mixing, collecting, ended, resting, paused}
	allowed := map[Kind][]phase{
		KindHello:   {joining},
		KindStart:   {sending},
		KindStep:    {computing},
		KindCollect: {computing, ended, resting},
		KindFinish:  {computing, ended},
		KindStop:    {computing},
		KindPause:   {computing, paused},
		KindLog:     any,
		KindScore:   any,
		KindBye:     any,
		KindError:   append([]phase{joining, sending}, any...),
	}
	for kind := KindHello; kind.Valid(); kind++ {
		for _, p := range phases {
			h := Header{Kind: kind, Round: 5}
			switch kind {
			case KindCollect:
				h.Round, h.Length = 1, 40
			case KindStart, KindStep:
				h.Length = 40
			}
			state := at(p, Frames)
			err := state.hear(h)
			if want := slices.Contains(allowed[kind], p); (err == nil) != want {
				t.Errorf("%v %v: %v, allowed: %v", kind, p, err, want)
			}
		}
	}
}

func TestMessagesOfTheWrongRoundOrLength(t *testing.T) {
	owing := at(computing, Memfd)
	owing.owes = true
	for _, test := range []struct {
		state turns
		h     Header
		want  string
	}{
		{at(computing, Memfd), Header{Kind: KindStep, Round: 5}, ""},
		{at(computing, Memfd), Header{Kind: KindStep, Round: 5, Length: 40}, "with memory \"memfd\" it has 0"},
		{at(computing, Frames), Header{Kind: KindStep, Round: 5, Length: 36}, "with memory \"frames\" it has 40"},
		{at(computing, Memfd), Header{Kind: KindStep, Round: 6}, "the peer said GO 5"},
		{at(computing, Memfd), Header{Kind: KindStep, Round: 5, Flags: 1}, "a script sets none"},
		{at(ended, Memfd), Header{Kind: KindStep, Round: 5}, "leave the loop when peer.done"},
		{owing, Header{Kind: KindStep, Round: 5}, "the STATE that the peer asked for before round 5 comes first"},
		{owing, Header{Kind: KindFinish, Round: 5}, "comes first"},
		{owing, Header{Kind: KindState, Round: 5, Length: 9}, ""},
		{owing, Header{Kind: KindState, Round: 4}, "asked for the state before round 5"},
		{owing, Header{Kind: KindState, Round: 5, Length: maxState + 1}, "at most"},
		{at(computing, Memfd), Header{Kind: KindState, Round: 5}, "has not asked"},
		{at(computing, Memfd), Header{Kind: KindCollect, Round: 0}, ""},
		{at(computing, Memfd), Header{Kind: KindCollect, Round: 7, Length: maxCall + 1}, "at most"},
		{at(computing, Memfd), Header{Kind: KindFinish, Round: 5, Length: 1}, "at most"},
		{at(computing, Memfd), Header{Kind: KindLog, Round: 5, Length: maxNote}, ""},
		{at(computing, Memfd), Header{Kind: KindLog, Round: 6}, "has not said GO 6"},
		{at(computing, Memfd), Header{Kind: KindLog, Round: 5, Length: maxNote + 1}, "at most"},
		{at(joining, ""), Header{Kind: KindHello, Length: maxHello + 1}, "at most"},
		{at(sending, Frames), Header{Kind: KindStart, Length: 44}, "it has 40"},
	} {
		err := test.state.hear(test.h)
		if (test.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want %q", test.h, err, test.want)
		}
	}
}

func TestThePeerSpeaksInTurn(t *testing.T) {
	state := turns{}
	say := func(kind Kind, round int, flags uint32, want bool) {
		t.Helper()
		if err := state.say(kind, round, flags); (err == nil) != want {
			t.Fatalf("%v %d: %v", kind, round, err)
		}
	}
	hear := func(h Header) {
		t.Helper()
		if err := state.hear(h); err != nil {
			t.Fatal(err)
		}
	}
	say(KindWelcome, 2, 0, false)
	hear(Header{Kind: KindHello})
	state.greeted(Hello{Memory: Memfd, Outline: Outline{Elements: 10}})
	say(KindGo, 2, 0, false)
	say(KindWelcome, 2, FlagState, true)
	say(KindGo, 2, 0, true)
	say(KindGo, 3, 0, false)
	say(KindResult, 1, 0, false)
	hear(Header{Kind: KindCollect, Round: 1})
	say(KindGo, 3, 0, false)
	say(KindResult, 1, 0, true)
	hear(Header{Kind: KindStep, Round: 2})
	if state.done != 3 {
		t.Errorf("%d rounds are over, want 3", state.done)
	}
	say(KindEnd, 3, FlagState, true)
	hear(Header{Kind: KindState, Round: 3})
	hear(Header{Kind: KindCollect, Round: 2})
	say(KindState, 9, 0, false) // the vector is the script's for good
	hear(Header{Kind: KindBye})
	say(KindResult, 2, 0, false)
}

// A peer may wish for the state of a script that waits, which may come after the result.
func TestTheStateOfAScriptThatWaits(t *testing.T) {
	state := at(computing, Memfd)
	steps := []func() error{
		func() error { return state.hear(Header{Kind: KindCollect, Round: 1}) },
		func() error { return state.say(KindState, 7, 0) },
		func() error { return state.say(KindResult, 1, 0) },
		func() error { state.moved(); return state.say(KindGo, 9, 0) },
		func() error { return state.hear(Header{Kind: KindState, Round: 7}) },
		func() error { return state.hear(Header{Kind: KindStep, Round: 9}) },
	}
	for i, step := range steps {
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	if err := state.hear(Header{Kind: KindState, Round: 7}); err == nil {
		t.Error("a second state is heard")
	}
}

func TestOutlinesAreChecked(t *testing.T) {
	for want, change := range map[string]func(*Outline){
		"":                        func(*Outline) {},
		"0 elements":              func(o *Outline) { o.Elements = 0 },
		"-1 exact elements":       func(o *Outline) { o.Exact = -1 },
		"8 exact elements of 7":   func(o *Outline) { o.Exact = 8 },
		"begins inside a tensor":  func(o *Outline) { o.Exact = 1 },
		"have 5 elements":         func(o *Outline) { o.Tensors = o.Tensors[:2] },
		"with it the tensors":     func(o *Outline) { o.Tensors[2].Shape[0] = 3 },
		"one of this name":        func(o *Outline) { o.Tensors[1].Name = "w" },
		"a name has 1 to":         func(o *Outline) { o.Tensors[1].Name = "" },
		"dtype":                   func(o *Outline) { o.Tensors[1].Dtype = "" },
		"dimension -1":            func(o *Outline) { o.Tensors[0].Shape[0] = -1 },
		"more than":               func(o *Outline) { o.Tensors[0].Shape = []int{maxElements, maxElements, 0} },
		"65 dimensions":           func(o *Outline) { o.Tensors[0].Shape = make([]int, 65) },
		"tensor 1, \"\\xff\": a ": func(o *Outline) { o.Tensors[1].Name = "\xff" },
	} {
		o := outline()
		change(&o)
		if err := o.Check(); (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestLinesOfOutput(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	for _, test := range []struct {
		parts []string
		want  string
	}{
		{[]string{"a\nb\n"}, "[7] a\n[7] b\n"},
		{[]string{"a", "b\n", "", "c"}, "[7] ab\n[7] c\n"},
		{[]string{"\n\n"}, "[7] \n[7] \n"},
		{[]string{"a\r\n"}, "[7] a\n"},
		{[]string{"10%\r", "20%\r30%", "\n"}, "[7] 30%\n"},
		{[]string{"10%\r"}, "[7] 10%\n"},
		{[]string{long, "\n"}, "[7] " + long + "\n"},
		{[]string{long + "yz\n", "a\n"}, "[7] " + long + "... (65538 bytes)\n[7] a\n"},
		{[]string{"10%\r" + long, "y\n"}, "[7] " + long + "... (65537 bytes)\n"},
		{[]string{"\r10%", "\r", "\r20%", "\r"}, "[7] 20%\n"},
		{[]string{long + "y\r", "10%\n"}, "[7] 10%\n"},
		{[]string{strings.Repeat("10%\r", maxLine), "done\n"}, "[7] done\n"},
		{nil, ""},
	} {
		var out witness.Page
		l := newLines(&out, "[7] ", new(sync.Mutex))
		for _, part := range test.parts {
			if n, err := io.WriteString(l, part); n != len(part) || err != nil {
				t.Fatalf("%d bytes, %v", n, err)
			}
		}
		l.end()
		if out.String() != test.want {
			t.Errorf("%.40q: %.80q, want %.80q", test.parts, out.String(), test.want)
		}
	}
	l := newLines(broken{}, "", new(sync.Mutex))
	for range 3 {
		if n, err := io.WriteString(l, "line\n"); n != 5 || err != nil {
			t.Errorf("a lost terminal stops the script: %d bytes, %v", n, err)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("gone") }

// FuzzConversation feeds bytes to the reader of messages and the state machine: they never panic, and what they
// accept obeys the limits.
func FuzzConversation(f *testing.F) {
	hello := message(KindHello, 0, Hello{Version, "test", Frames, outline()})
	f.Add(hello, "HELLO")
	f.Add(message(KindError, 0, Failure{"a", "b"}), "")
	f.Add(append(slices.Clone(hello), hello...), "x")
	f.Fuzz(func(t *testing.T, text []byte, line string) {
		h, err := ParseHeader(text)
		if err == nil {
			var again [HeaderLen]byte
			if h.Put(again[:]); !slices.Equal(again[:], text[:HeaderLen]) {
				t.Fatalf("%+v does not give its bytes back", h)
			}
			var state turns
			if state.hear(h) == nil && h.Kind != KindHello && h.Kind != KindError {
				t.Fatalf("%v comes first", h.Kind)
			}
			var hello Hello
			if strict(h.Kind, text[HeaderLen:], &hello) == nil && hello.Check() == nil {
				state.greeted(hello)
				if state.length != 4*uint64(hello.Elements) {
					t.Fatalf("%d elements, %d bytes", hello.Elements, state.length)
				}
				if back, err := json.Marshal(hello); err != nil || strict(KindHello, back, &hello) != nil {
					t.Fatalf("%s: %v", back, err)
				}
			}
		}
		var out witness.Page
		l := newLines(&out, "[0] ", new(sync.Mutex))
		_, _ = io.WriteString(l, line)
		l.end()
		for passed := range strings.Lines(out.String()) {
			if !strings.HasPrefix(passed, "[0] ") || !strings.HasSuffix(passed, "\n") {
				t.Fatalf("line %q", passed)
			}
		}
	})
}

// Views come between two turns of a script that takes them. They begin no turn.
func TestViewsComeBetweenTurns(t *testing.T) {
	state := turns{phase: joined, memory: Memfd}
	if err := state.say(KindWelcome, 7, 0); err != nil {
		t.Fatal(err)
	}
	if err := state.say(KindView, 7, 0); err == nil || !strings.Contains(err.Error(), "has not said in HELLO") {
		t.Errorf("a script that takes no views: error %v", err)
	}
	for _, p := range []phase{joined, welcomed, computing, mixing, collecting, ended, resting, paused, left} {
		state := at(p, Memfd)
		state.views = true
		err := state.say(KindView, 9, 0)
		if want := p == welcomed || p == mixing; (err == nil) != want {
			t.Errorf("VIEW %v: error %v", p, err)
		}
		if state.phase != p || state.round != 5 {
			t.Errorf("VIEW %v: phase %v, round %d", p, state.phase, state.round)
		}
	}
}
