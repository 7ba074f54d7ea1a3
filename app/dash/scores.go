package dash

import (
	"math"
	"slices"

	"gossiptrainer/internal/record"
)

// A score is a result on the test set, with its place on the axes.
type score struct {
	changed int64
	nth     int // of all scores

	round                      int
	time, sent, loss, accuracy float64
}

// A pending score waits for the other workers.
type pending struct {
	score
	workers int
}

// scores are the results on the test set, as record.Run.Curve draws them: those of the mean model, or means over the
// workers. Where there are too many, every second one goes, and later ones come as rarely.
type scores struct {
	most    int // of the list
	stride  int // scores of which one stays
	seen    int
	average bool
	list    []score
	whole   int64 // version of the last change of all
	open    []pending
}

// mostOpen is the maximum number of partially scored rounds.
const mostOpen = 64

// see takes a score at a place of the axes. It returns whether the list changed.
func (s *scores) see(e record.Score, at point, workers int, version int64) bool {
	one := score{changed: version, round: e.Round, time: at.time, sent: at.sent, loss: e.Loss, accuracy: e.Accuracy}
	if e.Rank == record.Average {
		if !s.average { // those of the workers do not mix with them
			*s = scores{most: s.most, average: true, whole: version}
		}
		s.add(one)
		return true
	}
	if s.average {
		return false
	}
	i := slices.IndexFunc(s.open, func(p pending) bool { return p.round == e.Round })
	if i < 0 {
		if len(s.open) == mostOpen {
			s.open = s.open[1:]
		}
		s.open = append(s.open, pending{score: score{round: e.Round}})
		i = len(s.open) - 1
	}
	p := &s.open[i]
	p.workers++
	p.loss += e.Loss
	p.accuracy += e.Accuracy
	if p.workers < workers {
		return false
	}
	one.loss, one.accuracy = p.loss/float64(p.workers), p.accuracy/float64(p.workers)
	s.open = slices.Delete(s.open, i, i+1)
	s.add(one)
	return true
}

// add appends a score. The last one stays until the next comes.
func (s *scores) add(one score) {
	one.nth = s.seen
	s.seen++
	s.stride = max(1, s.stride)
	n := len(s.list)
	if n > 0 && s.list[n-1].nth%s.stride != 0 {
		s.list[n-1] = one
		return
	}
	if s.list = append(s.list, one); n < s.most {
		return
	}
	s.stride *= 2
	s.list = slices.DeleteFunc(s.list, func(x score) bool { return x.nth%s.stride != 0 && x.nth != one.nth })
	s.whole = one.changed
}

// last returns the newest accuracy, NaN where there is none.
func (s *scores) last() float64 {
	if len(s.list) == 0 {
		return math.NaN()
	}
	return s.list[len(s.list)-1].accuracy
}

// Scores are the columns of the scores, or of those that are new.
type Scores struct {
	Points   int    `json:"points"`
	Whole    bool   `json:"whole,omitempty"`
	At       []int  `json:"at"`
	Round    exact  `json:"round"`
	Time     exact  `json:"time_s"`
	Bytes    exact  `json:"bytes"`
	Loss     column `json:"loss"`
	Accuracy column `json:"accuracy"`
}

// since returns the scores that are new after a version, nil if there are none.
func (s *scores) since(version int64) *Scores {
	from := len(s.list)
	for from > 0 && s.list[from-1].changed > version {
		from--
	}
	whole := version == 0 || version < s.whole
	if whole {
		from = 0
	} else if from == len(s.list) {
		return nil
	}
	out := &Scores{Points: len(s.list), Whole: whole, At: []int{}}
	for i, one := range s.list[from:] {
		out.At = append(out.At, from+i)
		out.Round, out.Time = append(out.Round, float64(one.round)), append(out.Time, one.time)
		out.Bytes = append(out.Bytes, math.Round(one.sent))
		out.Loss, out.Accuracy = append(out.Loss, one.loss), append(out.Accuracy, one.accuracy)
	}
	return out
}
