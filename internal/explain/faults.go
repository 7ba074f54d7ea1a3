package explain

import (
	"fmt"

	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/stats"
)

// few is the share of the median rows of which a worker has fewer than usual.
const few = 0.25

// faults explains lost and returned workers, broken links and uneven data.
func (r *Record) faults() []Sentence {
	var said []Sentence
	for i := range r.workers {
		w := &r.workers[i]
		if w.State == record.Lost {
			said = append(said, says(WorkerLost, Problem, "worker %d is lost: round %d is its last one on record",
				i, w.Last.Round).
				of(i).in(w.Last.Round+1, 0))
		}
		said = append(said, w.returned(i)...)
	}
	said = append(said, r.linksLost()...)
	return append(said, r.samples()...)
}

// returned says how often a worker's process died and came back, and how long its rounds around that took.
func (w *worker) returned(rank int) []Sentence {
	if len(w.returns) == 0 || w.Last.Round == 0 {
		return nil
	}
	usual, paused, from := w.Last.Time.Seconds(), 0.0, w.returns[0].after+1
	rounds := w.Last.Round
	for _, p := range w.returns {
		usual -= p.took.Seconds()
		rounds -= max(0, p.until-p.after)
	}
	for _, p := range w.returns {
		if p.took > 0 && rounds > 0 {
			paused += max(0, p.took.Seconds()-usual/float64(rounds)*float64(p.until-p.after))
		}
	}
	text := fmt.Sprintf("the process of worker %d died and came back %s", rank, human.Count(len(w.returns), "time"))
	if paused > 0 {
		text += fmt.Sprintf(", and its rounds around that took %s longer than its others, %s of the run",
			human.Seconds(paused), human.Percent(paused/w.Last.Time.Seconds()))
	}
	return []Sentence{says(Returned, Warning, "%s", text).of(rank).in(from, w.returns[len(w.returns)-1].until)}
}

// linksLost names edges whose connections broke while both workers were there.
func (r *Record) linksLost() []Sentence {
	var said []Sentence
	for i := range r.workers {
		for _, link := range r.workers[i].Account().Links {
			j := link.Peer
			if j <= i || !r.has(j) || r.troubled(i) || r.troubled(j) {
				continue
			}
			lost := link.Lost
			if back := r.workers[j].link(i); back != nil {
				lost = max(lost, back.Lost)
			}
			if lost > 0 {
				said = append(said, says(LinkLost, Warning, "link %d-%d broke %s and was made again, while the processes of "+
					"both workers went on", i, j, human.Count(int(lost), "time")).on(i, j))
			}
		}
	}
	const most = 3
	return said[:min(len(said), most)]
}

// troubled reports whether the process of a worker has died in the run.
func (r *Record) troubled(rank int) bool {
	w := &r.workers[rank]
	return len(w.returns) > 0 || w.Gone()
}

// samples names the worker with far fewer rows than the others.
func (r *Record) samples() []Sentence {
	fewest, rows := -1, []float64{}
	for i := range r.workers {
		f := r.workers[i].Final
		if f == nil || f.Data == nil || f.Data.Train == 0 {
			continue
		}
		rows = append(rows, float64(f.Data.Train))
		if fewest < 0 || f.Data.Train < r.workers[fewest].Final.Data.Train {
			fewest = i
		}
	}
	if len(rows) < 3 {
		return nil
	}
	own, usual := float64(r.workers[fewest].Final.Data.Train), stats.Median(rows)
	if own > few*usual {
		return nil
	}
	return []Sentence{says(FewSamples, Warning, "worker %d trains on %s, the median worker on %.0f: in as many "+
		"rounds it sees each of them %.2g times as often", fewest,
		human.Count(int(own), "row"), usual, usual/own).of(fewest)}
}
