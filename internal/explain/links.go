package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/stats"
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
		if a.last < awaited || a.alone < cost || a.alone < mostly*a.wait ||
			waitShare(t.splits[rank]) > t.median(waitShare)/2 {
			continue
		}
		found, cost = rank, a.alone
	}
	if found < 0 {
		return nil
	}
	a := t.awaited(found)
	wait := human.Verb(len(a.by), "waits", "wait")
	return []Sentence{says(Straggler, Problem, "%s %s for worker %d in %s of rounds, %s of the time: %s",
		human.Ranks("worker", a.by, 0), wait, found, human.Percent(a.last), human.Percent(a.alone), t.why(found)).of(found)}
}

// accounted reports whether the record has the waits of all workers.
func (t *timing) accounted() bool {
	return !slices.ContainsFunc(t.ranks, func(rank int) bool { return t.workers[rank].Account().Rounds < enough })
}

// slowest names a worker whose gradients take longer than those of the others. These alone do not show who waits.
func (t *timing) slowest() []Sentence {
	most, usual := slices.MaxFunc(t.ranks, func(a, b int) int {
		return cmp.Compare(t.splits[a].compute, t.splits[b].compute)
	}), t.median(compute)
	if len(t.ranks) < 3 || t.splits[most].compute < slower*usual || t.workers[most].Steps < enough {
		return nil
	}
	return []Sentence{says(Straggler, Warning, "%s; the record does not tell who waits for it",
		t.gradients(most)).of(most)}
}

// gradients compares the gradients of a worker with the median.
func (t *timing) gradients(rank int) string {
	own, usual := t.splits[rank].compute, t.median(compute)
	return fmt.Sprintf("the gradients of worker %d take %.2g times the median (%s, median %s)", rank, own/usual,
		human.Seconds(own), human.Seconds(usual))
}

// An awaiting is how long the neighbours of a worker wait for it, as means over them.
type awaiting struct {
	last  float64 // share of their rounds that end with its message
	alone float64 // share of their time in which only its message is missing
	wait  float64 // share of their time in which any message is missing
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
			a.wait += waitShare(t.splits[by])
			a.by = append(a.by, by)
		}
	}
	n := float64(max(len(a.by), 1))
	a.last, a.alone, a.wait = a.last/n, a.alone/n, a.wait/n
	return a
}

// waits returns the share of a worker's rounds that end with the message of a link, and that of its time in which only
// this message is missing.
func (t *timing) waits(rank int, link *record.Link) (last, alone float64) {
	account := t.workers[rank].Account()
	last = float64(link.Last) / float64(max(account.Rounds, 1))
	if took := t.splits[rank].round * float64(account.Rounds); took > 0 {
		alone = link.Alone.Seconds() / took
	}
	return last, alone
}

// link returns the account of an edge, nil if there is none.
func (w *worker) link(peer int) *record.Link {
	for i := range w.Account().Links {
		if link := &w.Account().Links[i]; link.Peer == peer {
			return link
		}
	}
	return nil
}

// why says in what a worker that is waited for differs from the others.
func (t *timing) why(rank int) string {
	own, usualCodec := t.splits[rank], t.median(codec)
	limit, load, _ := t.load(rank)
	switch {
	case own.compute >= slower*t.median(compute) && t.deprived(rank):
		spent := t.workers[rank].Account().Spent
		return fmt.Sprintf("%s, and its process used a processor for %s of its gradients and coding", t.gradients(rank),
			human.Percent(spent.CPU.Seconds()/(spent.Compute+spent.Codec).Seconds()))
	case own.compute >= slower*t.median(compute):
		return t.gradients(rank)
	case own.codec >= slower*usualCodec && own.codec-usualCodec >= costly*own.round:
		return fmt.Sprintf("its coding takes %s, the median %s", human.Seconds(own.codec), human.Seconds(usualCodec))
	case load >= limited:
		return fmt.Sprintf("it sends %s of what its limit of %s allows", human.Percent(load), human.Rate(limit))
	case own.rest() >= beside && own.rest() >= 2*t.median(rest):
		return fmt.Sprintf("%s of its time is neither gradients nor coding nor waiting", human.Percent(own.rest()))
	}
	return "its gradients and its coding take no longer than those of others, and the record does not show why: " +
		"look at its connections"
}

