package explain

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/internal/record"
)

// A run is made for a test: a ring of workers that do the same, apart from what a test changes.
type run struct {
	facts  Facts
	steps  []record.Step  // by rank and round
	links  []record.Links // by rank and round
	more   []record.Event // after them
	before []record.Event
}

// healthy returns a run of workers in a ring. A round takes 10 ms: 7 of gradients, 2 of waiting, 1 of coding.
func healthy() *run {
	const workers, rounds, every = 6, 240, 4
	r := &run{facts: Facts{Workers: workers, LeastBits: 8, MostBits: 8}}
	for round := every; round <= rounds; round += every {
		for rank := range workers {
			n := time.Duration(round)
			r.steps = append(r.steps, record.Step{
				Rank: rank, Round: round, Time: 10 * n * time.Millisecond, Loss: 2 / (1 + float64(round)/40), Gap: 0.1, Theta: 1,
				Bits: 8, Compute: 7 * time.Millisecond, Wait: 2 * time.Millisecond, Codec: time.Millisecond,
				Sent:     record.Bytes{Payload: 2000 * int64(round), Stream: 2100 * int64(round), Wire: 2200 * int64(round)},
				Messages: record.Messages{Count: 2 * int64(round), Stream: 2080 * int64(round)},
			})
			account := record.Links{Rank: rank, Round: round, Time: 10 * n * time.Millisecond, Rounds: round,
				Spent: record.Spent{Compute: 7 * n * time.Millisecond, Wait: 2 * n * time.Millisecond,
					Codec: n * time.Millisecond, CPU: 8 * n * time.Millisecond}}
			for _, peer := range []int{(rank + 1) % workers, (rank + workers - 1) % workers} {
				account.Links = append(account.Links, record.Link{Peer: peer, Last: round / 2, Alone: n * time.Millisecond / 2,
					Sent: record.Bytes{Stream: 1050 * int64(round), Wire: 1100 * int64(round)}})
			}
			r.links = append(r.links, account)
		}
	}
	return r
}

// each changes the steps.
func (r *run) each(change func(s *record.Step)) *run {
	for i := range r.steps {
		change(&r.steps[i])
	}
	return r
}

// accounts changes the accounts.
func (r *run) accounts(change func(l *record.Links)) *run {
	for i := range r.links {
		change(&r.links[i])
	}
	return r
}

// toward changes the account that a worker has of an edge.
func toward(l *record.Links, peer int, change func(link *record.Link)) {
	for i := range l.Links {
		if l.Links[i].Peer == peer {
			change(&l.Links[i])
		}
	}
}

// of returns the sentences of a run.
func (r *run) of() []Sentence {
	events := slices.Clone(r.before)
	for i := range r.steps {
		events = append(events, record.Event{Step: &r.steps[i]})
		if i < len(r.links) {
			events = append(events, record.Event{Links: &r.links[i]})
		}
	}
	return Sentences(Of(r.facts, append(events, r.more...)))
}

// said returns the sentences of a kind.
func said(all []Sentence, kind Kind) []Sentence {
	return slices.DeleteFunc(slices.Clone(all), func(s Sentence) bool { return s.Kind != kind })
}

// A healthy run has one sentence, which says where the time went.
func TestAHealthyRunIsNotBlamed(t *testing.T) {
	got := healthy().of()
	if len(got) != 1 || got[0].Kind != TimeSplit || got[0].Text != "a round takes 10 ms, in the median of the workers: "+
		"gradients 70 %, waiting for messages 20 %, coding 10 %, the rest 0 %" {
		t.Errorf("%+v", got)
	}
}

// Coding beside gradients makes the parts longer than the round.
func TestPartsThatOverlapAreTold(t *testing.T) {
	got := said(healthy().accounts(func(l *record.Links) { l.Spent.Codec = l.Spent.Compute / 2 }).of(), TimeSplit)
	if len(got) != 1 || !strings.HasSuffix(got[0].Text, "gradients 70 %, waiting for messages 20 %, coding 35 %, "+
		"two of them at once for 25 %") {
		t.Errorf("%+v", got)
	}
}

// slowed makes worker 2 slow: its gradients take twice as long, and its neighbours wait for it.
func slowed(times float64) *run {
	return healthy().accounts(func(l *record.Links) {
		n := time.Duration(l.Rounds) * time.Millisecond
		if l.Rank == 2 {
			l.Spent.Compute, l.Spent.Wait = time.Duration(times*float64(l.Spent.Compute)), n/4
			return
		}
		toward(l, 2, func(link *record.Link) { link.Last, link.Alone = l.Rounds*9/10, 3*n })
		l.Spent.Wait = 5 * n
	})
}

func TestSentences(t *testing.T) {
	for name, test := range cases() {
		t.Run(name, func(t *testing.T) {
			got := said(test.run.of(), test.kind)
			if test.want == "" {
				if len(got) > 0 {
					t.Errorf("says %q", got[0].Text)
				}
				return
			}
			if len(got) == 0 {
				t.Fatalf("no sentence of %s in %+v", test.kind, test.run.of())
			}
			if !strings.Contains(got[0].Text, test.want) {
				t.Errorf("says %q, want %q", got[0].Text, test.want)
			}
		})
	}
}

type example struct {
	kind Kind
	run  *run
	want string // "": no such sentence
}

func cases() map[string]example {
	all := map[string]example{}
	for _, some := range []map[string]example{timeCases(), linkCases(), learningCases(), codecCases(), faultCases()} {
		for name, one := range some {
			all[name] = one
		}
	}
	return all
}
