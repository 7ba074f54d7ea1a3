package export

import (
	"math"
	"slices"
	"time"

	"gossiptrainer/internal/record"
)

// A scalar is a curve of a run. These are all the exported series.
type scalar struct {
	name    string // group/curve, with the unit at its end: the tag in TensorBoard, the column of CSV
	meaning string

	// The events that tell it; nil: this kind of event does not. NaN stands for no value.
	step    func(s *record.Step) float64
	score   func(s *record.Score) float64
	final   func(f *record.Final) float64
	summary func(s *record.Summary) float64 // only of the average

	over combination // of the workers
}

// A combination makes the value of the average from those of the workers.
type combination int

const (
	mean combination = iota
	largest
	total
)

// positive returns a value that is missing where it is 0.
func positive[T int | int64 | float64](v T) float64 {
	if v == 0 {
		return math.NaN()
	}
	return float64(v)
}

func known(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// violations counts wrongly recovered messages, if there is a bound and the count is known.
func violations(t record.Theta) float64 {
	if t.Value == 0 || t.Violations == nil {
		return math.NaN()
	}
	return float64(*t.Violations)
}

func repaired(t record.Theta) float64 {
	if t.Value == 0 {
		return math.NaN()
	}
	return float64(t.Repaired)
}

func seconds(d time.Duration) float64 { return d.Seconds() }

// scalars is the table, in the order of the columns.
var scalars = []scalar{
	{name: "loss/train", meaning: "training loss of the mini-batch",
		step: func(s *record.Step) float64 { return s.Loss }},
	{name: "loss/test", meaning: "loss on the test set",
		score: func(s *record.Score) float64 { return s.Loss },
		final: func(f *record.Final) float64 { return f.Loss }},
	{name: "accuracy/test", meaning: "accuracy on the test set",
		score: func(s *record.Score) float64 { return s.Accuracy },
		final: func(f *record.Final) float64 { return f.Accuracy }},
	{name: "loss/test_mean", meaning: "loss on the test set, mean over the final models",
		summary: func(s *record.Summary) float64 { return known(s.Loss) }},
	{name: "accuracy/test_mean", meaning: "accuracy on the test set, mean over the final models",
		summary: func(s *record.Summary) float64 { return known(s.Accuracy.Mean) }},
	{name: "accuracy/test_least", meaning: "accuracy on the test set of the worst final model",
		summary: func(s *record.Summary) float64 { return known(s.Accuracy.Min) }},
	{name: "accuracy/average_model", meaning: "accuracy on the test set of the mean of the final models",
		summary: func(s *record.Summary) float64 { return known(s.Accuracy.AverageModel) }},
	{name: "consensus/gap", over: largest, meaning: "largest distance of a neighbour's recovered model in any coordinate",
		step: func(s *record.Step) float64 { return s.Gap }},
	{name: "consensus/moved", meaning: "coordinates in which a neighbour's index differed",
		step: func(s *record.Step) float64 { return float64(s.Moved) }},
	{name: "consensus/final", meaning: "largest distance of a final model from the mean of all, in any coordinate",
		summary: func(s *record.Summary) float64 { return known(s.Consensus) }},
	{name: "theta/bound", over: largest, meaning: "bound of the modulo codec",
		step: func(s *record.Step) float64 { return positive(s.Theta) }},
	{name: "theta/violations", over: total, meaning: "messages that were recovered wrongly in the run",
		final:   func(f *record.Final) float64 { return violations(f.Theta) },
		summary: func(s *record.Summary) float64 { return violations(s.Theta) }},
	{name: "theta/repaired", over: total, meaning: "messages that were repaired before use in the run",
		final:   func(f *record.Final) float64 { return repaired(f.Theta) },
		summary: func(s *record.Summary) float64 { return repaired(s.Theta) }},
	{name: "bits/message", meaning: "bits per parameter of the messages of the round",
		step: func(s *record.Step) float64 { return positive(s.Bits) }},
	{name: "bits/stream", meaning: "bits per parameter sent so far, with headers and after entropy coding",
		step: func(s *record.Step) float64 { return positive(s.Effective) }},
	{name: "time/compute_seconds", meaning: "time for the gradient of the round",
		step: func(s *record.Step) float64 { return seconds(s.Compute) }},
	{name: "time/wait_seconds", meaning: "time that the round waited for neighbours",
		step: func(s *record.Step) float64 { return seconds(s.Wait) }},
	{name: "time/codec_seconds", meaning: "time to encode, decode and mix in the round",
		step: func(s *record.Step) float64 { return seconds(s.Codec) }},
	{name: "time/handover_seconds", meaning: "time to copy vectors to and from a script in the round",
		step: func(s *record.Step) float64 { return positive(seconds(s.HandOver)) }},
	{name: "sent/payload_bytes", meaning: "payloads sent since the start, before entropy coding",
		step: func(s *record.Step) float64 { return float64(s.Sent.Payload) }},
	{name: "sent/stream_bytes", meaning: "frames sent since the start, with headers",
		step: func(s *record.Step) float64 { return float64(s.Sent.Stream) }},
	{name: "sent/wire_bytes", meaning: "bytes sent on the wire since the start",
		step: func(s *record.Step) float64 { return float64(s.Sent.Wire) }},
	{name: "sent/messages", meaning: "messages sent since the start, without repairs",
		step: func(s *record.Step) float64 { return float64(s.Messages.Count) }},
	{name: "received/payload_bytes", meaning: "payloads received since the start",
		step: func(s *record.Step) float64 { return float64(s.Received.Payload) }},
	{name: "received/stream_bytes", meaning: "frames received since the start, with headers",
		step: func(s *record.Step) float64 { return float64(s.Received.Stream) }},
	{name: "received/wire_bytes", meaning: "bytes received on the wire since the start",
		step: func(s *record.Step) float64 { return float64(s.Received.Wire) }},
	{name: "memory/extra_bytes", over: largest, meaning: "memory of the algorithm beyond D-PSGD",
		final:   func(f *record.Final) float64 { return float64(f.ExtraMemory) },
		summary: func(s *record.Summary) float64 { return float64(s.ExtraMemory) }},
	{name: "memory/peak_bytes", over: largest, meaning: "most memory that the process had",
		final: func(f *record.Final) float64 { return positive(f.Peak) }},
}

// A row holds the values of one worker, or of the average, at one round.
type row struct {
	worker int // rank, or record.Average
	round  int
	time   time.Duration // since the first round began
	values []float64     // by scalar; NaN: none
}

// valuesOf asks every scalar for its value.
func valuesOf(value func(of *scalar) float64) []float64 {
	values := make([]float64, len(scalars))
	for i := range scalars {
		values[i] = value(&scalars[i])
	}
	return values
}

// empty reports whether no scalar has a value.
func (r *row) empty() bool {
	return !slices.ContainsFunc(r.values, func(v float64) bool { return record.Number(v) != nil })
}

func stepRow(s *record.Step) row {
	return row{s.Rank, s.Round, s.Time, valuesOf(func(of *scalar) float64 { return ask(of.step, s) })}
}

// scoreRow returns the row of a score, which carries no time of its own.
func scoreRow(s *record.Score, at time.Duration) row {
	return row{s.Rank, s.Round, at, valuesOf(func(of *scalar) float64 { return ask(of.score, s) })}
}

func finalRow(f *record.Final) row {
	return row{f.Rank, f.Rounds, f.Time, valuesOf(func(of *scalar) float64 { return ask(of.final, f) })}
}

func summaryRow(s *record.Summary) row {
	took := time.Duration(s.Time * float64(time.Second))
	return row{record.Average, s.Rounds, took, valuesOf(func(of *scalar) float64 { return ask(of.summary, s) })}
}

func ask[E any](value func(*E) float64, e *E) float64 {
	if value == nil {
		return math.NaN()
	}
	return value(e)
}
