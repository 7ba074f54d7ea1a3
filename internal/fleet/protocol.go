package fleet

import (
	"slices"

	"gossiptrainer/internal/record"
)

// Parent and peer talk in JSON, one object per line, over the peer's standard
// input (orders) and standard output (notices):
//
//	peer     {"ready":{"id":"12D3…","addrs":["/ip4/127.0.0.1/tcp/40001"]}}
//	parent   {"roster":[{"id":"12D3…","addrs":[…]},…]}      in rank order, to all, once all are ready
//	peer     {"event":{"step":{…}}}                         as often as there is something to say
//	parent   {"hold":true}                                  begin no further round: the run is to end
//	peer     {"begun":57}                                   rounds begun, after hold or after the last round
//	parent   {"end":58}                                     the number of rounds of the run
//	peer     {"done":true}                                  its work is over; it keeps serving the others
//	parent   {"finished":[2]}                               these peers are done and gone: do not wait for them
//	parent   {"conditions":{"cut":[2],"slow":4}}            what a script of faults does to its links and its speed
//	parent   {"tell":40}                                    say when this round, or a later one, begins
//	peer     {"begins":40}                                  it begins this round
//	parent   {"stop":true}                                  once all are done, or to end the run early
//	peer     {"failed":{"reason":"…","code":5}}             instead of done; the process ends by itself
//
// The end of a peer's input means that the parent is gone: the peer stops.

// A Contact has the id and the addresses of a peer.
type Contact struct {
	ID    string   `json:"id"`
	Addrs []string `json:"addrs"` // multiaddrs
}

// A Failure is a peer's last report before it gives up.
type Failure struct {
	Reason string `json:"reason"`
	Hint   string `json:"hint,omitempty"`
	Code   int    `json:"code"`           // exit code, ≥ 1
	Echo   bool   `json:"echo,omitempty"` // it gives up because another peer did, which reports the cause
	// Again says that a new process may succeed, as after the death of a process that this one needs. The supervisor
	// treats the end of this process as a death.
	Again bool `json:"again,omitempty"`
	Died  bool `json:"-"` // its process ended without a report, or with Again
}

// An order is one line to a peer: exactly one field is set.
type order struct {
	Roster   []Contact `json:"roster,omitempty"`
	Hold     bool      `json:"hold,omitempty"`
	End      int       `json:"end,omitempty"`
	Finished []int     `json:"finished,omitempty"` // ranks
	Stop     bool      `json:"stop,omitempty"`
	Leave    bool      `json:"leave,omitempty"` // as a member, while the others go on

	Conditions *Conditions `json:"conditions,omitempty"`
	Tell       *int        `json:"tell,omitempty"` // round
}

// A notice is one line from a peer: exactly one field is set.
type notice struct {
	Ready  *Contact      `json:"ready,omitempty"`
	Event  *record.Event `json:"event,omitempty"`
	Begun  *int          `json:"begun,omitempty"`
	Begins *int          `json:"begins,omitempty"`
	Member *int          `json:"member,omitempty"` // the id of the peer, where members come and go
	Done   bool          `json:"done,omitempty"`
	Failed *Failure      `json:"failed,omitempty"`
}

// Conditions are the effects of a script of faults on the links and the speed of a peer.
type Conditions struct {
	Cut  []int   `json:"cut,omitempty"`  // ranks to which it has no link, ascending
	Slow float64 `json:"slow,omitempty"` // factor on the time of a gradient; 0 = 1
	Bits float64 `json:"bits,omitempty"` // limit of its uplink per second; 0 = that of the run file
}

func (c Conditions) equal(o Conditions) bool {
	return slices.Equal(c.Cut, o.Cut) && c.Slow == o.Slow && c.Bits == o.Bits
}
