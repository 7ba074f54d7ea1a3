package bridge

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gossiptrainer/gossip/pace"
)

// Version is the version of the protocol. Both sides name theirs, and either refuses another.
const Version = 2

// HeaderLen is the length of a message's header in bytes.
const HeaderLen = 24

// A Kind says what a message is.
type Kind uint32

// The kinds of messages.
const (
	KindHello   Kind = 1 + iota // script: its outline, a JSON Hello
	KindWelcome                 // peer: the run, a JSON Welcome
	KindGo                      // peer: the region holds x of the round
	KindEnd                     // peer: no further round, a JSON End
	KindStep                    // script: the region holds x after the local update
	KindLog                     // script: named values of a round, a JSON Values
	KindScore                   // script: an evaluation, a JSON Values
	KindState                   // both: a blob
	KindCollect                 // script: its part of a collective call, a JSON Request and bytes
	KindResult                  // peer: the result of the call, a JSON Result and bytes
	KindBye                     // script: it ends well
	KindError                   // both: why the sender ends, a JSON Failure
	KindStart                   // script, frames only: the script's own start vector
	KindVector                  // peer, frames only: the vector of the Welcome or End that follows
	KindFinish                  // script: it takes no further step, and keeps the vector
	KindStop                    // script: it stops the run, a JSON stop, and gives its turn back
	KindPause                   // script: it gives its turn back for now; again: it wants one
	KindView                    // peer: who takes part from the next GO on, a JSON View
)

var kindNames = [...]string{"", "HELLO", "WELCOME", "GO", "END", "STEP", "LOG", "SCORE", "STATE", "COLLECT", "RESULT",
	"BYE", "ERROR", "START", "VECTOR", "FINISH", "STOP", "PAUSE", "VIEW"}

// Valid reports whether k is a kind of the protocol.
func (k Kind) Valid() bool { return k >= KindHello && k <= KindView }

func (k Kind) String() string {
	if !k.Valid() {
		return "kind " + strconv.FormatUint(uint64(k), 10)
	}
	return kindNames[k]
}

// FlagState on a GO or END asks for a STATE of the round. On a WELCOME it announces one.
const FlagState uint32 = 1

// Limits of bodies that hold no vector, in bytes.
const (
	maxHello = 64 << 20
	maxNote  = 64 << 10 // of a LOG, SCORE, BYE or ERROR
	maxState = 16 << 30
	maxCall  = 16 << 30 // of a COLLECT
	maxText  = 64 << 10 // of the JSON text in it
	maxSum   = 128      // of views in a HELLO
)

// A Header is the fixed part of a message. Numbers are little-endian.
type Header struct {
	Kind   Kind
	Flags  uint32
	Round  uint64
	Length uint64 // of the body, in bytes
}

// Put writes the header to the first HeaderLen bytes of b.
func (h Header) Put(b []byte) {
	_ = b[:HeaderLen]
	binary.LittleEndian.PutUint32(b, uint32(h.Kind))
	binary.LittleEndian.PutUint32(b[4:], h.Flags)
	binary.LittleEndian.PutUint64(b[8:], h.Round)
	binary.LittleEndian.PutUint64(b[16:], h.Length)
}

// ParseHeader reads a header from the first HeaderLen bytes of b. Its kind is valid and its flags are known. A reader
// compares the length with the limit of the kind.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderLen {
		return Header{}, fmt.Errorf("a header of %d bytes: want %d", len(b), HeaderLen)
	}
	h := Header{
		Kind:   Kind(binary.LittleEndian.Uint32(b)),
		Flags:  binary.LittleEndian.Uint32(b[4:]),
		Round:  binary.LittleEndian.Uint64(b[8:]),
		Length: binary.LittleEndian.Uint64(b[16:]),
	}
	if !h.Kind.Valid() {
		return Header{}, fmt.Errorf("%v is no kind of message of version %d", h.Kind, Version)
	}
	if h.Flags&^FlagState != 0 {
		return Header{}, fmt.Errorf("%v with flags %#x: version %d knows only %#x", h.Kind, h.Flags, Version, FlagState)
	}
	return h, nil
}

// A Memory says how vectors travel.
type Memory string

// The two ways.
const (
	Memfd  Memory = "memfd"  // in a region that both map
	Frames Memory = "frames" // as bodies of messages
)

