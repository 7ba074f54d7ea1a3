package record

// A Worker is the state of one worker after some events of a run. Its size does not grow with the record.
type Worker struct {
	State   State // "": no event has told it
	Detail  string
	Missing []int
	More    int    // missing besides
	Last    Step   // Round 0: none yet
	Steps   int    // on record
	Final   *Final // nil before the end
	Deaths  int    // of its processes

	account *Links // the newest; nil: none yet
	spent   Spent  // over the steps on record
}

// Rank returns the rank of the worker that an event is about. It is negative for an event of the whole run.
func (e Event) Rank() int {
	switch {
	case e.Step != nil:
		return e.Step.Rank
	case e.Score != nil:
		return e.Score.Rank
	case e.Status != nil:
		return e.Status.Rank
	case e.Final != nil:
		return e.Final.Rank
	case e.Edge != nil:
		return e.Edge.Rank
	case e.Links != nil:
		return e.Links.Rank
	case e.Values != nil:
		return e.Values.Rank
	}
	return unranked
}

// See takes an event of this worker.
func (w *Worker) See(e Event) {
	switch {
	case e.Step != nil:
		switch w.State {
		case Starting, Joining, Waiting, Returning: // a worker with a new round has gone on
			w.enter(Status{State: Training})
		}
		w.Last = *e.Step
		w.Steps++
		w.spent.Add(Spent{Compute: w.Last.Compute + w.Last.HandOver, Wait: w.Last.Wait, Codec: w.Last.Codec})
	case e.Status != nil:
		if s := e.Status.State; s == Returning || s == Lost {
			w.Deaths++
		}
		w.enter(*e.Status)
	case e.Links != nil:
		w.account = e.Links
	case e.Final != nil:
		w.enter(Status{State: Finished})
		w.Final = e.Final
	}
}

func (w *Worker) enter(s Status) {
	w.State, w.Detail, w.Missing, w.More = s.State, s.Detail, s.Missing, s.More
}

// Account returns the newest account, which is read-only. Before the first it has 0 rounds.
func (w *Worker) Account() *Links {
	if w.account == nil {
		return new(Links)
	}
	return w.account
}

// Gone reports whether the run goes on without this worker, for good or until it comes back.
func (w *Worker) Gone() bool { return w.State == Lost || w.State == Failed }

// Spent returns what some rounds took in all, and their number: those of the account, or else those on record.
func (w *Worker) Spent() (all Spent, rounds int) {
	if w.account != nil && w.account.Rounds > 0 {
		return w.account.Spent, w.account.Rounds
	}
	return w.spent, w.Steps
}
