// Package participant has one interface to the machines of members: to those that share exchanges, of package member,
// and to those that meet in pairs, of package pairs. A driver on a network and a simulation need no other.
package participant

import (
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/member"
	"gossiptrainer/gossip/pairs"
	"gossiptrainer/gossip/view"
)

// A Participant is the machine of a member. It is not safe for concurrent use.
type Participant interface {
	Seated
	Driven
	Training
}

// A Seated machine takes part in decisions. See package member for its methods.
type Seated interface {
	Council() *council.Council
	Standing() member.Standing
	Late() bool
	Leave()
}

// A Driven machine takes what happens to it. See package member for its methods.
type Driven interface {
	Tick(now time.Duration) error
	Receive(from view.ID, l member.Letter) error
	Ready() (member.Ready, error)
	Gradient(g []float32, loss float32) error
	// Compute takes the gradient that Ready asked for. It returns its round, -1 if none is asked for.
	Compute() (k int, err error)
}

// A Training machine has a worker.
type Training interface {
	// Task returns what computes the gradients that Ready asks for, nil before the member has a state.
	Task() Task
	// Params returns the model, which the machine goes on to change. There must be a Task.
	Params() []float32
	// Lacks returns the members whose messages the present exchange lacks.
	Lacks() []view.ID
	// Done returns the number of rounds that the member has taken.
	Done() int
	// Rounds returns the number of rounds of the run, as far as the member knows: a record may end it.
	Rounds() int
}

// A Task computes gradients. Another goroutine may do it while the machine takes letters.
type Task interface {
	Gradient(k int, x []float32) (g []float32, loss float32, err error)
}

// New returns the machine of a founder, or of a newcomer, which has no log. A maker makes members that meet in pairs;
// nil: they share exchanges.
func New(o member.Options, maker pairs.Maker, log *view.Log) (Participant, error) {
	if maker != nil {
		m, err := newPair(pairs.Options{Council: o.Council, Maker: maker, Fewest: o.Fewest}, log)
		return meeting{m, o.Plan.Rounds}, err
	}
	if log == nil {
		m, err := member.Join(o)
		return sharing{m, o}, err
	}
	m, err := member.Found(o, log)
	return sharing{m, o}, err
}

// Resume returns the machine of a member that goes on alone from what it has kept, see member.Resume.
func Resume(o member.Options, log *view.Log, s member.State) (Participant, error) {
	m, err := member.Resume(o, log, s)
	return sharing{m, o}, err
}

// Sharing returns the member that shares exchanges with all others, nil where members meet in pairs.
func Sharing(p Participant) *member.Member {
	if s, ok := p.(sharing); ok {
		return s.Member
	}
	return nil
}

func newPair(o pairs.Options, log *view.Log) (*pairs.Member, error) {
	if log == nil {
		return pairs.Join(o)
	}
	return pairs.Found(o, log)
}

// sharing is a member that shares exchanges with all others.
type sharing struct {
	*member.Member
	o member.Options
}

func (m sharing) Task() Task        { return m.Worker() }
func (m sharing) Params() []float32 { return m.Worker().Machine().Params() }
func (m sharing) Done() int         { return member.Done(m.Member) }
func (m sharing) Lacks() []view.ID  { return member.Lacks(m.Member) }
func (m sharing) Rounds() int       { return view.Rounds(m.Council().Log(), m.o.Plan.Rounds, m.o.Plan.Every) }

// meeting is a member that meets others in pairs. It waits for none, and counts steps of its own. The plan says how
// many a member takes on average.
type meeting struct {
	*pairs.Member
	plan int
}

func (m meeting) Task() Task        { return m.Worker() }
func (m meeting) Params() []float32 { return m.Worker().Pair().Params() }
func (m meeting) Lacks() []view.ID  { return nil }

func (m meeting) Done() int {
	if m.Worker() == nil {
		return 0
	}
	return gossip.Steps(m.Worker().Pair())
}

func (m meeting) Rounds() int {
	if _, ended := view.End(m.Council().Log()); ended {
		return m.Done()
	}
	return m.plan
}