// deprived reports whether a worker's process had a processor for a smaller part of its work than those of others.
func (t *timing) deprived(rank int) bool {
	got := func(rank int) float64 {
		spent := t.workers[rank].Account().Spent
		return spent.CPU.Seconds() / max((spent.Compute+spent.Codec).Seconds(), 1e-9)
	}
	var all []float64
	for _, other := range t.ranks {
		all = append(all, got(other))
	}
	return got(rank) > 0 && got(rank) < deprived*stats.Median(all)
}

// load returns the tightest limit of what a worker sends, in bits per second, and the share of it that it uses.
func (t *timing) load(rank int) (limit, share float64, known bool) {
	w := &t.workers[rank]
	limit, bytes := w.limit()
	if limit == 0 || w.Account().Time <= 0 {
		return 0, 0, false
	}
	return limit, 8 * bytes / w.Account().Time.Seconds() / limit, true
}

// slowLinks names edges at which both ends wait for each other, unless one end is the straggler.
func (t *timing) slowLinks(said []Sentence) []Sentence {
	if !t.accounted() {
		return nil
	}
	var found []Sentence
	for _, i := range t.ranks {
		for _, link := range t.workers[i].Account().Links {
			j := link.Peer
			if j <= i || !slices.Contains(t.ranks, j) || named(said, i) || named(said, j) {
				continue
			}
			back := t.workers[j].link(i)
			if back == nil || len(t.workers[i].Account().Links) < 2 || len(t.workers[j].Account().Links) < 2 {
				continue // a worker with one neighbour waits for no other
			}
			last, alone := t.waits(i, &link)
			theirs, theirAlone := t.waits(j, back)
			if min(last, theirs) < awaited || min(alone, theirAlone) < costly ||
				alone < mostly*waitShare(t.splits[i]) || theirAlone < mostly*waitShare(t.splits[j]) {
				continue
			}
			found = append(found, says(SlowLink, Problem, "workers %d and %d wait for each other: their messages come "+
				"last in %s and %s of their rounds, so link %d-%d takes longer than their other links", i, j, human.Percent(last),
				human.Percent(theirs), i, j).on(i, j))
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
	loads := map[[2]int]float64{} // of links with a limit, the larger one of both directions
	var least, most float64
	var up []int
	for _, rank := range t.ranks {
		w := &t.workers[rank]
		took, shared := w.Account().Time.Seconds(), 0.0
		if took <= 0 {
			continue
		}
		for _, link := range w.Account().Links {
			bits := 8 * float64(sent(link))
			if link.Limit == 0 {
				shared += bits
				continue
			}
			e := [2]int{min(rank, link.Peer), max(rank, link.Peer)}
			if share := bits / took / link.Limit; share >= limited && share > loads[e] {
				loads[e] = share
			}
		}
		if share := shared / took / w.Account().Uplink; w.Account().Uplink > 0 && share >= limited {
			if len(up) == 0 {
				least = share
			}
			up, least, most = append(up, rank), min(least, share), max(most, share)
		}
	}
	for _, e := range slices.SortedFunc(maps.Keys(loads), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }) {
		limit := t.limitOf(e)
		said = append(said, says(LinkLimit, Warning, "link %d-%d carries %s of its limit of %s", e[0], e[1],
			human.Percent(loads[e]), human.Rate(limit)).on(e[0], e[1]))
	}
	if len(up) == 1 {
		return append(said, says(LinkLimit, Warning, "worker %d sends %s of what the limit of its uplink allows, %s", up[0],
			human.Percent(most), human.Rate(t.workers[up[0]].Account().Uplink)).of(up[0]))
	}
	if len(up) > 1 {
		said = append(said, says(LinkLimit, Warning, "%s send %s of what the limits of their uplinks allow, %s each",
			human.Ranks("worker", up, 0), span(least, most), human.Rate(t.workers[up[0]].Account().Uplink)))
	}
	return said
}

// limitOf returns the limit of a link, in bits per second.
func (t *timing) limitOf(e [2]int) float64 {
	for _, ends := range [][2]int{e, {e[1], e[0]}} {
		if !t.has(ends[0]) {
			continue
		}
		if link := t.workers[ends[0]].link(ends[1]); link != nil && link.Limit > 0 {
			return link.Limit
		}
	}
	return 0
}