// A Hello is the body of a HELLO.
type Hello struct {
	Version int    `json:"version"`
	Client  string `json:"client"` // the program that speaks, for instance gossip.py
	Memory  Memory `json:"memory"`
	Outline
}

// A follower is the body of the HELLO of a script that takes VIEW messages.
type follower struct {
	Hello
	Views string `json:"views,omitempty"` // a hash of all that is equal on all workers and does not travel
}

// A Welcome is the body of a WELCOME.
type Welcome struct {
	Version     int    `json:"version"`
	Run         string `json:"run"` // its name
	Rank        int    `json:"rank"`
	Size        int    `json:"size"`   // workers of the run
	Rounds      int    `json:"rounds"` // of the whole run; 0: the scripts decide
	Round       int    `json:"round"`  // first round that the script will take
	Seed        uint64 `json:"seed"`
	Checkpoints bool   `json:"checkpoints"` // the peer may ask for STATE
	Finished    bool   `json:"finished"`    // an earlier process of the script has said FINISH
}

// A View is the body of a VIEW: who takes part from a round on. The header has that round.
type View struct {
	View    int          `json:"view"` // its number
	Rank    int          `json:"rank"`
	Size    int          `json:"size"` // members
	ID      int          `json:"id"`   // of this member, for good
	Members []ViewMember `json:"members"`
	Why     string       `json:"why"` // of the change; "" for the founders
	Round   int          `json:"-"`
}

// A ViewMember is a member by its id, with the name of its machine.
type ViewMember struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

// A Reason says why a run ended.
type Reason string

// The reasons.
const (
	Finished    Reason = "finished"    // all rounds are done
	Target      Reason = "target"      // the run has reached its target
	Interrupted Reason = "interrupted" // the user stopped the run
	Stopped     Reason = "stopped"     // a script stopped the run, or it failed: Message says why
)

// An End is the body of an END. The header has Round, the number of rounds that are done.
type End struct {
	Why     Reason `json:"why"`
	Message string `json:"message"`
	Cut     bool   `json:"cut,omitempty"` // no RESULT follows, if the script waits for one
	Round   int    `json:"-"`
}

// A stop is the body of a STOP.
type stop struct {
	Why string `json:"why"`
}

// check returns an error if the text is empty, too long or no line.
func (s stop) check() error {
	control := strings.ContainsFunc(s.Why, unicode.IsControl) || !utf8.ValidString(s.Why)
	if s.Why == "" || len(s.Why) > pace.MaxStop || control {
		return fmt.Errorf("STOP: why is %q: want a line of 1 to %d bytes", s.Why, pace.MaxStop)
	}
	return nil
}

// Values is the body of a LOG or SCORE: numbers by name. One that is not finite is null.
type Values struct {
	Values map[string]*float64 `json:"values"`
}

// Bounds of Values.
const (
	maxValues = 64 // names
	maxValue  = 64 // bytes of a name
)

// Check returns an error if there are too many values, or a name is too long.
func (v Values) Check() error {
	if len(v.Values) < 1 || len(v.Values) > maxValues {
		return fmt.Errorf("%d values: want 1 to %d", len(v.Values), maxValues)
	}
	for name := range v.Values {
		if name == "" || len(name) > maxValue || !utf8.ValidString(name) {
			return fmt.Errorf("value %q: a name has 1 to %d bytes of UTF-8", name, maxValue)
		}
	}
	return nil
}

// A Request is the text of a COLLECT.
type Request struct {
	Kind pace.Kind `json:"kind"`
	Op   string    `json:"op,omitempty"`   // of a reduce: mean, sum, min or max
	Root int       `json:"root,omitempty"` // of a broadcast
	// Ranks are the workers of a mean, in ascending order; none: all.
	Ranks   []int   `json:"ranks,omitempty"`
	Seconds float64 `json:"seconds,omitempty"` // of a Newest: how long it may take
}

// Newest is the kind of a call that waits for no other worker: the mean of the newest models. Its number is 0.
const Newest pace.Kind = "newest"

// mostSeconds bounds the time of a Newest.
const mostSeconds = 600

// MaxReduced is the largest number of values of a reduce.
const MaxReduced = 8192

// ops are the operations of a reduce.
var ops = []string{"mean", "sum", "min", "max"}

