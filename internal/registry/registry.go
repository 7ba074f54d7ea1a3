// Package registry lists the choices of a run file: one row per algorithm and per compressor, with all its properties.
// The schema of run files, their rules, the assembly of runs, the tables of the documents and the check of the
// reference vectors are made from these rows.
//
// Defaults are closed: a run file may only use what its row allows. The package builds update rules and compressors
// from their parts; it knows no run file.
package registry

import (
	"cmp"
	"slices"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// An Algorithm is one row: a value of algorithm.name, or one form of a name that has several. The zero value of a field
// forbids.
type Algorithm struct {
	Name string
	Form string // value of algorithm.reduce that chooses among the rows of a name; "": there is one row
	Text AlgorithmText

	Sends Sends
	Takes Takes
	On    Graph
	Theta Theta // of rows with the codec Moniqua
	// Gamma is the rule of algorithm.gamma: the largest safe consensus step with a
	// compressor of fidelity f on a graph with β = 1 − λₙ.
	Gamma  func(f Fidelity, beta float64) float64
	Vector Vectors
	// Reads: the rule reads update directions and neither writes to them nor keeps them. They may lie in the worker's
	// momentum then.
	Reads bool
	Fix   string // advice for a run that diverges; <compressor> and <bits> stand for its settings

	// Build makes the update rule of one worker. Pair makes the rule of workers that meet in pairs and share no rounds.
	// A row has one of the two.
	Build func(Parts) (gossip.Algorithm, error)
	Pair  func(Parts) *algos.ADPSGD
}

// AlgorithmText describes a row for the documents.
type AlgorithmText struct {
	Title string // in papers
	Paper string
	Sent  string // per round
	Mean  string // whether the mean of the models moves by gradients alone
}

// Sends describes the messages.
type Sends struct {
	Codecs     []string // values of algorithm.codec; none: models do not travel by a codec
	Lanes      []Lane   // values that the codecs carry, by hop; nil: models, in one hop
	Compressor Want     // suitable compressors; NoCompressor: it uses none
	Feedback   Want     // the same with algorithm.error_feedback; NoCompressor: no choice
	// Spans returns the number of parameters that a message covers; nil: the whole model.
	Spans  func(dim, workers int) int
	Frames func(rows []topology.Sequence) Frames
	// Early: messages depend on x_k alone. They travel while the gradient is computed, unless algorithm.order is atc.
	Early bool
	Label string // in tables, with models by Moniqua
}

// A Lane is one of an exchange's messages that codecs carry. Each lane has its own codec with its own noise and bound;
// lane 0 has the seed of the run. Rows with one hop and two lanes send both in one message, as pieces.
type Lane struct {
	// Models: its values differ between neighbours in proportion to the step size.
	Models bool
}

// MoniquaPaper is the paper of the codec Moniqua.
const MoniquaPaper = "Lu and De Sa, ICML 2020"

// The values of algorithm.codec.
const (
	Moniqua = "moniqua"
	Full    = "full"
)

// Frames counts the messages of a round that exchanges, without empty ones. On graphs that change it is the round with
// the most.
type Frames struct {
	Most []int // by hop: of the worker that sends the most
	All  int   // of all workers in all hops
}

// Hops returns how many messages of an exchange a worker of n keeps for each neighbour.
func (s Sends) Hops(n int) int {
	if s.Spans == nil { // only chunks of a model have more hops among more workers
		n = 1
	}
	// Rows without neighbours have hops, too, and no messages that take time to count.
	return len(s.Frames(slices.Repeat([]topology.Sequence{topology.Row{}}, n)).Most)
}

// Takes says which settings and policies a row supports.
type Takes struct {
	Order      bool       // algorithm.order is a choice
	Clip       bool       // algorithm.clip
	Momentum   bool       // train.momentum is the β of the algorithm, which takes no other optimizer than sgd
	Eta        bool       // algorithm.eta
	LocalSteps Permission // algorithm.local_steps above 1
	Reweight   Permission // faults.on_lost_neighbor: reweight
	Controller Permission // algorithm.controller other than fix
	Views      Permission // membership.mode: view: its rule is a gossip.Restarter
}

// A Permission says whether a row supports a setting, or why not.
type Permission struct {
	Given bool
	Why   string // why not: the rest of a sentence that begins with the row's name
}

// Reason returns why the permission is not given.
func (p Permission) Reason() string {
	return cmp.Or(p.Why, "is not known to allow it")
}

// A Graph says on which graphs a row runs.
type Graph struct {
	Kind topology.Kind                             // its own graph; "": that of the run file
	Rows func(*topology.Graph) []topology.Sequence // senders and receivers by worker; nil: neighbours of the graph
	// Changing: it also runs on kinds that are not static, whose edges are directed or change. Rows with a graph of
	// their own need no permission.
	Changing Permission
	Need     string                          // condition on W; "": none
	Met      func(topology.Spectrum) bool    // whether W meets it; nil without Need
	Most     func(topology.Spectrum) float64 // the slack below which W meets it, as a factor; nil without Need
}

// Theta describes the rules for Moniqua's bound θ.
type Theta struct {
	// Certificate returns the sums of the certified rule; nil: there is none. The spectrum is that of a static graph.
	Certificate func(*topology.Graph, topology.Spectrum, Settings) (Sums, error)
	// Tracks: there are two lanes, of models and of tracked directions. The certificate is moniqua.Tracked.
	Tracks bool
	// Uncertified says why there is no certificate, "" if there is one.
	Uncertified string
	Theorem     bool // the theorem gives constants
	// Noise returns the factor by which W with a slack amplifies the noise of rounding. It is the mean square of the
	// differences of neighbours, for noise of variance 1. Each row with Moniqua has it, for topology.slack: auto. On
	// graphs that are not static, that of the graph takes its place.
	Noise func(topology.Spectrum, Settings) float64
	// ByDegree: on any graph Noise is below the largest degree, which is quick to compute.
	ByDegree bool
}

// Sums are the values of a graph that the certified rule uses.
type Sums struct{ S, S1, Rho float64 }

// A Fidelity says how C(z) relates to z, as measured on a normal vector.
type Fidelity struct {
	Share float64 // s = ⟨C(z), z⟩/|z|²: the part of z that is kept
	Gain  float64 // t = |C(z)|²/⟨C(z), z⟩: 1 for a projection, above 1 with noise
}

// Vectors counts the vectors that a worker keeps beyond those of D-PSGD.
type Vectors struct {
	Own       int
	Neighbour int    // for each neighbour
	Local     int    // with local steps
	Feedback  int    // with error feedback
	Kind      string // "snapshot" for vectors that the algorithm does not keep
}

// Of returns the vectors of a worker with this number of neighbours.
func (v Vectors) Of(neighbours int) int { return v.Own + v.Neighbour*neighbours }

// Algorithms returns all rows, those of one name next to each other.
func Algorithms() []Algorithm { return slices.Clone(algorithms) }

// Names returns the names of the rows for which fits is true, each once, in the order of the table; nil stands for all
// rows.
func Names(fits func(Algorithm) bool) []string {
	var names []string
	for _, a := range algorithms {
		if (fits == nil || fits(a)) && !slices.Contains(names, a.Name) {
			names = append(names, a.Name)
		}
	}
	return names
}

// Forms returns the forms of all names with several.
func Forms() []string {
	var forms []string
	for _, a := range algorithms {
		if a.Form != "" {
			forms = append(forms, a.Form)
		}
	}
	return forms
}

// Find returns the row of a name and, where the name has several, a form.
func Find(name, form string) (Algorithm, bool) {
	for _, a := range algorithms {
		if a.Name == name && (a.Form == "" || a.Form == form) {
			return a, true
		}
	}
	return Algorithm{}, false
}

// String names the row for people: dpsgd, allreduce by server.
func (a Algorithm) String() string {
	if a.Form == "" {
		return a.Name
	}
	return a.Name + " by " + a.Form
}

// ByCodec says whether models travel by algorithm.codec.
func (a Algorithm) ByCodec() bool { return len(a.Sends.Codecs) > 0 }

// ByMoniqua says whether models can travel by Moniqua.
func (a Algorithm) ByMoniqua() bool { return slices.Contains(a.Sends.Codecs, Moniqua) }

// Lanes returns the lanes that codecs carry, by hop; nil where there are none.
func (a Algorithm) Lanes() []Lane {
	if a.ByCodec() && len(a.Sends.Lanes) == 0 {
		return []Lane{{Models: true}}
	}
	return a.Sends.Lanes
}

// Compresses says whether algorithm.compressor makes the messages.
func (a Algorithm) Compresses() bool { return a.Sends.Compressor != NoCompressor }

// Asynchronous says whether workers share no rounds.
func (a Algorithm) Asynchronous() bool { return a.Pair != nil }

// Neighbours returns, by worker, the senders and receivers on g.
func (a Algorithm) Neighbours(g *topology.Graph) []topology.Sequence {
	if a.On.Rows != nil {
		return a.On.Rows(g)
	}
	return g.Sequences()
}

// Together returns the rows of n workers, by rank, of a row that needs all of them in every exchange; nil where workers
// mix with neighbours.
func (a Algorithm) Together(seed uint64) func(n int) ([]topology.Sequence, error) {
	if a.On.Kind == "" {
		return nil
	}
	return func(n int) ([]topology.Sequence, error) {
		g, err := topology.New(topology.Spec{Kind: a.On.Kind, N: n, Slack: 1, Seed: seed})
		if err != nil {
			return nil, err
		}
		return a.Neighbours(g), nil
	}
}

// Parts are the components of one worker's update rule. A row uses those that it needs.
type Parts struct {
	Rank    topology.Rank // the address of noise; where members come and go, an id
	Seat    int           // the place among the workers of an all-reduce, 0 to Workers−1
	Workers int
	Rows    topology.Sequence
	X       []float32 // the first model, or the one that was saved; owned by the rule
	Alpha   algos.StepSize
	Seed    uint64
	// Codecs carry the lanes, by hop; Link carries models between this worker and one other.
	Codecs []algos.Codec
	Link   func(peer topology.Rank) algos.Codec
	// Compressor returns another instance of a worker's C(·). Server is the address of the messages of a server, which no
	// worker has.
	Compressor func(of topology.Rank) (quant.Compressor, error)
	After      algos.Optimizer // of the mean gradient; nil: workers send directions
	Server     topology.Rank
	Settings
}

// Settings are those of an algorithm.
type Settings struct {
	Order      algos.Order
	Gamma      float32
	Eta        float32 // η in (0, 1]
	Momentum   float32 // β of rows with a momentum of their own
	LocalSteps int
	Slack      float64
	Clip       *algos.Clip // nil: mixing is not clipped
	Feedback   bool
}

// compression returns the compressors that the worker needs.
func (p Parts) compression() (algos.Compression, error) {
	own, err := p.Compressor(p.Rank)
	if err != nil {
		return algos.Compression{}, err
	}
	all := algos.Compression{Own: own}
	if p.Rows.Period() != 1 {
		all.Of = p.senders()
		return all, nil
	}
	for _, e := range p.Rows.At(0).In {
		of, err := p.Compressor(e.Peer)
		if err != nil {
			return algos.Compression{}, err
		}
		all.In = append(all.In, of)
	}
	return all, nil
}

// senders returns the compressors of neighbours that change. It makes each when its first message comes.
func (p Parts) senders() func(topology.Rank) quant.Compressor {
	known := map[topology.Rank]quant.Compressor{}
	return func(rank topology.Rank) quant.Compressor {
		if _, ok := known[rank]; !ok {
			made, err := p.Compressor(rank)
			if err != nil {
				panic("internal error: registry: " + err.Error()) // that of the worker itself was made
			}
			known[rank] = made
		}
		return known[rank]
	}
}
