package bridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Script is a running program that provides the update directions of one worker. One goroutine at a time calls
// Hello, Welcome, Go, Direction, Answer and End. The other methods may be called from any goroutine. Wait follows
// every Start; where the run fails, Kill or Interrupt comes before it.
type Script struct {
	options Options
	child   *child
	ear     *ear
	forget  func() bool // stops listening to the end of the context

	joined chan struct{} // closed when the outline and the start are there
	acts   chan Act      // what the script did in its turn
	stated chan struct{} // one STATE
	hungUp chan struct{} // closed when no further message comes
	gone   chan struct{} // closed when lost is final

	lock  sync.Mutex
	turns turns
	conn  *conn // nil before the script calls
	greeting
	news
	clock clock
}

// A clock is how long rounds took, and when the script got the vector.
type clock struct {
	spent Spent
	out   time.Time
}

// A part is the script's part in the run, from WELCOME on.
type part struct {
	begun              bool
	rounds, rank, size int
}

// A greeting is the part of a Script's state that HELLO sets.
type greeting struct {
	outline Outline
	region  *region
	same    string // views of the HELLO
}

// NoLoss stands for the loss of a script that has logged none.
var NoLoss = float32(math.NaN())

// News is the part of a Script's state that messages and the end change.
type news struct {
	loss    float32 // the newest; NaN: none
	blobs   blobs
	part    part
	raised  Failure // the script's ERROR
	refused error   // the peer's reason to end the conversation
	lost    error   // the error of calls that still wait
}

// blobs are the states that the script gave.
type blobs struct {
	newest  blob
	waiting []byte // of the call in which the script waits; nil: not known
	save    int    // the round before which a STATE is due; −1: none
}

// keep takes the state before round k, or at the call in which the script waits. That one is also the state before
// later rounds of the call.
func (b *blobs) keep(k int, data []byte, waits bool) {
	if waits {
		b.waiting, k = data, max(k, b.save)
	}
	b.newest = blob{k, data}
	if b.save == k {
		b.save = -1 // the END after a GO of this round finds another state
	}
}

// A blob is the script's state before a round.
type blob struct {
	round int // −1: none
	data  []byte
}

// An ActKind says what a script did.
type ActKind int

// The kinds of acts.
const (
	Stepped   ActKind = iota // STEP: Direction has the update
	Calling                  // COLLECT: Answer ends the call
	Finishing                // FINISH: it steps no more
	Pausing                  // PAUSE: it gives its turn back for now, or wants one again
	Stopping                 // STOP: it stops the run, and waits for its end
	Leaving                  // BYE: it makes no further call either
)

// An Act is what a script did in its turn.
type Act struct {
	Kind    ActKind
	Call    int // number of a call, from 1
	Request Request
	Raw     []byte // of the call
	Why     string // of a STOP
}

// Spent is how long the hand-over of vectors took, in sum.
type Spent struct {
	Out    time.Duration // from the peer to the script
	Script time.Duration // waiting for the script's step
	Back   time.Duration // from the script to the peer
	Rounds int
}

// Start listens and starts the program, which finds PEER_SOCKET in its environment. The end of ctx kills it.
func Start(ctx context.Context, o Options) (*Script, error) {
	if len(o.Command) == 0 {
		return nil, errors.New("the command of the script is empty: give it after --")
	}
	o = o.withDefaults()
	e, err := listen(o.TCP)
	if err != nil {
		return nil, err
	}
	c, err := spawn(o, e.environment())
	if err != nil {
		e.close()
		return nil, err
	}
	s := &Script{options: o, child: c, ear: e, joined: make(chan struct{}), acts: make(chan Act, 4),
		news: news{loss: NoLoss}, stated: make(chan struct{}, 1), hungUp: make(chan struct{}), gone: make(chan struct{})}
	s.blobs.save, s.blobs.newest.round = -1, -1
	s.forget = context.AfterFunc(ctx, s.Kill)
	go s.listen()
	go s.settle()
	return s, nil
}

// Hello waits for the script to join. It returns the outline of its vector and its own start vector.
func (s *Script) Hello(ctx context.Context) (Outline, []float32, error) {
	stop := s.options.after(patience, func() {
		s.options.Log.Info("the script has not called gossiptrainer.join yet",
			"command", strings.Join(s.options.Command, " "))
	})
	defer stop()
	select {
	case <-s.joined:
		return s.outline, slices.Clone(s.region.data), nil
	case <-s.gone:
		return Outline{}, nil, s.lost
	case <-ctx.Done():
		return Outline{}, nil, fmt.Errorf("wait for the script to call gossiptrainer.join: %w", context.Cause(ctx))
	}
}

