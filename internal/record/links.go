package record

import (
	"slices"
	"time"
)

// Links is one worker's account of its time and of its edges. All counts are since its first round.
type Links struct {
	Rank   int           `json:"rank"`
	Round  int           `json:"round"`   // rounds finished, 1..
	Time   time.Duration `json:"time_ns"` // since the first round began; virtual in sim
	Rounds int           `json:"rounds"`  // that the counts cover
	Spent  Spent         `json:"spent"`
	// Messages are those that the worker has sent.
	Messages Messages `json:"messages"`
	// Violations and Repaired count messages that were recovered wrongly. Without verification none is noticed.
	Violations int64 `json:"violations"`
	Repaired   int64 `json:"repaired"`
	// Uplink is the limit of what leaves over all edges without a limit of their own, in bits per second; 0: none.
	Uplink float64 `json:"uplink_bit_s,omitempty"`
	Links  []Link  `json:"links"` // by rank of the neighbour
}

// Spent is what the rounds of a worker took since the first one.
type Spent struct {
	Compute time.Duration `json:"compute_ns"`       // gradients
	Wait    time.Duration `json:"wait_ns"`          // for neighbours
	Codec   time.Duration `json:"codec_ns"`         // encode, decode and mix
	CPU     time.Duration `json:"cpu_ns,omitempty"` // processor time of the worker's process; 0: unknown
}

// mostPaths is how many edges a worker may have whose brief account tells their paths.
const mostPaths = 16

// Brief returns the account without the bytes of the edges, for messages that must be small. It also lacks the paths of
// the edges where a worker has many.
func (l Links) Brief() Links {
	l.Links = slices.Clone(l.Links)
	for i := range l.Links {
		l.Links[i].Sent, l.Links[i].Received = Bytes{}, Bytes{}
		if len(l.Links) > mostPaths {
			l.Links[i].Path = nil
		}
	}
	return l
}

// Add adds other to s.
func (s *Spent) Add(other Spent) {
	s.Compute += other.Compute
	s.Wait += other.Wait
	s.Codec += other.Codec
	s.CPU += other.CPU
}

// A Link is a worker's account of one of its edges.
type Link struct {
	Peer int `json:"peer"` // the other end
	// Last counts the rounds that waited for messages and whose last one was the neighbour's.
	Last int `json:"last"`
	// Alone is the time for which nothing was missing but a message of this neighbour.
	Alone    time.Duration `json:"alone_ns"`
	Sent     Bytes         `json:"sent,omitzero"`
	Received Bytes         `json:"received,omitzero"`
	// Limit bounds what this worker sends on the edge, in bits per second; 0: nothing but Links.Uplink does.
	Limit float64 `json:"limit_bit_s,omitempty"`
	Lost  int64   `json:"lost,omitempty"` // connections that ended without a bye
	// Path is how the worker reaches the neighbour, where there are several ways.
	Path *Path `json:"path,omitempty"`
}

// after returns an account that goes on after that of earlier processes of the worker.
func (l Links) after(past Links) Links {
	l.Rounds += past.Rounds
	l.Spent.Add(past.Spent)
	l.Messages.Add(past.Messages)
	l.Violations += past.Violations
	l.Repaired += past.Repaired
	links := slices.Clone(l.Links)
	for _, old := range past.Links {
		i := slices.IndexFunc(links, func(link Link) bool { return link.Peer == old.Peer })
		if i < 0 {
			links = append(links, old)
			continue
		}
		links[i].Last += old.Last
		links[i].Alone += old.Alone
		links[i].Sent.Add(old.Sent)
		links[i].Received.Add(old.Received)
		links[i].Lost += old.Lost
	}
	slices.SortFunc(links, func(a, b Link) int { return a.Peer - b.Peer })
	l.Links = links
	return l
}
