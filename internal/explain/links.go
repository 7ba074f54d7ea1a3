package explain

import (
	"cmp"
	"fmt"
	"slices"

	"gossiptrainer/internal/record"
)

// straggler names the worker for which its neighbours wait while it waits for none. In a synchronous run the others
// wait for those that wait, so that one worker is enough.
func (t *timing) straggler() []Sentence {
	if !t.accounted() {
		return t.slowest()
	}
	found, cost := -1, costly
	for _, rank := range t.ranks {
		a := t.awaited(rank)
		if a.last < awaited || a.alone < cost || waitShare(t.splits[rank]) > t.median(waitShare)/2 {
			continue
		}
		found, cost = rank, a.alone
	}
	if found < 0 {
		return nil
	}
	a := t.awaited(found)
	return []Sentence{says(Straggler, Problem, "worker %d is waited for in %s of the rounds of %s, for %s of their "+
		"time: %s", found, percent(a.last), workers(a.by), percent(a.alone), t.why(found)).of(found)}
}

// accounted reports whether the record has the waits of all workers.
func (t *timing) accounted() bool {
	return !slices.ContainsFunc(t.ranks, func(rank int) bool { return t.workers[rank].account.Rounds < enough })
}

// slowest names a worker whose gradients take longer than those of the others. These alone do not show who waits.
func (t *timing) slowest() []Sentence {
	most, usual := slices.MaxFunc(t.ranks, func(a, b int) int {
		return cmp.Compare(t.splits[a].compute, t.splits[b].compute)
	}), t.median(compute)
	if len(t.ranks) < 3 || t.splits[most].compute < slower*usual || t.workers[most].seen < enough {
		return nil
	}
	return []Sentence{says(Straggler, Warning, "%s; the record does not tell who waits for it",
		t.gradients(most)).of(most)}
}

// gradients compares the gradients of a worker with the median.
func (t *timing) gradients(rank int) string {
	own, usual := t.splits[rank].compute, t.median(compute)
	return fmt.Sprintf("the gradients of worker %d take %.2g times the median (%s, median %s)", rank, own/usual,
		seconds(own), seconds(usual))
}

// An awaiting is how long the neighbours of a worker wait for it, as means over them.
type awaiting struct {
	last  float64 // share of their rounds that end with its message
	alone float64 // share of their time in which only its message is missing
	by    []int
}

// awaited returns how long the neighbours of a worker wait for it.
func (t *timing) awaited(rank int) awaiting {
	var a awaiting
	for _, by := range t.ranks {
		if link := t.workers[by].link(rank); link != nil {
			last, alone := t.waits(by, link)
			a.last += last
			a.alone += alone
			a.by = append(a.by, by)
		}
	}
	n := float64(max(len(a.by), 1))
	a.last, a.alone = a.last/n, a.alone/n
	return a
}

// waits returns the share of a worker's rounds that end with the message of a link, and that of its time in which only
// this message is missing.
func (t *timing) waits(rank int, link *record.Link) (last, alone float64) {
	account := &t.workers[rank].account
	last = float64(link.Last) / float64(max(account.Rounds, 1))
	if took := t.splits[rank].round * float64(account.Rounds); took > 0 {
		alone = link.Alone.Seconds() / took
	}
	return last, alone
}

// link returns the account of an edge, nil if there is none.
func (w *worker) link(peer int) *record.Link {
	for i := range w.account.Links {
		if link := &w.account.Links[i]; link.Peer == peer {
			return link
		}
	}
	return nil
}

// why says in what a worker that is waited for differs from the others.
func (t *timing) why(rank int) string {
	own, usualCodec := t.splits[rank], t.median(codec)
	atLimit, load := t.loaded(rank)
	switch {
	case own.compute >= slower*t.median(compute) && t.deprived(rank):
		return t.gradients(rank) + ", and its process has no processor for part of them"
	case own.compute >= slower*t.median(compute):
		return t.gradients(rank)
	case own.codec >= slower*usualCodec && own.codec-usualCodec >= costly*own.round:
		return fmt.Sprintf("its coding takes %s, the median %s", seconds(own.codec), seconds(usualCodec))
	case atLimit:
		return load
	case own.rest() >= beside && own.rest() >= 2*t.median(rest):
		return fmt.Sprintf("%s of its time is neither gradients nor coding nor waiting", percent(own.rest()))
	}
	return "its gradients and its coding take no longer than those of others, and the record does not show why: " +
		"look at its connections"
}

