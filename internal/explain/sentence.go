package explain

import "fmt"

// A Kind names what a sentence says. It is stable, for programs.
type Kind string

// The kinds of sentences, in the order in which those of equal severity come.
const (
	Diverged      Kind = "diverged"       // the loss is not finite
	LossRises     Kind = "loss-rises"     // after it had fallen
	ThetaViolated Kind = "theta-violated" // messages were recovered wrongly
	WorkerLost    Kind = "worker-lost"    // the run went on without it
	Straggler     Kind = "straggler"      // others wait for a worker
	SlowLink      Kind = "slow-link"      // both ends wait for each other
	LinkLimit     Kind = "link-limit"     // a link carries what its limit allows
	CodecBound    Kind = "codec-bound"    // coding takes longer than waiting
	CPUShared     Kind = "cpu-shared"     // processes do not get the processors
	Beside        Kind = "beside"         // time outside gradients, coding and waiting
	Repairs       Kind = "repairs"        // bytes that are no messages of the algorithm
	GapGrows      Kind = "gap-grows"      // models drift apart
	NearTheta     Kind = "near-theta"     // differences come close to the bound
	LossFlat      Kind = "loss-flat"      // it does not fall any more
	Returned      Kind = "returned"       // a worker's process died and came back
	LinkLost      Kind = "link-lost"      // connections broke
	Paths         Kind = "path"           // which of several networks a link uses
	BitsAtBound   Kind = "bits-at-bound"  // the controller has no room
	EntropyIdle   Kind = "entropy-idle"   // entropy coding saves nothing
	FewSamples    Kind = "few-samples"    // of one worker
	NetworkBound  Kind = "network-bound"  // all workers wait for messages
	ComputeBound  Kind = "compute-bound"  // the network is not the limit
	TimeSplit     Kind = "time-split"     // where the time of a round went
)

// kinds returns the order of the kinds.
func kinds() []Kind {
	return []Kind{Diverged, LossRises, ThetaViolated, WorkerLost, Straggler, SlowLink, LinkLimit, CodecBound, CPUShared,
		Beside, Repairs, GapGrows, NearTheta, LossFlat, Returned, LinkLost, Paths, BitsAtBound, EntropyIdle, FewSamples,
		NetworkBound, ComputeBound, TimeSplit}
}

// A Severity says how much a sentence matters to its reader.
type Severity string

// The severities.
const (
	Problem Severity = "problem" // the run does not do what its user wants
	Warning Severity = "warning" // it could do better
	Note    Severity = "note"    // informational
)

// severities returns the severities, the highest first.
func severities() []Severity { return []Severity{Problem, Warning, Note} }

// A Sentence says one thing about a run, with its figures.
type Sentence struct {
	Kind     Kind     `json:"kind"`
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`             // English, without a period at its end
	Worker   *int     `json:"worker,omitempty"` // of which it speaks
	Edge     *[2]int  `json:"edge,omitempty"`   // of which it speaks, the smaller rank first
	From     int      `json:"from,omitempty"`   // the first round of which it speaks; 0: all
	To       int      `json:"to,omitempty"`     // the last one
}

// Pace reports whether a sentence is about how fast the run is, and says no more than that it could be faster. A run
// that is over soon needs none of them.
func (s Sentence) Pace() bool {
	return s.Severity == Warning && (s.Kind == CodecBound || s.Kind == CPUShared || s.Kind == Beside)
}

// says returns a sentence.
func says(kind Kind, severity Severity, format string, args ...any) Sentence {
	return Sentence{Kind: kind, Severity: severity, Text: fmt.Sprintf(format, args...)}
}

// of returns the sentence as one that speaks of a worker.
func (s Sentence) of(rank int) Sentence {
	s.Worker = &rank
	return s
}

// on returns the sentence as one that speaks of an edge.
func (s Sentence) on(i, j int) Sentence {
	s.Edge = &[2]int{min(i, j), max(i, j)}
	return s
}

// in returns the sentence as one that speaks of some rounds.
func (s Sentence) in(from, to int) Sentence {
	s.From, s.To = from, to
	return s
}
