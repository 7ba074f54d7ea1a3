package explain

import (
	"fmt"

	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
)

// Path describes the way of a link, with the speeds that were measured.
func Path(p *record.Path) string {
	text := p.Way.Address
	if p.Interface != "" {
		text += " (" + p.Interface + ")"
	}
	if p.Way.Rate > 0 {
		text += ", " + human.Rate(measured(p.Way.Rate))
	}
	for _, w := range p.Others {
		text += fmt.Sprintf("; %s was %s", w.Address, human.Rate(measured(w.Rate)))
		if w.Gone {
			text += " and does not answer"
		}
	}
	return text
}

// measured rounds a measured rate to the two digits that a short burst tells.
func measured(bits float64) float64 {
	unit := 1.0
	for bits/unit >= 100 {
		unit *= 10
	}
	return float64(int(bits/unit+0.5)) * unit
}

// paths says which way links take where there are several, and whether a faster one is missing.
func (r *Record) paths() []Sentence {
	var missing, kept []Sentence
	for i := range r.workers {
		for _, link := range r.workers[i].Account().Links {
			if p := link.Path; p != nil && r.speaks(i, link) {
				text := fmt.Sprintf("worker %d reaches worker %d over %s", i, link.Peer, Path(p))
				if fasterIsGone(p) {
					missing = append(missing, says(Paths, Warning, "%s", text).on(i, link.Peer))
				} else {
					kept = append(kept, says(Paths, Note, "%s", text).on(i, link.Peer))
				}
			}
		}
	}
	const most = 3
	if n := len(kept); n > most {
		kept = []Sentence{says(Paths, Note, "%s use the fastest of several networks: peer dash shows each",
			human.Count(n, "link"))}
	}
	return append(missing[:min(len(missing), most)], kept...)
}

// speaks reports whether worker i is the end of a link that tells its path: the one that has measured it, or the only
// one that knows.
func (r *Record) speaks(i int, link record.Link) bool {
	if !r.has(link.Peer) {
		return true
	}
	back := r.workers[link.Peer].link(i)
	if back == nil || back.Path == nil || link.Path.Measuring > back.Path.Measuring {
		return true
	}
	return link.Path.Measuring == back.Path.Measuring && i < link.Peer
}

// fasterIsGone reports whether a way that was faster than the one in use does not answer.
func fasterIsGone(p *record.Path) bool {
	for _, w := range p.Others {
		if w.Gone && w.Rate > p.Way.Rate {
			return true
		}
	}
	return false
}
