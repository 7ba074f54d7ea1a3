package record

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Targets are the values until which the time of a run is measured; 0: none.
type Targets struct {
	Loss     float64 `json:"loss,omitempty"`     // training loss
	Accuracy float64 `json:"accuracy,omitempty"` // on the test set
}

// A Target is one of Targets.
type Target struct {
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
}

// Metrics of targets.
const (
	TrainingLoss = "training loss"
	TestAccuracy = "accuracy"
)

// List returns the targets that are set: the loss, then the accuracy.
func (t Targets) List() []Target {
	var all []Target
	if t.Loss > 0 {
		all = append(all, Target{TrainingLoss, t.Loss})
	}
	if t.Accuracy > 0 {
		all = append(all, Target{TestAccuracy, t.Accuracy})
	}
	return all
}

// Reach returns when the run reached the target, nil if it never did.
func (r *Run) Reach(t Target) *Reached {
	if t.Metric == TestAccuracy {
		return r.ReachAccuracy(t.Value)
	}
	return r.ReachLoss(t.Value)
}

func (t Target) String() string { return fmt.Sprintf("%s %g", t.Metric, t.Value) }

// A Reached says when a run reached a target, in seconds since its first round. Time and Bytes are interpolated between
// two records. The run certainly reached the target after After and not later than Seen.
type Reached struct {
	Time  float64 `json:"time_s"`
	After float64 `json:"after_s"` // the last record above the target; 0: there is none
	Seen  float64 `json:"seen_s"`  // the first record at the target
	Bytes int64   `json:"bytes"`   // sent until then, mean over the workers
}

// Known reports whether the time was measured. Else the run was at the target in the first record that can tell, and
// may have been there at any time before Seen.
func (r *Reached) Known() bool { return r.After > 0 }

// ReachLoss returns when the smoothed training loss first was at most target, nil if it never was. Only complete means
// count, so the time is the same however long the run goes on after it.
func (r *Run) ReachLoss(target float64) *Reached {
	moments := r.Progress()
	losses := CompleteMeans(moments)
	for i, loss := range losses {
		at := beside + i
		switch {
		case !(loss <= target): // NaN: no script has logged one
		case i == 0 || math.IsNaN(losses[i-1]): // earlier losses are unknown
			return between(Moment{}, moments[at], 1)
		default:
			return between(moments[at-1], moments[at], (losses[i-1]-target)/(losses[i-1]-loss))
		}
	}
	return nil
}

// ReachAccuracy returns when the accuracy on the test set first was at least target, nil if it was in no evaluation.
func (r *Run) ReachAccuracy(target float64) *Reached {
	points := slices.DeleteFunc(r.Curve(), func(p Point) bool { return Number(p.Accuracy) == nil })
	moments := r.Progress()
	for i, p := range points {
		switch {
		case p.Accuracy < target:
		case i == 0: // earlier accuracies are unknown
			return between(Moment{}, MomentAt(moments, float64(p.Round)), 1)
		default:
			before := points[i-1]
			a, b := MomentAt(moments, float64(before.Round)), MomentAt(moments, float64(p.Round))
			return between(a, b, (target-before.Accuracy)/(p.Accuracy-before.Accuracy))
		}
	}
	return nil
}

// MomentAt returns the moment of a round, interpolated between records. After the last record it is the last one.
func MomentAt(moments []Moment, round float64) Moment {
	before := Moment{}
	for _, m := range moments {
		if m.Round >= round {
			return mixed(before, m, (round-before.Round)/(m.Round-before.Round))
		}
		before = m
	}
	return before
}

// mixed returns the moment at a share of the way from a to b, with its time, round and bytes.
func mixed(a, b Moment, share float64) Moment {
	if !(share > 0) {
		return a
	}
	a.Time += time.Duration(share * float64(b.Time-a.Time))
	a.Round += share * (b.Round - a.Round)
	a.Sent.Wire += int64(share * float64(b.Sent.Wire-a.Sent.Wire))
	return a
}

// between returns a target that was reached between two moments.
func between(a, b Moment, share float64) *Reached {
	m := mixed(a, b, min(share, 1))
	return &Reached{Time: m.Time.Seconds(), After: a.Time.Seconds(), Seen: b.Time.Seconds(), Bytes: m.Sent.Wire}
}
