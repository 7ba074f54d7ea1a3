package gossip

// A pairStep is the progress of a worker in its present step. The step ends when its
// gradient is applied and its exchange is over.
type pairStep struct {
	step     int // steps finished
	clock    int // steps per worker that were known when this step began
	attempts int // offers made
	gradient gradientState
	exchange exchangeState
	partner  *pairPeer // the receiver of the open offer; nil unless offering
	point    []float32 // where the gradient is taken
	snapshot snapshot
}

// A gradientState is the progress of the gradient of a step.
//
//	state    meaning                                    event                  next
//	applied  the gradient is used, or no step is begun  a step begins          wanted
//	wanted   the driver does not know of it yet         Ready asks for it      asked
//	asked    the driver takes it                        Gradient delivers it   applied
type gradientState uint8

const (
	applied gradientState = iota
	wanted
	asked
)

// An exchangeState is the progress of the exchange that a worker offers in a step.
// While it is offering, the worker answers no offer of a neighbour; in the other
// states it answers them at once.
//
//	state     meaning                                   event                                    next
//	seeking   the step has had no exchange              the worker makes an offer                offering
//	                                                    all neighbours have declined or are      over
//	                                                    gone, or no step is left in the budget
//	offering  an offer is open                          its reply is used                        over
//	                                                    it is declined, or its link breaks       seeking
//	over      the worker offers nothing more            a step begins                            seeking
type exchangeState uint8

const (
	seeking exchangeState = iota
	offering
	over
)

// A snapshot is a copy of the model: the point of a gradient, and the model that an
// offer sends.
//
//	state      meaning                                event                                  next
//	givenAway  an offer in doubt owns the memory      the worker captures the model          exact
//	exact      it equals the model                    a gradient or an exchange moves it     behind
//	                                                  the link of the open offer breaks      givenAway
//	behind     the model has moved since              the worker captures the model          exact
//	                                                  the link of the open offer breaks      givenAway
type snapshot struct {
	state snapshotState
	x     []float32 // nil if given away
}

type snapshotState uint8

const (
	givenAway snapshotState = iota
	exact
	behind
)

// capture makes the snapshot that of x.
func (s *snapshot) capture(x []float32) {
	if s.state == givenAway {
		s.x = make([]float32, len(x))
	}
	copy(s.x, x)
	s.state = exact
}

// move notes that the model has changed.
func (s *snapshot) move() {
	if s.state == exact {
		s.state = behind
	}
}

// A pairEnd is the end of the run as far as a worker has reached it.
//
//	state     meaning                                             event                      next
//	running   further steps begin while the budget lasts          Hold                       lastStep
//	                                                              the budget is spent when   finished
//	                                                              the step ends
//	lastStep  the present step is the last one                    the step ends              finished
//	finished  no step begins; offers may be in doubt              no offer is in doubt       told
//	told      the neighbours know it; the worker serves them
//	          until they have finished too
type pairEnd uint8

const (
	running pairEnd = iota
	lastStep
	finished
	told
)
