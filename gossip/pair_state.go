package gossip

// A pairStep is the progress of a worker in its present step. The step ends when its
// gradient is applied and its exchange is over.
type pairStep struct {
	step     int // steps finished
	clock    int // steps per worker that were known when this step began
	attempts int // questions asked
	gradient gradientState
	exchange exchangeState
	partner  *pairPeer // of the own exchange; nil unless asking or trading
	serving  *pairPeer // of the exchange that it has asked for, nil if there is none
	turn     pairTurn
	point    []float32 // where the gradient is taken
}

// A pairTurn orders the questions of all workers.
type pairTurn struct {
	served   bool // a neighbour since the last own question
	arrivals int  // questions of neighbours
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

// An exchangeState is the progress of the exchange for which a worker asks in a step.
// A worker agrees to the exchanges of others while it is free: seeking or over, and
// not serving.
//
//	state     meaning                                   event                                    next
//	seeking   the step has had no exchange              the worker asks a neighbour              asking
//	                                                    all neighbours have declined or are      over
//	                                                    gone, or no step is left in the budget
//	asking    a question is open                        the neighbour agrees                     trading
//	                                                    it declines, or its link breaks          seeking
//	trading   the own model is sent                     that of the neighbour is used            over
//	                                                    its link breaks                          seeking
//	over      the worker asks nobody                    a step begins                            seeking
type exchangeState uint8

const (
	seeking exchangeState = iota
	asking
	trading
	over
)

// A pairEnd is the end of the run as far as a worker has reached it.
//
//	state     meaning                                             event                      next
//	running   further steps begin while the budget lasts          Hold                       lastStep
//	                                                              the budget is spent when   finished
//	                                                              the step ends
//	lastStep  the present step is the last one                    the step ends              finished
//	finished  no step begins; exchanges may be open               no exchange is open        told
//	told      the neighbours know it; the worker declines their
//	          questions and repeats its models for them
type pairEnd uint8

const (
	running pairEnd = iota
	lastStep
	finished
	told
)
