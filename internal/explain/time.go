package explain

import (
	"fmt"

	"gossiptrainer/internal/human"
)

// bound says where the time went, and what bounds it unless the cause of the waiting is known.
func (t *timing) bound(known bool) []Sentence {
	compute, wait, codec, rest := t.median(computeShare), t.median(waitShare), t.median(codecShare), t.median(rest)
	round := t.median(func(s split) float64 { return s.round })
	end := "the rest " + human.Percent(rest)
	if twice := compute + wait + codec - 1; twice >= seen {
		end = "two of them at once for " + human.Percent(twice)
	}
	said := []Sentence{says(TimeSplit, Note, "a round takes %s, in the median of the workers: gradients %s, waiting "+
		"for messages %s, coding %s, %s", human.Seconds(round), human.Percent(compute), human.Percent(wait),
		human.Percent(codec), end)}
	least := 1.0
	for _, rank := range t.ranks {
		least = min(least, waitShare(t.splits[rank]))
	}
	switch {
	case len(t.ranks) < 2:
	case compute >= busy && wait <= costly:
		said = append(said, says(ComputeBound, Note, "gradients take %s of the time and waiting for messages %s: the "+
			"network is not the limit, and fewer bits save at most that waiting", human.Percent(compute), human.Percent(wait)))
	case !known && wait >= idle && least >= idle/2: // every worker waits, so that none is waited for alone
		said = append(said, says(NetworkBound, Note, "all workers wait for messages, for %s of the time in the median, "+
			"and gradients take %s: %s", human.Percent(wait), human.Percent(compute), t.hold()))
	}
	return said
}

// hold says what holds up messages for which all workers wait, as far as the record shows.
func (t *timing) hold() string {
	load := 0.0
	for _, rank := range t.ranks {
		if _, share, known := t.load(rank); known {
			load = max(load, share)
		}
	}
	if load >= used {
		return fmt.Sprintf("links carry up to %s of their limits, and fewer bits, fewer neighbours or more local steps send "+
			"less", human.Percent(load))
	}
	return "no link is saturated; cause unknown (network or CPU contention)"
}

// codec compares coding with waiting.
func (t *timing) codec() []Sentence {
	const whole = 32
	share, wait := t.median(codecShare), t.median(waitShare)
	took, bits, longer := t.median(codec), 0, 0.0
	for _, rank := range t.ranks {
		w := &t.workers[rank]
		bits = max(bits, w.Last.Bits)
		if limit, bytes := w.limit(); limit > 0 && w.Last.Bits > 0 {
			now := 8 * bytes / limit / float64(max(w.Account().Rounds, 1))
			longer = max(longer, now*(whole/float64(w.Last.Bits)-1))
		}
	}
	if bits == 0 || bits >= whole || share < coding || wait > share || longer > took {
		return nil
	}
	return []Sentence{says(CodecBound, Warning, "coding takes %s of the time and waiting for messages %s: 32 bits "+
		"need less coding, if the network carries messages %.3g times as large as fast", human.Percent(share),
		human.Percent(wait), whole/float64(bits))}
}

// limit returns the tightest limit of what a worker sends, in bits per second, and the bytes that it has sent over it;
// 0: there is none.
func (w *worker) limit() (bits, bytes float64) {
	if w.Account().Uplink > 0 {
		bits = w.Account().Uplink
		for _, link := range w.Account().Links {
			if link.Limit == 0 {
				bytes += float64(sent(link))
			}
		}
	}
	for _, link := range w.Account().Links {
		if link.Limit > 0 && (bits == 0 || float64(sent(link))/link.Limit > bytes/bits) {
			bits, bytes = link.Limit, float64(sent(link))
		}
	}
	return bits, bytes
}

// processors compares the work of the processes with the processor time that they got.
func (t *timing) processors() []Sentence {
	var work, got float64
	for _, rank := range t.ranks {
		w := &t.workers[rank]
		if w.handOver || w.Account().Spent.CPU == 0 || len(w.returns) > 0 {
			return nil // the script of a user has a process of its own
		}
		work += (w.Account().Spent.Compute + w.Account().Spent.Codec).Seconds()
		got += w.Account().Spent.CPU.Seconds()
	}
	if work == 0 || got/work > deprived || t.median(computeShare)+t.median(codecShare) < 1-busy {
		return nil
	}
	return []Sentence{says(CPUShared, Warning, "gradients and coding of all workers took %s, in which their "+
		"processes had a processor for %s: they share the processors, with each other or with other programs",
		human.Seconds(work), human.Seconds(got))}
}

// beside names time that is neither gradients nor coding nor waiting.
func (t *timing) beside() []Sentence {
	const why = "neither gradients nor coding nor waiting: evaluations, checkpoints and the record are in it"
	if all := t.median(rest); all >= beside {
		return []Sentence{says(Beside, Warning, "%s of the time of the median worker is %s", human.Percent(all), why)}
	}
	most, share := -1, 0.0
	for _, rank := range t.ranks {
		if s := t.splits[rank].rest(); s > share && len(t.workers[rank].returns) == 0 {
			most, share = rank, s
		}
	}
	if share < beside || share < 2*t.median(rest) {
		return nil
	}
	return []Sentence{says(Beside, Warning, "%s of the time of worker %d is %s", human.Percent(share), most, why).of(most)}
}
