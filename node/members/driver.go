// Package members runs a member of a run that machines join, leave and die in, on libp2p. It drives the machine of
// package gossip/member with the wall clock. Letters travel on long-lived streams between the members. A goroutine of
// its own computes the gradients.
//
//	seat, err := members.Found(options, founders, 0)  // or Join, which asks the members of a run that goes on
//	outcome, err := seat.Run(ctx, leave)
//
// Nothing of a peer counts before it has proven the secret. Its letters are those of the members that have its key. The
// package computes no model and knows no run file.
package members

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/member"
	"gossiptrainer/gossip/pairs"
	"gossiptrainer/gossip/participant"
	views "gossiptrainer/gossip/view"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/work"
	"gossiptrainer/node/handshake"
)

// Options are those of a member on a network.
type Options struct {
	Peer
	// Member has the maker, the plan and the bytes of a message. Times fills in the times of its council, and Join an id.
	Member    member.Options
	Pairs     pairs.Maker // makes members that meet in pairs, in the place of that of Member; nil: they share exchanges
	Coding    work.Coding // of messages; nothing is left out of them
	MostState int64       // bytes of the state that a newcomer takes
	Watch     Watch       // sees the run; calls come one at a time
	Keep      Keeping     // without Take nothing is kept
	// Parent is the run from which this one goes on; nil: none. Resume and Join know it themselves.
	Parent *views.Parent
	// Test scores the model after the last round, in a goroutine of its own; nil: it has no score, NaN.
	Test func(views.ID) Score
}

// A Watch sees a member at work.
type Watch interface {
	// View is called for each record, in order.
	View(r views.Record)
	// Round is called after each round with its loss and how long the gradient took.
	Round(k int, loss float32, took time.Duration)
	// Status is called when what the member does changes: "" is that it trains.
	Status(state record.State, detail string)
}

// Times returns the options of a council for a run in which silence for grace is a death. A leader is missed much
// earlier, so that the others have a new one when they must decide.
func Times(o council.Options, grace time.Duration) council.Options {
	o.Grace = grace
	o.Patience = min(max(grace/40, 250*time.Millisecond), time.Second)
	o.Beat = o.Patience / 5
	return o
}

// A Seat is a member on a network.
type Seat struct {
	o       Options
	m       participant.Participant
	office  *postOffice
	door    *door
	began   time.Time
	end     ending
	kept    keeper
	heard   map[id]time.Duration // when a letter of a member came last
	shown   int                  // records that the watch has seen
	said    string               // the last status
	work    gradient
	results chan gradient
	tests   chan tested
	stops   chan struct{} // holds a token once the run shall end for all
	vitals  vitals
	last    struct { // the last gradient, until its round is over
		k    int
		loss float32
		took time.Duration
		due  bool
	}
}

// A gradient is one that is computed, or its result.
type gradient struct {
	k    int
	g    []float32
	loss float32
	took time.Duration
	err  error
	busy bool
}

// An Outcome is how a member has ended.
type Outcome struct {
	ID       views.ID
	Standing member.Standing  // Finished, Left or Excluded
	Log      *views.Log       // as far as the member knows it
	Models   map[views.ID]Sum // by member at the end of a finished run
	Done     map[views.ID]int // the rounds of these members
	Scores   map[views.ID]Score
	Rounds   int // that the member has done
	Sent     record.Bytes
	Messages record.Messages
}

// A Sum is the SHA-256 of a model.
type Sum = [sha256.Size]byte

// Digest returns the digest of a finished run: over the models of the members at its end, in the order of ranks.
func (o *Outcome) Digest() Sum {
	var all []Sum
	for _, id := range slices.Sorted(func(yield func(views.ID) bool) {
		for id := range o.Models {
			if !yield(id) {
				return
			}
		}
	}) {
		all = append(all, o.Models[id])
	}
	return record.RunDigest(all)
}