// Check returns an error if the request and its bytes do not make up a call. Self is the rank of the script.
func (r Request) Check(self, size int, raw []byte) error {
	switch {
	case !r.Kind.Valid() && r.Kind != Newest:
		return fmt.Errorf("no such call: %q", r.Kind)
	case r.Kind == pace.Reduce && !slices.Contains(ops, r.Op):
		return fmt.Errorf("reduce by %q: want one of %s", r.Op, strings.Join(ops, ", "))
	case r.Kind == pace.Reduce && (len(raw)%8 != 0 || len(raw) == 0 || len(raw) > 8*MaxReduced):
		return fmt.Errorf("reduce of %d bytes: want 1 to %d values of 8 bytes", len(raw), MaxReduced)
	case r.Kind == pace.Broadcast && (r.Root < 0 || r.Root >= size):
		return fmt.Errorf("broadcast from %d: want a rank below %d", r.Root, size)
	case r.Kind != pace.Reduce && r.Op != "" || r.Kind != pace.Broadcast && r.Root != 0:
		return fmt.Errorf("%s with an op or a root", r.Kind)
	case r.Kind == pace.Refresh:
		_, _, err := ReadRefresh(raw)
		return err
	case len(raw) > 0 && r.Kind != pace.Reduce && (r.Kind != pace.Broadcast || r.Root != self):
		return fmt.Errorf("%s with %d bytes", r.Kind, len(raw))
	}
	return r.checkMean(size)
}

// checkMean checks what only means have.
func (r Request) checkMean(size int) error {
	switch {
	case !pace.Ascending(r.Ranks, size):
		return fmt.Errorf("%s of workers %v: want ranks below %d in ascending order", r.Kind, r.Ranks, size)
	case len(r.Ranks) > 0 && r.Kind != pace.Mean && r.Kind != Newest:
		return fmt.Errorf("%s of workers %v: only means have some", r.Kind, r.Ranks)
	case r.Kind == Newest && !(r.Seconds > 0 && r.Seconds <= mostSeconds):
		return fmt.Errorf("newest in %v seconds: want up to %d", r.Seconds, mostSeconds)
	case r.Kind != Newest && r.Seconds != 0:
		return fmt.Errorf("%s with seconds", r.Kind)
	}
	return nil
}

// A Result is the text of a RESULT.
type Result struct {
	Kind  pace.Kind `json:"kind"`
	Round int       `json:"round"` // rounds that were done when all had called
	Moved bool      `json:"moved"` // the run went on meanwhile: a GO or END of Round follows
	// From is the round, after a refresh, whose GO or END first hands over the vector of the new outline.
	From int `json:"from,omitempty"`
	// Of a Newest: the rounds of the models in the mean, and why others are not in it, by rank.
	Rounds  map[int]int    `json:"rounds,omitempty"`
	Missing map[int]string `json:"missing,omitempty"`
}

// A Failure is the body of an ERROR.
type Failure struct {
	Message string `json:"message"` // what went wrong
	Hint    string `json:"hint"`    // what to do; may be empty
}

// AppendMessage appends a message with a JSON body to b.
func AppendMessage(b []byte, kind Kind, round int, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", kind, err)
	}
	var head [HeaderLen]byte
	Header{Kind: kind, Round: uint64(round), Length: uint64(len(text))}.Put(head[:])
	return append(append(b, head[:]...), text...), nil
}

// ReadRefresh reads the bytes of a refresh. They are the length of an outline as u32, the outline as JSON, and values
// as binary32: those of the tensors that are new in it, in its order.
func ReadRefresh(raw []byte) (o Outline, fresh []byte, err error) {
	if len(raw) < 4 || uint64(binary.LittleEndian.Uint32(raw)) > uint64(len(raw)-4) {
		return o, nil, fmt.Errorf("refresh of %d bytes, without an outline", len(raw))
	}
	end := 4 + binary.LittleEndian.Uint32(raw)
	if fresh = raw[end:]; len(fresh)%4 != 0 {
		return o, nil, fmt.Errorf("refresh with values of %d bytes", len(fresh))
	}
	if err := strict(KindCollect, raw[4:end], &o); err != nil {
		return o, nil, err
	}
	return o, fresh, o.Check()
}

// strict reads the JSON of a message. Unknown keys are errors.
func strict(kind Kind, text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%v: %w", kind, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%v: something follows its JSON value", kind)
	}
	return nil
}
