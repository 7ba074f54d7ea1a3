package dash

import "gossiptrainer/internal/record"

// A Peer is a worker as the page reads it.
type Peer struct {
	Rank    int          `json:"rank"` // where members come and go: the id
	State   record.State `json:"state"`
	Detail  string       `json:"detail"`
	Missing []int        `json:"missing"`
	Here    *bool        `json:"here"` // whether its process answers; null: it is not of this machine
	peerPlace
	peerTime
	peerTraffic
	Deaths int        `json:"deaths"`
	Final  *PeerFinal `json:"final"`
}

// peerPlace is how far a worker is.
type peerPlace struct {
	Round int    `json:"round"`
	Time  figure `json:"time_s"`
	Loss  figure `json:"loss"`
	Gap   figure `json:"gap"`
	Theta figure `json:"theta"`
	Bits  int    `json:"bits"`
	Pace  figure `json:"rounds_per_s"`
}

// peerTime is the time of the last recorded round, and shares.
type peerTime struct {
	Compute   figure `json:"compute_s"`
	Wait      figure `json:"wait_s"`
	Codec     figure `json:"codec_s"`
	HandOver  figure `json:"handover_s"`
	WaitShare figure `json:"wait_share"`
	WaitedFor figure `json:"waited_for"` // share of the rounds of its neighbours in which its message was the last
}

// peerTraffic is the bytes of a worker, and the messages that it did not take as they were.
type peerTraffic struct {
	Sent       record.Bytes `json:"sent"`
	Received   record.Bytes `json:"received"`
	Out        figure       `json:"sent_rate"`
	In         figure       `json:"received_rate"`
	Violations count        `json:"violations"`
	Repaired   count        `json:"repaired"`
	Refused    count        `json:"refused"`
}

// A PeerFinal is the result of a worker.
type PeerFinal struct {
	Rounds   int    `json:"rounds"`
	Loss     figure `json:"loss"`
	Accuracy figure `json:"accuracy"`
	Digest   string `json:"digest"`
}

// unheard is the state of a worker of which the record says nothing.
const unheard record.State = "unknown"

// show returns the worker as the page reads it. Waited is the share of the rounds of its neighbours that waited for it.
func (w *worker) show(rank int, waited float64) Peer {
	s := w.Last
	p := Peer{Rank: rank, State: w.State, Detail: w.Detail, Missing: w.Missing, Here: w.live.here, Deaths: w.Deaths}
	if p.State == "" {
		p.State = unheard
	}
	p.peerPlace = peerPlace{Round: s.Round, Time: figureOf(s.Time.Seconds()), Loss: figureOf(s.Loss), Gap: figureOf(s.Gap),
		Theta: figureOf(s.Theta), Bits: s.Bits, Pace: figureOf(w.pace)}
	if s.Round == 0 {
		p.Loss, p.Gap = unknown(), unknown()
	}
	if s.Theta == 0 {
		p.Theta = unknown()
	}
	spent, _ := w.Spent()
	busy := spent.Compute + spent.Wait + spent.Codec
	p.peerTime = peerTime{Compute: figureOf(s.Compute.Seconds()), Wait: figureOf(s.Wait.Seconds()),
		Codec: figureOf(s.Codec.Seconds()), HandOver: figureOf(s.HandOver.Seconds()),
		WaitShare: figureOf(spent.Wait.Seconds() / busy.Seconds()),
		WaitedFor: figureOf(waited)}
	p.peerTraffic = peerTraffic{Sent: s.Sent, Received: s.Received,
		Out: figureOf(w.rates.sent), In: figureOf(w.rates.received),
		Violations: uncounted, Repaired: uncounted, Refused: uncounted}
	if w.Account().Rounds > 0 {
		p.Violations, p.Repaired = count(w.Account().Violations), count(w.Account().Repaired)
	}
	w.live.show(&p)
	if f := w.Final; f != nil {
		p.Here = nil
		p.Round, p.Out, p.In = f.Rounds, unknown(), unknown()
		p.Final = &PeerFinal{f.Rounds, figureOf(f.Loss), figureOf(f.Accuracy), f.Digest}
		p.Repaired = count(f.Theta.Repaired)
		if v := f.Theta.Violations; v != nil {
			p.Violations = count(*v)
		}
	}
	if p.Missing == nil {
		p.Missing = []int{}
	}
	return p
}

// show replaces figures of the record by those of the answer, which are newer.
func (v *vital) show(p *Peer) {
	if !v.asked {
		return
	}
	a := v.answer
	p.Violations, p.Repaired = max(p.Violations, count(a.Violations)), max(p.Repaired, count(a.Repaired))
	p.Refused = 0
	for _, n := range a.Refused {
		p.Refused += count(n)
	}
	if v.here == nil || !*v.here {
		return
	}
	p.Missing = a.Waiting
	if a.Round > p.Round {
		p.Round = a.Round
		if a.Loss != nil {
			p.Loss = figureOf(*a.Loss)
		}
	}
	if a.Sent.Wire > p.Sent.Wire { // an answer counts from the start of its process, the record from that of the run
		p.Sent, p.Received = a.Sent, a.Received
	}
	if p.State == unheard || p.State == record.Returning {
		p.State, p.Detail = a.State, a.Detail
	}
}
