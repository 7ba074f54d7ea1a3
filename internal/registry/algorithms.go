package registry

import (
	"math"
	"slices"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// algorithms is the table. The first row is the default.
var algorithms = []Algorithm{
	{
		Name: "dpsgd",
		Text: AlgorithmText{
			Title: "D-PSGD", Paper: "Lian et al., NeurIPS 2017",
			Sent: "deg messages", Mean: "yes",
		},
		Sends: Sends{Codecs: []string{Moniqua, Full}, Frames: toNeighbours(1), Early: true, Label: "moniqua"},
		Takes: Takes{Views: allowed, Order: true, Clip: true, LocalSteps: allowed, Reweight: allowed, Controller: allowed},
		On:    Graph{Changing: allowed},
		Theta: Theta{Certificate: pathSums, Theorem: true, Noise: plainNoise, ByDegree: true},
		Reads: true,
		Build: func(p Parts) (gossip.Algorithm, error) {
			return &algos.DPSGD{X: p.X, Alpha: p.Alpha, Codec: p.Codecs[0], Order: p.Order, Clip: p.Clip}, nil
		},
	},
	{
		Name: "d2",
		Text: AlgorithmText{
			Title: "D²", Paper: "Tang et al., ICML 2018",
			Sent: "deg messages", Mean: "yes",
		},
		Sends: Sends{Codecs: []string{Moniqua, Full}, Frames: toNeighbours(1), Label: "moniqua-d2"},
		Takes: Takes{
			Views:      allowed,
			LocalSteps: allowed, Controller: allowed,
			Reweight: Permission{Why: "corrects by the last round's W"},
		},
		On: Graph{
			Changing: Permission{Why: "corrects by the last round's W and diverges when W changes"},
			Need:     "a W with λₙ > -1/3", Met: topology.Spectrum.D2Admissible, Most: topology.Spectrum.D2MaxSlack,
		},
		Theta: Theta{
			Certificate: d2Sums, Noise: func(s topology.Spectrum, p Settings) float64 { return s.D2Noise(p.Slack) },
		},
		Vector: Vectors{Own: 1},
		Reads:  true,
		Build: func(p Parts) (gossip.Algorithm, error) {
			return &algos.D2{X: p.X, Alpha: p.Alpha, Codec: p.Codecs[0], Every: p.LocalSteps}, nil
		},
	},
	{
		Name: "qg",
		Text: AlgorithmText{
			Title: "QG-DSGDm", Paper: "Lin et al., ICML 2021", Sent: "deg messages", Mean: "with its momentum",
		},
		Sends: Sends{Codecs: []string{Moniqua, Full}, Frames: toNeighbours(1), Label: "moniqua-qg"},
		Takes: Takes{
			Views:    allowed,
			Momentum: true, LocalSteps: Permission{Why: ownMomentum}, Reweight: allowed, Controller: allowed,
		},
		On:     Graph{Changing: allowed},
		Theta:  Theta{Certificate: impulses(qgRule), Noise: impulseNoise(qgRule)},
		Vector: Vectors{Own: 1},
		Build: func(p Parts) (gossip.Algorithm, error) {
			return &algos.QG{X: p.X, Alpha: p.Alpha, Codec: p.Codecs[0], Beta: p.Momentum}, nil
		},
	},
	{
		Name: "decentlam",
		Text: AlgorithmText{
			Title: "DecentLaM", Paper: "Yuan et al., ICCV 2021", Sent: "deg messages", Mean: "with its momentum",
		},
		Sends: Sends{Codecs: []string{Moniqua, Full}, Frames: toNeighbours(1), Label: "moniqua-decentlam"},
		Takes: Takes{
			Views:    allowed,
			Momentum: true, LocalSteps: Permission{Why: ownMomentum}, Controller: allowed,
			Reweight: Permission{Why: "has a momentum of one W"},
		},
		On:     Graph{Changing: Permission{Why: "has a momentum of one W"}},
		Theta:  Theta{Certificate: impulses(decentlamRule), Noise: impulseNoise(decentlamRule)},
		Vector: Vectors{Own: 1},
		Build: func(p Parts) (gossip.Algorithm, error) {
			return &algos.DecentLaM{X: p.X, Alpha: p.Alpha, Codec: p.Codecs[0], Beta: p.Momentum}, nil
		},
	},
	{
		Name: "gt",
		Text: AlgorithmText{
			Title: "gradient tracking", Paper: "Pu and Nedić, 2021; with momentum Takezawa et al., TMLR 2023",
			Sent: "2 deg messages", Mean: "yes",
		},
		Sends: Sends{
			Codecs: []string{Moniqua, Full}, Lanes: tracked, Frames: inLanes(len(tracked)), Label: "moniqua-gt",
		},
		Takes: Takes{
			Views:      allowed,
			LocalSteps: Permission{Why: "with local steps is kgt"},
			Reweight:   Permission{Why: followsAll}, Controller: Permission{Why: fullNotes},
		},
		On:     Graph{Changing: allowed},
		Theta:  Theta{Certificate: pathSums, Tracks: true, Noise: plainNoise, ByDegree: true},
		Vector: Vectors{Own: 1},
		Build:  buildTracking,
	},
	{
		Name: "kgt",
		Text: AlgorithmText{
			Title: "K-GT", Paper: "Liu et al., 2023", Sent: "2 deg messages", Mean: "yes",
		},
		Sends: Sends{
			Codecs: []string{Moniqua, Full}, Lanes: tracked, Frames: inLanes(len(tracked)), Label: "moniqua-kgt",
		},
		Takes: Takes{
			Views: allowed,
			Eta:   true, LocalSteps: allowed, Reweight: Permission{Why: followsAll}, Controller: Permission{Why: fullNotes},
		},
		On:     Graph{Changing: allowed},
		Theta:  Theta{Certificate: pathSums, Tracks: true, Noise: plainNoise, ByDegree: true},
		Vector: Vectors{Own: 1, Local: 1},
		Build:  buildTracking,
	},
	{
		Name: "choco",
		Text: AlgorithmText{
			Title: "ChocoSGD", Paper: "Koloskova, Stich and Jaggi, ICML 2019", Sent: "deg messages", Mean: "yes",
		},
		Sends: Sends{Compressor: Contraction, Frames: toNeighbours(1)},
		Takes: Takes{Views: allowed, LocalSteps: allowed, Controller: allowed, Reweight: Permission{Why: replicas}},
		On:    Graph{Changing: Permission{Why: "sums public copies of fixed neighbours"}},
		Gamma: func(f Fidelity, beta float64) float64 {
			return safeChoco * (2 - f.Gain) / (f.Gain/f.Share + f.Gain/2 - 1) / beta
		},
		Vector: Vectors{Own: 2},
		Build: func(p Parts) (gossip.Algorithm, error) {
			c, err := p.compression()
			return &algos.Choco{X: p.X, Alpha: p.Alpha, Gamma: p.Gamma, Compression: c}, err
		},
	},
	{
		Name:  "deepsqueeze",
		Text:  AlgorithmText{Title: "DeepSqueeze", Paper: "Tang et al., 2019", Sent: "deg messages", Mean: "yes"},
		Sends: Sends{Compressor: Contraction, Frames: toNeighbours(1)},
		Takes: Takes{
			Views:      allowed,
			LocalSteps: allowed, Controller: allowed,
			Reweight: Permission{Why: "carries the error of what all neighbours got"},
		},
		On: Graph{Changing: Permission{Why: "was analysed for one W, as its error feedback spans rounds"}},
		Gamma: func(f Fidelity, beta float64) float64 {
			return safeSqueeze * math.Sqrt(f.Share/max(f.Gain-f.Share, 0)) / beta
		},
		Vector: Vectors{Own: 1},
		Build: func(p Parts) (gossip.Algorithm, error) {
			c, err := p.compression()
			return &algos.DeepSqueeze{X: p.X, Alpha: p.Alpha, Eta: p.Gamma, Compression: c}, err
		},
	},
	{
		Name: "dcd",
		Text: AlgorithmText{
			Title: "DCD-PSGD", Paper: "Tang et al., NeurIPS 2018", Sent: "deg messages", Mean: "on average",
		},
		Sends: Sends{Compressor: Unbiased, Frames: toNeighbours(1)},
		Takes: Takes{
			Views:      Permission{Why: insideSent},
			LocalSteps: Permission{Why: everyStep}, Controller: allowed, Reweight: Permission{Why: replicas},
		},
		On:     Graph{Changing: Permission{Why: replicas}},
		Vector: Vectors{Neighbour: 1}, Fix: finer("dcd"),
		Build: func(p Parts) (gossip.Algorithm, error) {
			c, err := p.compression()
			return &algos.DCD{X: p.X, Alpha: p.Alpha, Row: p.Rows.At(0), Compression: c}, err
		},
	},
	{
		Name: "ecd",
		Text: AlgorithmText{
			Title: "ECD-PSGD", Paper: "Tang et al., NeurIPS 2018", Sent: "deg messages", Mean: "on average",
		},
		Sends: Sends{Compressor: Unbiased, Frames: toNeighbours(1)},
		Takes: Takes{
			Views:      Permission{Why: insideSent},
			LocalSteps: Permission{Why: everyStep}, Controller: allowed,
			Reweight: Permission{Why: "keeps an estimate of every neighbour, which follows all that was sent"},
		},
		On:     Graph{Changing: Permission{Why: "keeps an estimate of every neighbour, which follows all that was sent"}},
		Vector: Vectors{Own: 1, Neighbour: 1}, Fix: finer("ecd"),
		Build: func(p Parts) (gossip.Algorithm, error) {
			c, err := p.compression()
			return &algos.ECD{X: p.X, Alpha: p.Alpha, Row: p.Rows.At(0), Compression: c}, err
		},
	},
	{
		Name: "naive",
		Text: AlgorithmText{
			Title: "direct quantization", Paper: "Lu and De Sa, ICML 2020, as what fails", Sent: "deg messages", Mean: "no",
		},
		Sends: Sends{Compressor: AnyCompressor, Frames: toNeighbours(1), Early: true},
		Takes: Takes{Views: allowed, LocalSteps: allowed, Controller: allowed, Reweight: Permission{Why: "drifts with W"}},
		On:    Graph{Changing: allowed},
		Fix:   "another algorithm.name, for naive cannot make up for what messages lose: choco or deepsqueeze can",
		Build: func(p Parts) (gossip.Algorithm, error) {
			c, err := p.compression()
			return &algos.Naive{X: p.X, Alpha: p.Alpha, Compression: c}, err
		},
	},
	{
		Name: "adpsgd",
		Text: AlgorithmText{
			Title: "AD-PSGD", Paper: "Lian et al., ICML 2018",
			Sent: "two messages per exchange", Mean: "yes",
		},
		Sends: Sends{Codecs: []string{Moniqua, Full}, Frames: inPairs, Label: "moniqua-adpsgd"},
		Takes: Takes{
			Views:      allowed,
			LocalSteps: Permission{Why: "offers one exchange per step"}, Reweight: allowed,
			Controller: Permission{Why: "has workers with no round in which all could switch bits"},
		},
		On: Graph{Changing: Permission{Why: "draws its pairs by events of its own"}},
		Theta: Theta{
			Uncertified: "nothing bounds its mixing time, as pairs meet at random", ByDegree: true,
			Noise: func(_ topology.Spectrum, p Settings) float64 { return topology.PairNoise(p.Slack) },
		},
		Vector: Vectors{Own: 1, Kind: "snapshot"},
		// With slack γ a pair moves by γ/2 instead of 1/2, because γW + (1−γ)I changes its matrix so.
		Pair: func(p Parts) *algos.ADPSGD {
			return &algos.ADPSGD{X: p.X, Alpha: p.Alpha, Weight: float32(p.Slack / 2), Codec: p.Link}
		},
	},
	{
		Name: "allreduce", Form: "ring",
		Text: AlgorithmText{Title: "ring", Paper: "Patarasuk and Yuan, JPDC 2009", Sent: "2(n − 1)/n models", Mean: "yes"},
		Sends: Sends{
			Spans:  func(dim, workers int) int { return (dim + workers - 1) / workers }, // the largest chunk
			Frames: aroundTheRing,
		},
		Takes: Takes{
			Views:      allowed,
			LocalSteps: Permission{Why: averages}, Reweight: Permission{Why: everybody},
			Controller: Permission{Why: "sends full precision and has no bits to choose"},
		},
		On: Graph{Kind: topology.Ring, Rows: cycle},
		Build: func(p Parts) (gossip.Algorithm, error) {
			return &algos.AllReduce{X: p.X, Alpha: p.Alpha, Rank: p.Seat, Workers: p.Workers, After: p.After}, nil
		},
	},
	{
		Name: "allreduce", Form: "allgather",
		Text: AlgorithmText{
			Title: "all-gather", Paper: "Alistarh et al., NeurIPS 2017; with feedback Karimireddy et al., ICML 2019",
			Sent: "n − 1 messages", Mean: "yes",
		},
		Sends: Sends{Compressor: UnbiasedSum, Feedback: Contraction, Frames: toNeighbours(1)},
		Takes: Takes{
			Views:      allowed,
			LocalSteps: Permission{Why: averages}, Reweight: Permission{Why: everybody}, Controller: allowed,
		},
		On:     Graph{Kind: topology.Complete},
		Vector: Vectors{Feedback: 1},
		Build: func(p Parts) (gossip.Algorithm, error) {
			c, err := p.compression()
			return &algos.AllGather{
				X: p.X, Alpha: p.Alpha, Rank: p.Seat, Feedback: p.Feedback, Compression: c, After: p.After,
			}, err
		},
	},
	{
		Name: "allreduce", Form: "server",
		Text: AlgorithmText{
			Title: "server", Paper: "Cui et al., 2018", Sent: "one message; the server n − 1", Mean: "yes",
		},
		Sends: Sends{Compressor: Unbiased, Feedback: UnbiasedReturn, Frames: overTheServer},
		Takes: Takes{
			Views:      allowed,
			LocalSteps: Permission{Why: averages}, Reweight: Permission{Why: everybody}, Controller: allowed,
		},
		On:     Graph{Kind: topology.Star},
		Vector: Vectors{Feedback: 1},
		Build: func(p Parts) (gossip.Algorithm, error) {
			c, err := p.compression()
			if err != nil {
				return nil, err
			}
			mean, err := p.Compressor(p.Server) // the server's messages have a separate stream
			return &algos.Server{
				X: p.X, Alpha: p.Alpha, Rank: p.Seat, Feedback: p.Feedback, Compression: c, Mean: mean,
				After: p.After,
			}, err
		},
	},
}

var allowed = Permission{Given: true}

// tracked are the lanes of gradient tracking: models and directions.
var tracked = []Lane{{Models: true}, {}}

func buildTracking(p Parts) (gossip.Algorithm, error) {
	return &algos.GT{X: p.X, Alpha: p.Alpha, Lanes: p.Codecs, Eta: p.Eta}, nil
}

// Reasons that several rows have.
const (
	replicas    = "keeps a replica of every neighbour, which follows all that was sent"
	everyStep   = "has replicas that must follow every step of a model"
	ownMomentum = "has a momentum of steps that are all mixed"
	followsAll  = "follows the mean direction of all workers"
	fullNotes   = "has two lanes, whose bounds fill the notes of its messages"
	averages    = "averages gradients, not models (dpsgd of order atc on a complete graph averages models)"
	insideSent  = "sends steps that hold the mixing, so a change of members needs models that it does not send"
	everybody   = "needs all workers in every round"
)

func finer(name string) string {
	return "a finer algorithm.compressor than <compressor> of <bits> bits, for " + name +
		" does not make up for what messages lose, or choco as algorithm.name"
}

const (
	// safeChoco is the gamma of Choco as a share of the gamma at which it stops converging.
	safeChoco = 0.8
	// safeSqueeze bounds the movement of a model by DeepSqueeze's error feedback in one exchange, as a share of its
	// length.
	safeSqueeze = 0.08
)

// toNeighbours: in each hop a worker tells each neighbour.
func toNeighbours(hops int) func(rows []topology.Sequence) Frames {
	return func(rows []topology.Sequence) Frames {
		most, all := degrees(rows)
		return Frames{Most: slices.Repeat([]int{most}, hops), All: hops * all}
	}
}

// inLanes: in one hop a worker sends to each neighbour in this number of lanes.
func inLanes(lanes int) func(rows []topology.Sequence) Frames {
	return func(rows []topology.Sequence) Frames {
		most, all := degrees(rows)
		return Frames{Most: []int{lanes * most}, All: lanes * all}
	}
}

// inPairs: a worker sends one offer and, on average, one answer.
func inPairs(rows []topology.Sequence) Frames {
	most, _ := degrees(rows)
	each := min(2, 2*most)
	return Frames{Most: []int{each}, All: each * len(rows)}
}

func aroundTheRing(rows []topology.Sequence) Frames {
	_, all := degrees(rows)
	hops := 2 * (len(rows) - 1)
	return Frames{Most: slices.Repeat([]int{1}, hops), All: all * hops}
}

// overTheServer: the workers tell the server, and then the server tells them.
func overTheServer(rows []topology.Sequence) Frames {
	most, all := degrees(rows)
	return Frames{Most: []int{min(1, most), most}, All: all}
}

// degrees returns the largest number of receivers of a worker in an exchange, and the largest sum over all workers.
func degrees(rows []topology.Sequence) (most, all int) {
	for s := range max(1, rows[0].Period()) {
		sum := 0
		for _, worker := range rows {
			out := len(worker.At(s).Out)
			most, sum = max(most, out), sum+out
		}
		all = max(all, sum)
	}
	return most, all
}

// cycle returns the rows of the directed cycle.
func cycle(g *topology.Graph) []topology.Sequence {
	var rows []topology.Sequence
	for _, row := range topology.Cycle(g.N()) {
		rows = append(rows, row)
	}
	return rows
}

// pathSums returns the path sums of plain mixing.
func pathSums(g *topology.Graph, s topology.Spectrum, _ Settings) (Sums, error) {
	if !g.Spec().Kind.Static() {
		sums, err := g.PathSums()
		if err != nil {
			return Sums{}, err
		}
		decay, err := g.Decay()
		return Sums{S: sums.S, S1: sums.S1, Rho: decay}, err
	}
	return Sums{S: s.S, S1: s.S1, Rho: s.Rho}, nil
}

// plainNoise is the noise of plain mixing.
func plainNoise(s topology.Spectrum, p Settings) float64 { return s.Noise(p.Slack) }

// d2Sums returns the path sums of the response of z.
func d2Sums(g *topology.Graph, s topology.Spectrum, _ Settings) (Sums, error) {
	of, one, err := g.D2Sums(s)
	return Sums{S: of, S1: one, Rho: s.D2Rho()}, err
}
