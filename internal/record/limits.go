package record

import "fmt"

// Limits bound the numbers of a record.
type Limits struct {
	Peers  int // ranks are below
	Rounds int // the most that one worker finishes
}

// anyRun returns the limits of the largest run that a run file can describe.
func anyRun() Limits { return Limits{Peers: 1 << 16, Rounds: 1 << 48} }

// unranked is the rank in a Status of a peer that has none yet.
const unranked = -1

// Check returns an error for a number of an event that is out of bounds.
func (l Limits) Check(e Event) error {
	switch {
	case e.Step != nil:
		return l.place("step", e.Step.Rank, 0, e.Step.Round)
	case e.Score != nil:
		return l.place("score", e.Score.Rank, Average, e.Score.Round)
	case e.Final != nil:
		return l.place("final", e.Final.Rank, 0, e.Final.Rounds)
	case e.Edge != nil:
		if err := l.place("edge", e.Edge.Peer, 0, 0); err != nil {
			return err
		}
		return l.place("edge", e.Edge.Rank, 0, 0)
	case e.Links != nil:
		for _, link := range e.Links.Links {
			if err := l.place("links", link.Peer, 0, 0); err != nil {
				return err
			}
		}
		return l.place("links", e.Links.Rank, 0, e.Links.Round)
	case e.Values != nil:
		return l.place("values", e.Values.Rank, 0, e.Values.Round)
	case e.Status != nil:
		for _, missing := range e.Status.Missing {
			if err := l.place("status", missing, 0, 0); err != nil {
				return err
			}
		}
		return l.place("status", e.Status.Rank, unranked, 0)
	}
	return nil
}

// place checks a rank, which is at least least, and a round.
func (l Limits) place(kind string, rank, least, round int) error {
	if rank < least || rank >= l.Peers {
		return fmt.Errorf("%s of rank %d: the run has ranks 0 to %d", kind, rank, l.Peers-1)
	}
	if round < 0 || round > l.Rounds {
		return fmt.Errorf("%s of round %d: the run has rounds 0 to %d", kind, round, l.Rounds)
	}
	return nil
}
