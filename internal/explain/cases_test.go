package explain

import (
	"math"
	"slices"
	"testing"
	"time"

	"gossiptrainer/internal/record"
)

func timeCases() map[string]example {
	ms := time.Millisecond
	split := func(compute, wait, codec time.Duration) *run {
		return healthy().accounts(func(l *record.Links) {
			n := time.Duration(l.Rounds)
			l.Spent = record.Spent{Compute: n * compute, Wait: n * wait, Codec: n * codec, CPU: n * (compute + codec)}
		})
	}
	limited := split(4*ms, ms, 5*ms).accounts(func(l *record.Links) { l.Uplink = 1e6 })
	return map[string]example{
		"compute bound": {ComputeBound, split(9*ms, ms/2, ms/2),
			"gradients take 90 % of the time and waiting for messages 5 %"},
		"some waiting": {ComputeBound, split(7*ms, 2*ms, ms), ""},
		"network bound": {NetworkBound, split(3*ms, 6*ms, ms),
			"all workers wait for messages, for 60 % of the time in the median, and gradients take 30 %: no link is saturated"},
		"one does not wait": {NetworkBound, slowed(2), ""},
		"codec": {CodecBound, split(5*ms, ms, 4*ms),
			"coding takes 40 % of the time and waiting for messages 10 %"},
		"codec pays":       {CodecBound, limited, ""}, // 32 bits would take 53 ms more on the link
		"codec at 32 bits": {CodecBound, split(5*ms, ms, 4*ms).each(func(s *record.Step) { s.Bits = 32 }), ""},
		"rest":             {Beside, split(5*ms, ms, ms), "30 % of the time of the median worker is neither"},
		"no rest":          {Beside, split(8*ms, ms, ms), ""},
		"rest of one": {Beside, healthy().accounts(func(l *record.Links) {
			if l.Rank == 3 {
				l.Spent.Wait, l.Spent.Compute = 0, l.Spent.Compute/2
			}
		}), "of the time of worker 3 is neither"},
		"processors": {CPUShared, healthy().accounts(func(l *record.Links) { l.Spent.CPU /= 2 }),
			"took 11.5 s, in which their processes had a processor for 5.76 s"},
		"own processors": {CPUShared, healthy(), ""},
		"no processes":   {CPUShared, healthy().accounts(func(l *record.Links) { l.Spent.CPU = 0 }), ""},
		"processors of a script": {CPUShared, healthy().accounts(func(l *record.Links) { l.Spent.CPU /= 9 }).
			each(func(s *record.Step) { s.HandOver = ms }), ""},
	}
}

func linkCases() map[string]example {
	pair := func(alone time.Duration) *run {
		return healthy().accounts(func(l *record.Links) {
			n := time.Duration(l.Rounds)
			for _, e := range [][2]int{{0, 1}, {1, 0}} {
				if l.Rank == e[0] {
					toward(l, e[1], func(link *record.Link) { link.Last, link.Alone = l.Rounds*8/10, n*alone })
				}
			}
		})
	}
	limit := func(bits float64) *run {
		return healthy().accounts(func(l *record.Links) {
			if l.Rank == 4 {
				toward(l, 5, func(link *record.Link) { link.Limit = bits })
			}
		})
	}
	uplink := func(bits float64) *run { return healthy().accounts(func(l *record.Links) { l.Uplink = bits }) }
	noAccounts := slowed(1)
	noAccounts.links = nil
	noAccounts.each(func(s *record.Step) {
		if s.Rank == 2 {
			s.Compute *= 3
		}
	})
	return map[string]example{
		"straggler": {Straggler, slowed(2.1),
			"workers 1 and 3 wait for worker 2 in 90 % of rounds, 30 % of the time: " +
				"the gradients of worker 2 take 2.1 times the median (14.7 ms, median 7 ms)"},
		"straggler for no reason": {Straggler, slowed(1.2), "the record does not show why"},
		"straggler without processor": {Straggler, slowed(2.1).accounts(func(l *record.Links) {
			if l.Rank == 2 {
				l.Spent.CPU /= 2
			}
		}), "and its process used a processor for 25 % of its gradients and coding"},
		"straggler with a limit": {Straggler, slowed(1).accounts(func(l *record.Links) {
			if l.Rank == 2 {
				l.Uplink = 1.8e6
			}
		}), "of what its limit of 1.8 Mbit/s allows"},
		"nobody is waited for alone":    {Straggler, healthy(), ""},
		"slow gradients without waits":  {Straggler, noAccounts, "the record does not tell who waits for it"},
		"equal gradients without waits": {Straggler, &run{facts: healthy().facts, steps: healthy().steps}, ""},
		"slow link":                     {SlowLink, pair(3 * time.Millisecond), "workers 0 and 1 wait for each other"},
		"link that costs nothing":       {SlowLink, pair(time.Millisecond / 10), ""},
		"link of a straggler":           {SlowLink, slowed(2), ""},
		"link at its limit":             {LinkLimit, limit(0.9e6), "link 4-5 carries 98 % of its limit of 900 kbit/s"},
		"link below its limit":          {LinkLimit, limit(2e6), ""},
		"uplinks at their limit":        {LinkLimit, uplink(1.9e6), "send 93 % of what the limits of their uplinks allow"},
		"uplinks below their limit":     {LinkLimit, uplink(1e7), ""},
	}
}