// Welcome tells the script the run and its start vector x. Blob is the state that it gave for the checkpoint from
// which the run goes on; nil: there is none.
func (s *Script) Welcome(w Welcome, x []float32, blob []byte) error {
	w.Version = Version
	h := Header{Kind: KindWelcome}
	if blob != nil {
		h.Flags = FlagState
	}
	if err := s.say(KindWelcome, w.Round, h.Flags, x); err != nil {
		return err
	}
	s.lock.Lock()
	s.part = part{true, w.Rounds, w.Rank, w.Size}
	s.lock.Unlock()
	if err := s.sendAhead(); err != nil {
		return s.why(err)
	}
	if err := s.conn.sendJSON(h, w); err != nil {
		return s.why(err)
	}
	if blob == nil {
		return nil
	}
	return s.why(s.conn.send(Header{Kind: KindState, Round: uint64(w.Round)}, blob))
}

// Reshape gives the script a vector of another outline from the next GO or END on. It must not be the script's turn.
func Reshape(s *Script, o Outline) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.turns.keeps() || s.turns.phase == left {
		return nil // the script needs no vector of the run any more
	}
	s.outline, s.turns.length = o, 4*uint64(o.Elements)
	return s.region.reshape(o.Elements)
}

// Same returns the hash that a script has given which takes views, after Hello; "" of one that does not.
func Same(s *Script) string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.same
}

// Tell tells a script that takes views who takes part from the next GO on. It must not be the script's turn.
func Tell(s *Script, v View) error {
	if err := s.say(KindView, v.Round, 0, nil); err != nil {
		return err
	}
	s.lock.Lock()
	s.part.rank, s.part.size = v.Rank, v.Size
	s.lock.Unlock()
	return s.why(s.conn.sendJSON(Header{Kind: KindView, Round: uint64(v.Round)}, v))
}

// Go hands x of round k to the script, whose turn it is until the next act.
func (s *Script) Go(k int, x []float32) error {
	began := time.Now()
	h := Header{Kind: KindGo, Flags: s.flags(k), Round: uint64(k)}
	if err := s.say(KindGo, k, h.Flags, x); err != nil {
		return err
	}
	if err := s.conn.sendVector(h, s.region); err != nil {
		return s.why(err)
	}
	s.lock.Lock()
	s.clock.out = time.Now()
	s.clock.spent.Out += s.clock.out.Sub(began)
	s.lock.Unlock()
	return nil
}

// Acts delivers what the script does. When gone is closed, the connection or the program has ended, nothing more comes,
// and Lost is known.
func (s *Script) Acts() (acts <-chan Act, gone <-chan struct{}) { return s.acts, s.gone }

// Lost returns why no further act comes, when that is so: nil if the script has ended well.
func (s *Script) Lost() error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if errors.Is(s.lost, ErrLeft) {
		return nil
	}
	return s.lost
}

// Direction writes x minus the vector after the script's step into g. Its loss is the newest finite one that the script
// has logged, NaN before any. The vector is y, until the next Go.
func (s *Script) Direction(g, x []float32) (loss float32, y []float32) {
	stepped := time.Now()
	s.region.step(g, x)
	s.lock.Lock()
	defer s.lock.Unlock()
	s.clock.spent.Script += stepped.Sub(s.clock.out)
	s.clock.spent.Back += time.Since(stepped)
	s.clock.spent.Rounds++
	return s.news.loss, s.region.data
}

// Answer ends a call of the script. Where r says that the run has moved, Go or End follows.
func (s *Script) Answer(call int, r Result, raw []byte) error {
	if err := s.say(KindResult, call, 0, nil); err != nil {
		return err
	}
	s.lock.Lock()
	s.blobs.waiting = nil
	s.lock.Unlock()
	if r.Moved {
		s.lock.Lock()
		s.turns.moved()
		s.lock.Unlock()
	}
	return s.why(s.conn.sendResult(call, r, raw))
}

// SaveBefore has Gradient of round k, or End after k rounds, ask the script for its state before that round.
func (s *Script) SaveBefore(k int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.blobs.save = k
}

// flags returns the flags of the GO or END of a round.
func (s *Script) flags(k int) uint32 {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.blobs.save == k && !s.turns.keeps() {
		return FlagState
	}
	return 0
}

