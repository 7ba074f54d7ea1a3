// Package judge counts what a neighbour sends that cannot be used, and cuts off a neighbour
// that sends too much of it. Wrap a layer:
//
//	layer := judge.New(inside, judge.Rules{Self: rank, Tolerance: 8, Name: reason})
//
// The layer bans the neighbour's process, or ends the run if the Sentence says so. The links
// below are authenticated, so a bad frame is its sender's doing: a broken machine, another
// program, or malice.
//
// The package judges the form of frames. It does not detect a poisoned model in a well-formed
// frame: a Clip of package algos limits the effect of such a model.
package judge

import (
	"errors"
	"fmt"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

const (
	tolerated = 8    // offences, unless Rules set another number
	forgiven  = 1000 // used frames for which one offence is forgiven
	// leftOver is the number of late or early messages that a link may bring, in frames of one piece. New links begin with
	// some; many more are a replay attack.
	leftOver = 1024
)

// A Sentence says what a worker does with a neighbour that it cuts off.
type Sentence uint8

// Sentences.
const (
	Ban     Sentence = iota // the worker refuses its process from then on; a new process in its place is welcome
	StopRun                 // the worker ends, with a *CutOffError
)

// Rules are the settings of a Judge.
type Rules struct {
	Self      topology.Rank
	Tolerance int // offences; 0 means 8
	Pieces    int // of a message; 0 means 1
	Sentence  Sentence
	// Name returns the reason for which a frame was refused, in words.
	Name func(why error) string
}

// A CutOffError says that a worker ends because of the frames of a neighbour.
type CutOffError struct {
	Peer topology.Rank
	Text string // worker, time and reason
}

func (e *CutOffError) Error() string { return e.Text }

// A Judge is the layer that judges the frames of neighbours. It never refuses a frame: if the layer inside refuses one,
// the refusal is in Notes and the payload in Spent.
type Judge struct {
	gossip.Layer
	rules    Rules
	accounts []account
	round    int
	used     int
	say      gossip.Output
}

var _ gossip.Layer = (*Judge)(nil)

// New returns a Judge around inside.
func New(inside gossip.Layer, rules Rules) *Judge {
	if rules.Tolerance == 0 {
		rules.Tolerance = tolerated
	}
	return &Judge{Layer: inside, rules: rules}
}

// Ready returns the work of the layer inside and of the judge.
func (j *Judge) Ready() gossip.Ready {
	r := j.Layer.Ready()
	j.round = r.Round
	if r.Failed != nil {
		r.Failed = j.judge(r.Failed)
	}
	return j.say.Add(r)
}

// Receive passes on frames of neighbours that are not banned.
func (j *Judge) Receive(f gossip.Frame) error {
	a := j.account(f.From)
	if a.state == banned { // it arrived before the link ended
		j.say.Spend(f.Payload)
		return nil
	}
	err := j.Layer.Receive(f)
	switch {
	case err == nil && f.Kind < gossip.Place:
		j.used++
		a.use()
		return nil
	case gossip.Refusal(err):
		j.say.Note(gossip.Note{Kind: gossip.Unused, Peer: f.From, Why: err})
		j.say.Spend(f.Payload)
		return j.blame(f.From, err)
	}
	return j.judge(err)
}

// Used returns the number of frames that the layer inside has used.
func (j *Judge) Used() int { return j.used }

// Gradient judges messages that are mixed with it.
func (j *Judge) Gradient(g []float32, loss float32, now time.Duration) error {
	return j.judge(j.Layer.Gradient(g, loss, now))
}

// Met gives a neighbour another chance if its process is new: a banned process cannot make a link.
func (j *Judge) Met(peer topology.Rank, m gossip.Meeting) error {
	a := j.account(peer)
	a.state, a.late = heard, 0
	return j.judge(j.Layer.Met(peer, m))
}

// Parted judges a link that ended because of the data that it carried.
func (j *Judge) Parted(peer topology.Rank, cause error) error {
	err := j.judge(j.Layer.Parted(peer, cause))
	if err == nil && errors.Is(cause, gossip.ErrForged) {
		return j.blame(peer, cause)
	}
	return err
}

// Tick judges the errors of the layer inside.
func (j *Judge) Tick(now time.Duration) error { return j.judge(j.Layer.Tick(now)) }

// Saved judges the errors of the layer inside.
func (j *Judge) Saved(round int) error { return j.judge(j.Layer.Saved(round)) }

// judge separates neighbours' bad messages from errors of this worker. A neighbour may send a bad message again on a
// new link; an error of this worker ends it.
func (j *Judge) judge(err error) error {
	all := each(err)
	for _, one := range all {
		if _, bad := errors.AsType[*algos.MessageError](one); !bad {
			return err
		}
	}
	var ends error
	for _, one := range all {
		bad, _ := errors.AsType[*algos.MessageError](one)
		j.say.Note(gossip.Note{Kind: gossip.Unusable, Peer: bad.From, Why: one})
		j.say.Control(gossip.Control{Kind: gossip.DropLink, Peer: bad.From, Why: one})
		ends = errors.Join(ends, j.blame(bad.From, one))
	}
	return ends
}

// each returns the errors that errors.Join has joined.
func each(err error) (all []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return []error{err}
	}
	for _, one := range joined.Unwrap() {
		all = append(all, each(one)...)
	}
	return all
}

// blame counts an offence of a neighbour and cuts the neighbour off after too many.
func (j *Judge) blame(peer topology.Rank, why error) error {
	reason := j.rules.Name(why)
	j.say.Note(gossip.Note{Kind: gossip.Blamed, Peer: peer, Text: reason})
	a := j.account(peer)
	if !a.enter(why, reason, leftOver*max(1, j.rules.Pieces)) || a.offences < j.rules.Tolerance {
		return nil
	}
	text := fmt.Sprintf("worker %d cut off worker %d in round %d after %d offences (%v), the last: %v",
		j.rules.Self, peer, j.round, a.offences, a, why)
	no := &CutOffError{Peer: peer, Text: text}
	if j.rules.Sentence == StopRun {
		return no
	}
	*a = account{rank: peer, state: banned}
	j.say.Control(gossip.Control{Kind: gossip.BanPeer, Peer: peer, Why: no})
	j.say.Note(gossip.Note{Kind: gossip.CutOff, Peer: peer, Text: text})
	return nil
}