func learningCases() map[string]example {
	loss := func(of func(round float64) float64) *run {
		return healthy().each(func(s *record.Step) { s.Loss = of(float64(s.Round)) })
	}
	return map[string]example{
		"diverged": {Diverged, loss(func(k float64) float64 {
			if k > 100 {
				return math.Inf(1)
			}
			return 1
		}), "the loss of worker 0 is not finite in round 104"},
		"finite": {Diverged, healthy(), ""},
		"loss rises": {LossRises, loss(func(k float64) float64 { return 0.4 + math.Abs(k-120)/120 }),
			"the training loss rises since round 1"},
		"loss falls": {LossRises, healthy(), ""},
		"loss that is learned rises a little": {LossRises, loss(func(k float64) float64 {
			return 2*math.Exp(-k/10) + 0.002 + 0.0001*k
		}), ""},
		"loss that falls at once rises a little": {LossRises, loss(func(k float64) float64 {
			return math.Exp(-k/3) + 0.00002*k
		}), ""},
		"loss of mini-batches varies": {LossRises, loss(func(k float64) float64 {
			return map[bool]float64{true: 1, false: 0.01 + k/1000}[int(k)%20 == 0]
		}), ""},
		"records of one worker with harder data": {LossRises, healthy().each(func(s *record.Step) {
			if s.Loss = 0.1; s.Rank == 2 {
				s.Loss = 0.5
			}
			if s.Round > 150 && s.Rank != 2 {
				s.Round = 150 // the others are behind
			}
		}), ""},
		"loss is flat": {LossFlat, loss(func(k float64) float64 { return 0.7 + max(0, 60-k) }),
			"does not fall any more: 0.7 around round 120"},
		"never falls": {LossFlat, loss(func(float64) float64 { return 0.7 }), "does not fall at all"},
		"still falls": {LossFlat, healthy(), ""},
		"no losses":   {LossFlat, loss(func(float64) float64 { return math.NaN() }), ""},
		"gap grows": {GapGrows, healthy().each(func(s *record.Step) { s.Gap = math.Exp(float64(s.Round) / 50) }),
			"the models of neighbours drift apart"},
		"gap stays": {GapGrows, healthy(), ""},
	}
}

func codecCases() map[string]example {
	violated := func(from, to int, repaired bool) *run {
		return healthy().accounts(func(l *record.Links) {
			l.Violations = int64(max(0, min(l.Round, to)-from)) / 10
			if repaired {
				l.Repaired = l.Violations
			}
		})
	}
	bits := func(n int) *run {
		r := healthy().each(func(s *record.Step) { s.Bits = n })
		r.facts.LeastBits, r.facts.MostBits = 2, 8
		return r
	}
	coded := func(stream int64) *run {
		r := healthy().each(func(s *record.Step) { s.Messages.Stream = stream * int64(s.Round) })
		r.facts.Entropy = true
		return r
	}
	atEnd := int64(90)
	known := healthy()
	known.more = []record.Event{{Final: &record.Final{Rank: 0, Theta: record.Theta{Violations: &atEnd}}}}
	repaired := violated(0, 240, true).each(func(s *record.Step) { s.Messages.Stream = s.Sent.Stream * 3 / 4 })
	return map[string]example{
		"violated in a part": {ThetaViolated, violated(40, 100, true),
			"theta was violated in 5 % of the messages of rounds 41 to 100, and in 1.2 % of all: all were repaired, which " +
				"costs bytes and time: a larger theta fits, and the rule measured begins with one"},
		"violated and repaired at little cost": {ThetaViolated, violated(40, 80, true), ""},
		"violated all along": {ThetaViolated, violated(0, 240, false),
			"theta was violated in 5 % of the messages: they were used"},
		"violated, from a sim": {ThetaViolated, known, "theta was violated in 3.1 % of the messages"},
		"not violated":         {ThetaViolated, healthy(), ""},
		"repairs": {Repairs, repaired,
			"repairs and requests take 25 % of the bytes: 144 messages were repaired"},
		"few repairs": {Repairs, violated(0, 240, true), ""},
		"near theta": {NearTheta, healthy().each(func(s *record.Step) { s.Gap = 0.9 }),
			"in 100 % of the records neighbours differ by 80 % of theta or more"},
		"far from theta":    {NearTheta, healthy(), ""},
		"bits at the most":  {BitsAtBound, bits(8), "have 8 bits, the most that the run file allows"},
		"bits at the least": {BitsAtBound, bits(2), "have 2 bits, the fewest"},
		"bits between":      {BitsAtBound, bits(5), ""},
		"bits are fixed":    {BitsAtBound, healthy(), ""},
		"entropy idle":      {EntropyIdle, coded(1990), "entropy coding saves 0.5 % of the bytes"},
		"entropy saves":     {EntropyIdle, coded(1500), ""},
		"no entropy coding": {EntropyIdle, healthy(), ""},
	}
}