// AskState asks for the state before round k, for which SaveBefore has asked, where the script takes no step in that
// round. A script that waits in a call gives the one at its call, others give none.
func (s *Script) AskState(k int) error {
	s.lock.Lock()
	due, waits := s.blobs.save == k, s.turns.phase == collecting && s.turns.before == computing
	asks := due && waits && !s.turns.wished && s.blobs.waiting == nil
	if due && (!waits || s.blobs.waiting != nil) {
		s.blobs.newest, s.blobs.save = blob{k, s.blobs.waiting}, -1
		wake(s.stated)
	}
	s.lock.Unlock()
	if !asks {
		return nil
	}
	if err := s.say(KindState, k, 0, nil); err != nil {
		return err
	}
	return s.why(s.conn.send(Header{Kind: KindState, Round: uint64(k)}, nil))
}

// errNoState says that the script could not give its state this time.
var errNoState = errors.New("the script had none to give: its output says why")

// State waits for the state before round k, for which SaveBefore(k) has asked.
func (s *Script) State(k int) ([]byte, error) {
	for {
		s.lock.Lock()
		b, finished := s.blobs.newest, s.turns.keeps()
		s.lock.Unlock()
		switch {
		case b.round == k && len(b.data) == 0 && finished:
			return nil, ErrFinished
		case b.round == k && len(b.data) == 0:
			return nil, errNoState
		case b.round == k:
			return b.data, nil
		}
		select {
		case <-s.stated:
		case <-s.gone:
			return nil, s.lost
		}
	}
}

// End tells the script that no round follows, with the worker's final vector, unless it has said FINISH. The script may
// still call and evaluate; Wait waits for it.
func (s *Script) End(e End, x []float32) error {
	if e.Cut {
		s.lock.Lock()
		s.turns.cut()
		s.lock.Unlock()
	}
	h := Header{Kind: KindEnd, Flags: s.flags(e.Round), Round: uint64(e.Round)}
	if err := s.say(KindEnd, e.Round, h.Flags, x); err != nil {
		return err
	}
	s.lock.Lock()
	keeps := s.turns.keeps()
	s.lock.Unlock()
	if keeps {
		_ = s.AskState(e.Round) // State then returns ErrFinished
	} else if err := s.sendAhead(); err != nil {
		return s.why(err)
	}
	return s.why(s.conn.sendJSON(h, e))
}

// Refuse tells the script why the peer ends without it; hint says what to do. Nothing follows but Wait.
func (s *Script) Refuse(message, hint string) {
	s.refuse(errors.New(message), hint)
}

// Wait waits for the end of the program and its output. The error is nil if the script ended well, or because of
// Interrupt, Kill or Refuse. It is an *Exit where the script ended otherwise.
func (s *Script) Wait() error {
	<-s.child.silent
	<-s.gone
	s.forget()
	s.lock.Lock()
	if s.conn != nil {
		_ = s.conn.socket.Close()
	}
	s.lock.Unlock()
	return s.verdict()
}

// Interrupt sends the program an interrupt, the first time it is called. The program is killed after Options.Grace.
func (s *Script) Interrupt() { s.child.interrupt(s.options.Grace, s.options.after) }

// Kill ends the program and all of its process group at once.
func (s *Script) Kill() { s.child.kill(asOrdered) }

// Spent returns how long rounds took so far.
func (s *Script) Spent() Spent {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.clock.spent
}

// say takes the peer's turn and puts x into the region.
func (s *Script) say(kind Kind, round int, flags uint32, x []float32) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.turns.phase == left { // settle finds out why
		s.lock.Unlock()
		<-s.gone
		s.lock.Lock()
	}
	if s.lost != nil {
		return s.lost
	}
	if s.refused != nil {
		return s.refused
	}
	if s.region != nil && x != nil && len(x) != len(s.region.data) {
		return fmt.Errorf("a vector of %d elements for a script with %d", len(x), len(s.region.data))
	}
	if err := s.turns.say(kind, round, flags); err != nil {
		return fmt.Errorf("the script: %w", err)
	}
	if x != nil && !s.turns.keeps() {
		copy(s.region.data, x)
	}
	return nil
}

// sendAhead sends the vector of the WELCOME or END that follows, where it does not travel in shared memory.
func (s *Script) sendAhead() error {
	if s.region.chunk == nil {
		return nil
	}
	return s.conn.sendVector(Header{Kind: KindVector}, s.region)
}

// why turns an error of writing into its reason. The connection does not survive one.
func (s *Script) why(err error) error {
	if err == nil {
		return nil
	}
	_ = s.conn.socket.Close()
	<-s.gone
	return s.lost
}