// Vitals are what a member knows at a moment.
type Vitals struct {
	View   views.Record   // the newest; it has no members before the first
	Joins  []views.Member // have been admitted, and are in no view yet
	Leaves []views.ID     // that have said so, or have not ended yet
	Silent []views.ID     // members that should be heard, and were not for a while
	Waits  []views.ID     // whose messages the exchange lacks
	Rounds int            // of the run, as far as the member knows
	// Received counts the bytes on the wire.
	Received int64
	State    record.State
	Detail   string
}

// vitals are those of the last beat, for other goroutines.
type vitals struct {
	mu   sync.Mutex
	last Vitals
}

// read returns the vitals of the last beat.
func (v *vitals) read() Vitals {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last
}

// note takes the vitals of a beat.
func (v *vitals) note(now Vitals) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last = now
}

// ID returns the id of the member.
func (s *Seat) ID() views.ID { return s.o.Member.Council.ID }

// Stop lets the run end for all, at an exchange on which the members agree. Any goroutine may call it.
func (s *Seat) Stop() {
	select {
	case s.stops <- struct{}{}:
	default:
	}
}

// Run takes part until the run is over for all, the member has left, or a record says that it is dead. It leaves when
// leave is closed. When ctx ends it returns at once, without a goodbye. Errors are those of the machine and of ctx.
func (s *Seat) Run(ctx context.Context, leave <-chan struct{}) (Outcome, error) {
	defer s.office.close()
	beat := time.NewTicker(s.o.Member.Council.Beat)
	defer beat.Stop()
	err := s.tick()
	for err == nil && !s.over() {
		select {
		case a := <-s.office.inbox:
			err = s.receive(a)
			for range len(s.office.inbox) { // those that wait need one answer
				if err == nil {
					err = s.receive(<-s.office.inbox)
				}
			}
		case peer := <-s.office.lost:
			s.m.Council().Parted(peer)
		case r := <-s.door.asks:
			r.answer <- s.admit(r)
		case g := <-s.results:
			s.work = gradient{g: g.g}
			err = s.take(g)
		case s.end.test = <-s.tests:
		case <-beat.C:
			err = s.tick()
		case <-s.stops:
			council.Stop(s.m.Council())
		case <-leave:
			leave = nil
			beginLeave(s)
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err == nil {
			err = s.serve()
		}
		if err == nil && keep(s) {
			err = s.serve()
		}
		sayLeave(s)
	}
	if err == nil {
		s.office.part()
		s.publish() // the run may have ended between two beats
	}
	if s.work.busy { // it may compute, but the machine is not ours before it has ended
		select {
		case <-s.results:
		case <-time.After(cutoff):
		}
	}
	return s.outcome(), err
}

// cutoff is how long a member waits at its end for the gradient under way.
const cutoff = 500 * time.Millisecond

func (s *Seat) now() time.Duration { return time.Since(s.began) }

// tick reports the time, and says once in a while what others must know.
func (s *Seat) tick() error {
	if err := s.m.Tick(s.now()); err != nil {
		return err
	}
	s.tell()
	s.status()
	s.publish()
	return nil
}

// receive takes a letter.
func (s *Seat) receive(a arrival) error {
	if a.decoded {
		s.office.room.leave()
	}
	s.heard[a.from] = s.now()
	if a.finals != nil {
		s.end.hear(a.from, a.finals)
		return nil
	}
	if a.Council != nil && a.Council.Word != nil && a.Council.Word.Report.ID != a.from { // a newcomer has none yet
		a.Council.Word.Report, a.Council.Word.Seq = views.Report{ID: a.from}, 0
	}
	if f := a.Frame; f != nil {
		if f.To = s.ID(); f.Kind != gossip.Data && f.From != a.from { // only messages are passed on for others
			return nil
		}
	}
	return s.m.Receive(a.from, a.Letter)
}

// serve does what the member asks for.
func (s *Seat) serve() error {
	r, err := s.m.Ready()
	if err != nil {
		return err
	}
	s.learn()
	for _, p := range r.Send {
		s.office.send(p.To, letter{Letter: p.Letter})
	}
	if s.last.due && (r.Compute && r.Round > s.last.k || r.Standing != member.Working) {
		s.last.due = false
		s.o.Watch.Round(s.last.k, s.last.loss, s.last.took)
	}
	if r.Compute && !s.work.busy && r.Standing != member.Excluded {
		s.work = gradient{k: r.Round, busy: true}
		k, at, task, results := r.Round, r.At, s.m.Task(), s.results
		go func() {
			began := time.Now()
			g, loss, err := task.Gradient(k, at)
			results <- gradient{k: k, g: g, loss: loss, err: err, took: time.Since(began)}
		}()
	}
	return nil
}

// take takes a gradient, if the machine still waits for it.
func (s *Seat) take(g gradient) error {
	r, err := s.m.Ready()
	if err != nil {
		return err
	}
	for _, p := range r.Send {
		s.office.send(p.To, letter{Letter: p.Letter})
	}
	if !r.Compute || r.Round != g.k || r.Standing == member.Excluded {
		return nil
	}
	if g.err != nil {
		return fmt.Errorf("member %d: round %d: %w", s.ID(), g.k, g.err)
	}
	s.last.k, s.last.loss, s.last.took, s.last.due = g.k, g.loss, g.took, true
	return s.m.Gradient(g.g, g.loss)
}

// learn enters the members of new records, and shows these.
func (s *Seat) learn() {
	log := s.m.Council().Log()
	s.office.book.enter(council.Waiting(s.m.Council())...)
	if log == nil || s.end.models != nil {
		return
	}
	for ; s.shown < log.Len(); s.shown++ {
		r := log.At(s.shown)
		s.office.book.enter(r.Members...)
		s.o.Watch.View(*r)
	}
}

// silent returns the members that this one has not heard for a while.
func (s *Seat) silent() (all []id) {
	log := s.m.Council().Log()
	if log == nil {
		return nil
	}
	for _, other := range log.Last().IDs() {
		if other != s.ID() && s.now()-s.heard[other] > 2*s.o.Member.Council.Patience+pulse {
			all = append(all, other)
		}
	}
	return all
}

// names names members for people.
func (s *Seat) names(ids []id) string {
	var all []string
	for _, of := range ids {
		name := fmt.Sprint("member ", of)
		if m, known := s.office.book.member(of); known && m.Name != "" {
			name = "machine " + m.Name
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

// status tells the watch what the member does, when that changes.
func (s *Seat) status() {
	state, detail := s.doing()
	if said := string(state) + detail; said != s.said {
		s.said = said
		s.o.Watch.Status(state, detail)
	}
}

func (s *Seat) doing() (record.State, string) {
	log, standing := s.m.Council().Log(), s.m.Standing()
	switch {
	case log == nil:
		return record.Joining, "waits for the log of views"
	case s.end.leaves && s.m.Council().Waits() && len(s.silent()) > 0:
		return record.Waiting, fmt.Sprintf("leaves without the others, of whom it hears no majority, in %v",
			s.o.Member.Council.Grace)
	case s.m.Council().Waits() && len(s.silent()) > 0: // else a leader is elected at this moment
		return record.Waiting, fmt.Sprintf("view %d: no majority of the voters is heard: silent: %s; %s", log.Last().View,
			s.names(s.silent()), s.hope())
	case council.Bereft(s.m.Council()):
		return record.Waiting, fmt.Sprintf("view %d: all members with a state are silent: %s; the others cannot go on "+
			"without one: if none comes back, end them with Ctrl-C; on a machine that has kept its state or its model, peer "+
			"run FILE --resume, or --without-majority FOLDER, goes on", log.Last().View, s.names(s.silent()))
	case standing == member.Joining:
		return record.Joining, "waits for its first view and for the state of its sponsor"
	case standing == member.Leaving || s.end.leaves:
		return record.Waiting, "leaves: others may still need its messages"
	case standing == member.Finished:
		return record.Waiting, "has done all rounds, and waits for the others"
	}
	if n, fewest := len(log.Last().Members), s.o.Member.Fewest; n < fewest {
		return record.Waiting, fmt.Sprintf("view %d has %s, and the run needs %d (membership.min)", log.Last().View,
			human.Count(n, "member"), fewest)
	}
	return record.Training, ""
}

// hope says how a part without a majority may go on.
func (s *Seat) hope() string {
	apart := slices.DeleteFunc(s.silent(), func(of id) bool { return !s.office.book.isApart(of) })
	if len(apart) == 0 {
		return "it goes on when they are back"
	}
	return fmt.Sprintf("%s went on in another run of the name %s: %s", s.names(apart), s.o.Admission.Run,
		handshake.OtherRunOfName)
}

// Vitals returns those of the last beat. Any goroutine may call it.
func (s *Seat) Vitals() Vitals { return s.vitals.read() }

// publish notes the vitals.
func (s *Seat) publish() {
	now := Vitals{Rounds: s.m.Rounds(), Waits: s.m.Lacks(), Silent: s.silent(),
		Received: s.o.Host.Total().Received,
		Joins:    slices.Clone(council.Waiting(s.m.Council()))}
	if c := s.m.Council(); !c.Leads() && !c.Waits() { // one that never wrote may have no reason to: all others send pulses
		now.Silent = slices.DeleteFunc(now.Silent, func(of id) bool {
			return s.heard[of] == 0 && !slices.Contains(now.Waits, of)
		})
	}
	now.State, now.Detail = s.doing()
	if log := s.m.Council().Log(); log != nil {
		now.View, now.Leaves = *log.Last(), s.leaving(log)
	}
	s.vitals.note(now)
}

// leaving returns the members that the change under way lets go, and those that have not ended yet.
func (s *Seat) leaving(log *views.Log) (all []id) {
	if open := s.m.Council().Open(); open != nil {
		all = slices.Clone(open.Leaves)
	}
	for _, who := range log.Watched(s.m.Council().Done) {
		if _, leaves := log.Ends(who); leaves {
			all = append(all, who)
		}
	}
	if s.end.leaves && !slices.Contains(all, s.ID()) {
		all = append(all, s.ID())
	}
	slices.Sort(all)
	return all
}

// Sent returns the bytes that this process has sent, and its messages. Payload and Stream are those of frames.
func (s *Seat) Sent() (record.Bytes, record.Messages) {
	sent := s.office.sent.Bytes()
	sent.Wire = s.o.Host.Total().Sent
	return sent, s.office.sent.Messages()
}

func (s *Seat) outcome() Outcome {
	o := Outcome{ID: s.ID(), Standing: s.m.Standing(), Log: s.m.Council().Log(), Models: s.end.models,
		Done: s.end.rounds, Scores: s.end.scores}
	o.Sent, o.Messages = s.Sent()
	if s.end.models != nil {
		o.Log = s.end.log
	}
	if s.end.alone {
		o.Standing = member.Left
	}
	o.Rounds = s.m.Done()
	return o
}

// admit answers a process that asks.
func (s *Seat) admit(a asking) (r reply) {
	c := s.m.Council()
	if given, ok := c.Admitted(a.newcomer.Process); ok {
		r.ID, r.Members, r.Lineage, r.Parent = &given, s.office.book.list(), s.o.Hello.Lineage, s.o.Parent
		return r
	}
	log := c.Log()
	switch {
	case log == nil || s.m.Standing() == member.Joining:
		r.Detail = "the member that was asked is a newcomer itself"
		return r
	case s.m.Late():
		r.no = handshake.Refusal(handshake.RunOver, "the run has no exchange left: start a new one")
	case len(log.Last().Members)+len(council.Waiting(c)) >= s.o.Member.Council.Most && !returns(log, a.newcomer.Key):
		r.no = handshake.Refusal(handshake.RunFull, "the run is full: it has %d members, and membership.max is %d",
			len(log.Last().Members)+len(council.Waiting(c)), s.o.Member.Council.Most)
	case c.Waits():
		r.Detail = "the members that were asked hear no majority of the voters"
	}
	if r.no == nil {
		c.Ask(a.newcomer)
	}
	return r
}

// returns reports whether a key is that of a member, whose process has ended without a goodbye.
func returns(log *views.Log, key string) bool {
	for _, m := range log.Last().Members {
		if m.Key == key {
			return true
		}
	}
	return false
}
