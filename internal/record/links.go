package record

import (
	"cmp"
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
	Rest   Rest    `json:"rest,omitzero"`
}

// Rest sums up the edges that Links leaves out, because a message had no room for all. They are those for which the
// worker has waited least.
type Rest struct {
	Edges int           `json:"edges"`
	Last  int           `json:"last"` // as in Link
	Alone time.Duration `json:"alone_ns"`
	Lost  int64         `json:"lost,omitempty"`
}

// Spent is what the rounds of a worker took since the first one.
type Spent struct {
	Compute time.Duration `json:"compute_ns"`       // gradients
	Wait    time.Duration `json:"wait_ns"`          // for neighbours
	Codec   time.Duration `json:"codec_ns"`         // encode, decode and mix
	CPU     time.Duration `json:"cpu_ns,omitempty"` // processor time of the worker's process; 0: unknown
}

// A brief account tells the paths of its edges if there are at most mostPaths of them, each with at most mostOthers
// other ways.
const (
	mostPaths  = 12
	mostOthers = 3
)

// Brief returns the account for a message that must be small. It lacks the bytes of the edges, the paths of many edges
// and the slowest ways of each path. It has at most most edges: those for which the worker has waited most often. Rest
// sums up the others.
func (l Links) Brief(most int) Links {
	l.Links = slices.Clone(l.Links)
	for i := range l.Links {
		l.Links[i].Sent, l.Links[i].Received = Bytes{}, Bytes{}
		if len(l.Links) > mostPaths {
			l.Links[i].Path = nil
		}
		l.Links[i].Path = l.Links[i].Path.brief()
	}
	if len(l.Links) <= most {
		return l
	}
	slices.SortFunc(l.Links, func(a, b Link) int {
		return cmp.Or(cmp.Compare(b.Last, a.Last), cmp.Compare(b.Alone, a.Alone), cmp.Compare(a.Peer, b.Peer))
	})
	for _, link := range l.Links[most:] {
		l.Rest.Edges++
		l.Rest.Last += link.Last
		l.Rest.Alone += link.Alone
		l.Rest.Lost += link.Lost
	}
	l.Links = l.Links[:most]
	slices.SortFunc(l.Links, func(a, b Link) int { return a.Peer - b.Peer })
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
	edges := max(len(l.Links)+l.Rest.Edges, len(past.Links)+past.Rest.Edges)
	l.Rest = Rest{
		Edges: max(0, edges-len(links)), Last: l.Rest.Last + past.Rest.Last, Alone: l.Rest.Alone + past.Rest.Alone,
		Lost: l.Rest.Lost + past.Rest.Lost,
	}
	l.Links = links
	return l
}