func faultCases() map[string]example {
	status := func(rank int, state record.State) record.Event {
		return record.Event{Status: &record.Status{Rank: rank, State: state}}
	}
	lost := healthy()
	lost.more = []record.Event{status(3, record.Lost)}
	broke := healthy().accounts(func(l *record.Links) {
		if l.Rank == 1 {
			toward(l, 2, func(link *record.Link) { link.Lost = 3 })
		}
	})
	killed := *broke
	killed.more = []record.Event{status(2, record.Returning)}
	rows := func(of ...int) *run {
		r := healthy()
		for rank, n := range of {
			r.more = append(r.more, record.Event{Final: &record.Final{Rank: rank, Data: &record.Rows{Train: n}}})
		}
		return r
	}
	return map[string]example{
		"lost":     {WorkerLost, lost, "worker 3 is lost: round 240 is its last one on record"},
		"not lost": {WorkerLost, healthy(), ""},
		"returned": {Returned, returned(),
			"the process of worker 1 died and came back 1 time, and its rounds around that took 5 s"},
		"never died":             {Returned, healthy(), ""},
		"link broke":             {LinkLost, broke, "link 1-2 broke 3 times"},
		"link of a dead process": {LinkLost, &killed, ""},
		"few rows": {FewSamples, rows(1000, 100, 1200, 1000),
			"worker 1 trains on 100 rows, the median worker on 1000"},
		"even rows": {FewSamples, rows(1000, 900, 1200, 1000), ""},
	}
}

// returned is a run whose worker 1 dies after round 100 and needs 5 s more for its next rounds on record.
func returned() *run {
	r := healthy()
	for i := range r.steps {
		if r.steps[i].Round > 100 {
			r.steps[i].Time += 5 * time.Second
		}
	}
	at := slices.IndexFunc(r.steps, func(s record.Step) bool { return s.Round > 100 })
	for i := range r.steps[:at] {
		r.before = append(r.before, record.Event{Step: &r.steps[i]})
	}
	r.before = append(r.before, record.Event{Status: &record.Status{Rank: 1, State: record.Returning}})
	r.steps, r.links = r.steps[at:], r.links[at:]
	return r
}

// A thin list keeps values from all of the run, and never more than its bound.
func TestThinListsKeepAllOfARun(t *testing.T) {
	list := thin[int]{most: 8}
	for i := range 1000 {
		list.add(i)
		if len(list.kept) > 8 {
			t.Fatalf("%d values are kept", len(list.kept))
		}
	}
	for i, v := range list.kept {
		if want := i * list.stride; v != want {
			t.Errorf("value %d is %d, want %d", i, v, want)
		}
	}
	if last := list.kept[len(list.kept)-1]; last < 750 {
		t.Errorf("the last value is %d of 999", last)
	}
}

// Whatever the numbers of a record are, there are sentences of it, or none.
func FuzzSentences(f *testing.F) {
	f.Add(3, 40, int64(5), 0.5, int64(100), uint8(0))
	f.Add(0, 0, int64(0), math.NaN(), int64(-1), uint8(1))
	f.Add(1, 1<<40, int64(-7), math.Inf(1), int64(math.MaxInt64), uint8(7))
	f.Fuzz(func(t *testing.T, rank, round int, took int64, loss float64, count int64, bits uint8) {
		r := NewRecord(Facts{Workers: 4, LeastBits: 1, MostBits: 9, Entropy: true})
		for i := range 20 {
			rank := (rank + i) % 5
			r.See(record.Event{Step: &record.Step{Rank: rank, Round: round, Loss: loss, Time: time.Duration(took),
				Bits: int(bits), Sent: record.Bytes{Payload: count, Stream: count}, Theta: loss, Gap: loss}})
			r.See(record.Event{Links: &record.Links{Rank: rank, Round: round, Rounds: round, Time: time.Duration(took),
				Violations: count, Uplink: loss, Spent: record.Spent{Compute: time.Duration(took), CPU: time.Duration(count)},
				Links: []record.Link{{Peer: i - 3, Last: round, Alone: time.Duration(took), Limit: loss, Lost: count}}}})
			r.See(record.Event{Status: &record.Status{Rank: rank, State: record.Returning}})
			r.See(record.Event{Final: &record.Final{Rank: rank, Data: &record.Rows{Train: int(count)}}})
		}
		for _, s := range Sentences(r) {
			if s.Text == "" || !slices.Contains(kinds(), s.Kind) || !slices.Contains(severities(), s.Severity) {
				t.Errorf("%+v", s)
			}
		}
	})
}
