package explain

import (
	"fmt"
	"math"

	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
)

// Thresholds of sentences about codecs.
const (
	wrong  = 1e-3 // of the messages
	felt   = 0.01 // of the messages, from which the cost of repairs is worth a sentence
	many   = 0.05 // of the messages, from which repairs are felt
	bulk   = 0.8  // of the violations are in the rounds that a sentence names
	extra  = 0.05 // of the bytes are no messages
	near   = 0.8  // of theta
	often  = 0.2  // of the records
	steady = 0.9  // of the records
	little = 0.02 // of the bytes
)

// codecs explains theta, repairs, the bits and the entropy coder.
func (r *Record) codecs() []Sentence {
	if r.round() < enough {
		return nil
	}
	said := r.theta()
	if said == nil {
		said = r.nearTheta()
	}
	said = append(said, r.repairs()...)
	said = append(said, r.bitsAtBound()...)
	return append(said, r.entropy()...)
}

// violations are the wrongly recovered messages of the run, and all messages that were recovered.
type violations struct{ wrong, repaired, messages float64 }

// violations sums up the workers. A worker receives as many messages as its neighbours send, so that over all workers
// the messages sent are those received.
func (r *Record) violations() (v violations, known bool) {
	for i := range r.workers {
		w := &r.workers[i]
		v.messages += float64(max(w.Last.Messages.Count, w.Account().Messages.Count))
		switch {
		case w.Account().Violations > 0:
			v.wrong += float64(w.Account().Violations)
			v.repaired += float64(w.Account().Repaired)
			known = true
		case w.Final != nil && w.Final.Theta.Violations != nil:
			v.wrong += float64(*w.Final.Theta.Violations)
			v.repaired += float64(w.Final.Theta.Repaired)
			known = true
		}
	}
	return v, known
}

// theta says how many messages violated theta, and when.
func (r *Record) theta() []Sentence {
	v, known := r.violations()
	if !known || v.messages == 0 || v.wrong < wrong*v.messages {
		return nil
	}
	severity := Problem
	fate := "they were used as they were: set algorithm.theta.verify: true, or a larger theta"
	switch {
	case v.repaired >= v.wrong:
		if v.wrong < felt*v.messages {
			return nil
		}
		severity = Note
		fate = "all were repaired, which costs bytes and time: a larger theta fits, and the rule measured begins with one"
		if v.wrong >= many*v.messages {
			severity = Warning
		}
	case v.repaired > 0:
		fate = fmt.Sprintf("%.0f of %.0f were repaired", v.repaired, v.wrong)
	}
	share := human.Percent(v.wrong / v.messages)
	if from, to, in := r.burst(); to > 0 {
		here := v.messages * float64(to-from+1) / float64(r.round())
		return []Sentence{says(ThetaViolated, severity, "theta was violated in %s of the messages of rounds %d to %d, "+
			"and in %s of all: %s", human.Percent(math.Min(1, in/here)), from, to, share, fate).in(from, to)}
	}
	return []Sentence{says(ThetaViolated, severity, "theta was violated in %s of the messages: %s", share, fate)}
}

// burst returns the shortest part of the run that has most of the violations, and how many. It returns 0 if that is
// half of the run or more, or if the record does not tell when they happened.
func (r *Record) burst() (from, to int, in float64) {
	last := r.round()
	counts := make([]float64, bins)
	sum := 0.0
	for i := range r.workers {
		past := record.Links{}
		for _, l := range r.workers[i].wrong.all() {
			if n := float64(l.Violations - past.Violations); n > 0 && past.Round < l.Round && l.Round <= last {
				from, to := past.Round*bins/last, (l.Round-1)*bins/last
				for b := from; b <= to; b++ { // at some time between the two accounts
					counts[b] += n / float64(to-from+1)
				}
				sum += n
			}
			past = l
		}
	}
	for width := 1; width < bins/2; width++ {
		for first := 0; first+width <= bins; first++ {
			in = 0
			for _, n := range counts[first : first+width] {
				in += n
			}
			if sum > 0 && in >= bulk*sum {
				return last*first/bins + 1, last * (first + width) / bins, in
			}
		}
	}
	return 0, 0, 0
}

// nearTheta says that differences come close to theta.
func (r *Record) nearTheta() []Sentence {
	tight, all := 0, 0
	for i := range r.workers {
		for _, s := range r.workers[i].steps.all() {
			if s.Theta > 0 {
				all++
				if s.Gap >= near*s.Theta {
					tight++
				}
			}
		}
	}
	if all < enough || float64(tight) < often*float64(all) {
		return nil
	}
	return []Sentence{says(NearTheta, Warning, "in %s of the records neighbours differ by %s of theta or more: "+
		"without verification larger differences go unseen", human.Percent(float64(tight)/float64(all)), human.Percent(near))}
}

// repairs says how many bytes are no messages of the algorithm.
func (r *Record) repairs() []Sentence {
	var stream, messages, repaired float64
	for i := range r.workers {
		w := &r.workers[i]
		stream += float64(w.Last.Sent.Stream)
		messages += float64(w.Last.Messages.Stream)
		repaired += float64(w.Account().Repaired)
	}
	if repaired == 0 || stream == 0 || stream-messages < extra*stream {
		return nil
	}
	return []Sentence{says(Repairs, Warning, "repairs and requests take %s of the bytes: %.0f messages were repaired",
		human.Percent(1-messages/stream), repaired)}
}

// bitsAtBound says that a controller of bits stays at a bound.
func (r *Record) bitsAtBound() []Sentence {
	low, high := r.facts.LeastBits, r.facts.MostBits
	if low >= high {
		return nil
	}
	at, all := map[int]int{}, 0
	for i := range r.workers {
		for _, s := range r.workers[i].steps.all() {
			if 2*s.Round > r.round() {
				at[s.Bits]++
				all++
			}
		}
	}
	for _, bound := range []struct {
		bits      int
		is, wants string
	}{{high, "most", "more"}, {low, "fewest", "fewer"}} {
		if n := at[bound.bits]; all >= enough && float64(n) >= steady*float64(all) {
			return []Sentence{says(BitsAtBound, Warning, "%s of the records of the second half have %d bits, the %s that "+
				"the run file allows: the controller may want %s",
				human.Percent(float64(n)/float64(all)), bound.bits, bound.is, bound.wants).in(r.round()/2+1, r.round())}
		}
	}
	return nil
}

// entropy says that entropy coding saves next to nothing.
func (r *Record) entropy() []Sentence {
	var payload, stream float64
	for i := range r.workers {
		payload += float64(r.workers[i].Last.Sent.Payload)
		stream += float64(r.workers[i].Last.Messages.Stream)
	}
	if !r.facts.Entropy || payload == 0 || 1-stream/payload > little {
		return nil
	}
	return []Sentence{says(EntropyIdle, Warning, "entropy coding saves %s of the bytes, headers included: without "+
		"it coding takes less time", human.Percent(max(0, 1-stream/payload)))}
}