// deprived reports whether a worker's process had a processor for a smaller part of its work than those of others.
func (t *timing) deprived(rank int) bool {
	got := func(rank int) float64 {
		spent := t.workers[rank].account.Spent
		return spent.CPU.Seconds() / max((spent.Compute+spent.Codec).Seconds(), 1e-9)
	}
	var all []float64
	for _, other := range t.ranks {
		all = append(all, got(other))
	}
	return got(rank) > 0 && got(rank) < deprived*median(all)
}

// loaded says whether what a worker sends comes close to a limit.
func (t *timing) loaded(rank int) (atLimit bool, how string) {
	w := &t.workers[rank]
	bits, bytes := w.limit()
	if bits == 0 || w.account.Time == 0 {
		return false, ""
	}
	share := 8 * bytes / w.account.Time.Seconds() / bits
	return share >= limited, fmt.Sprintf("it sends %s of what its limit of %s allows", percent(share), rate(bits))
}

// slowLinks names edges at which both ends wait for each other, unless one end is the straggler.
func (t *timing) slowLinks(said []Sentence) []Sentence {
	if !t.accounted() {
		return nil
	}
	var found []Sentence
	for _, i := range t.ranks {
		for _, link := range t.workers[i].account.Links {
			j := link.Peer
			if j <= i || !slices.Contains(t.ranks, j) || named(said, i) || named(said, j) {
				continue
			}
			back := t.workers[j].link(i)
			if back == nil || len(t.workers[i].account.Links) < 2 || len(t.workers[j].account.Links) < 2 {
				continue // a worker with one neighbour waits for no other
			}
			last, alone := t.waits(i, &link)
			theirs, theirAlone := t.waits(j, back)
			if min(last, theirs) < awaited || min(alone, theirAlone) < costly {
				continue
			}
			found = append(found, says(SlowLink, Problem, "workers %d and %d wait for each other: their messages come "+
				"last in %s and %s of their rounds, so link %d-%d takes longer than their other links", i, j, percent(last),
				percent(theirs), i, j).on(i, j))
		}
	}
	const most = 3
	return found[:min(len(found), most)]
}

// named reports whether a sentence speaks of a worker.
func named(said []Sentence, rank int) bool {
	return slices.ContainsFunc(said, func(s Sentence) bool { return s.Worker != nil && *s.Worker == rank })
}

// sent returns the bytes that a worker has sent over an edge, without encryption where connections share a socket.
func sent(link record.Link) int64 { return max(link.Sent.Wire, link.Sent.Stream) }

// limits names the links and the uplinks that carry what their limits allow.
func (t *timing) limits() []Sentence {
	var said []Sentence
	var least, most float64
	var up []int
	for _, rank := range t.ranks {
		w := &t.workers[rank]
		took, shared := w.account.Time.Seconds(), 0.0
		for _, link := range w.account.Links {
			if link.Limit == 0 {
				shared += 8 * float64(sent(link))
				continue
			}
			if share := 8 * float64(sent(link)) / took / link.Limit; took > 0 && share >= limited {
				said = append(said, says(LinkLimit, Warning, "link %d-%d carries %s of its limit of %s", rank, link.Peer,
					percent(share), rate(link.Limit)).on(rank, link.Peer))
			}
		}
		if share := shared / took / w.account.Uplink; w.account.Uplink > 0 && took > 0 && share >= limited {
			if len(up) == 0 {
				least = share
			}
			up, least, most = append(up, rank), min(least, share), max(most, share)
		}
	}
	if len(up) > 0 {
		limit := rate(t.workers[up[0]].account.Uplink)
		said = append(said, says(LinkLimit, Warning, "%s send %s of what %s", workers(up), span(least, most),
			allowed(len(up), limit)))
		if len(up) == 1 {
			said[len(said)-1] = said[len(said)-1].of(up[0])
		}
	}
	return said
}

// allowed names the limit of one worker or of several.
func allowed(n int, limit string) string {
	if n == 1 {
		return "the limit of its uplink allows, " + limit
	}
	return "the limits of their uplinks allow, " + limit + " each"
}
