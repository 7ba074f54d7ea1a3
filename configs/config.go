// Package configs reads, checks and writes run files. Load merges a file or a preset with
// environment variables and single settings, and reports everything that is wrong at once:
//
//	l, err := configs.Load(configs.Source{File: "ring8", Set: []string{"algorithm.bits=4"}})
//	if err != nil {
//		return err // an *Error: each problem with its key, file and line
//	}
//	rounds := l.Config.Train.Rounds
//
// Default has the default settings, Presets the embedded run files, Schema the JSON schema and
// Reference the keys with their descriptions. Comparisons of several runs have files of their
// own, which LoadComparison reads.
//
// The package knows names, types and ranges. It builds no graph, algorithm or model: package
// internal/experiment does.
package configs

import (
	"time"

	following "gossiptrainer/gossip/follow"
	"gossiptrainer/model"
	"gossiptrainer/topology"
)

// The tags of the fields are the only descriptions of the keys. The JSON schema, the checks of Load and the reference
// of all keys come from them.

// A Config is one run file with all defaults filled in.
type Config struct {
	Name       string     `json:"name" jsonschema:"minLength=1,maxLength=64,pattern=^[A-Za-z0-9][A-Za-z0-9._-]*$,example=ring8" jsonschema_description:"name of the run: letters, digits, dot, dash and underscore; peers of one name look for each other"`
	Seed       uint64     `json:"seed" jsonschema:"minimum=0,maximum=18446744073709551615" jsonschema_description:"seed of everything random: start, batches, partition, dither"`
	Topology   Topology   `json:"topology" jsonschema_description:"who talks to whom"`
	Membership Membership `json:"membership" jsonschema_description:"whether machines join, leave and die while the run goes on"`
	Algorithm  Algorithm  `json:"algorithm" jsonschema_description:"what a round does"`
	Wire       Wire       `json:"wire" jsonschema_description:"how payloads travel"`
	Data       Data       `json:"data" jsonschema_description:"the data set and how it is cut into shards"`
	Model      Model      `json:"model" jsonschema_description:"the objective"`
	Train      Train      `json:"train" jsonschema_description:"the local optimizer"`
	Limit      Limit      `json:"limit" jsonschema_description:"a peer's uplink and links: lab and run keep to it, sim computes with it"`
	Peers      []Peer     `json:"peers" jsonschema:"maxItems=65536" jsonschema_description:"roster, in the order of the ranks; empty = the peers find each other by mDNS and roll call"`
	Node       Node       `json:"node" jsonschema_description:"how this peer reaches others"`
	Faults     Faults     `json:"faults" jsonschema_description:"what to do about lost neighbours, and faults made on purpose"`
	Checkpoint Checkpoint `json:"checkpoint" jsonschema_description:"states of this peer on disk, from which it can go on; sim takes them in memory, where a script of faults needs them"`
	Output     Output     `json:"output" jsonschema_description:"what a run leaves behind"`
}

// Topology is the graph of the workers.
type Topology struct {
	Kind   string  `json:"kind" jsonschema_description:"graph. Weights are Metropolis-Hastings, but for the kinds from one-peer-exponential on: these change from exchange to exchange or are directed, for dpsgd and others without memory of W"`
	Size   int     `json:"size" jsonschema:"minimum=1,maximum=1048576" jsonschema_description:"number of workers; may be left out for torus (rows x cols) and edges (from the file)"`
	Rows   int     `json:"rows" jsonschema:"minimum=0,maximum=1048576" jsonschema_description:"<kinds rows>: rows; 0 for every other kind"`
	Cols   int     `json:"cols" jsonschema:"minimum=0,maximum=1048576" jsonschema_description:"<kinds cols>: columns; 0 for every other kind"`
	File   string  `json:"file" jsonschema_description:"<kinds file>: file with one edge \"i j\" per line, relative to the run file; peers must agree on its content, not on its name"`
	Degree int     `json:"degree" jsonschema:"minimum=0,maximum=65536" jsonschema_description:"<kinds degree>: neighbours of a worker; 0 = 4, or fewer if there are few workers"`
	Chance float64 `json:"chance" jsonschema:"minimum=0,maximum=1" jsonschema_description:"small-world: chance that an edge moves, 0 = 0.1; erdos-renyi: chance of an edge, 0 = 2 ln(n)/n"`
	Slack  Auto    `json:"slack" jsonschema_description:"gamma in gamma W + (1 - gamma) I. Below 1 it mixes more slowly and tolerates fewer bits. Auto takes the largest gamma at which rounding noise stays below a fifth of theta and d2 is stable"`

	// Edges is the content of File, read by Load.
	Edges [][2]topology.Rank `json:"-"`
}

// Spec returns the graph without its slack and seed.
func (t Topology) Spec() topology.Spec {
	return topology.Spec{
		Kind: topology.Kind(t.Kind), N: t.Size, Rows: t.Rows, Cols: t.Cols, Edges: t.Edges,
		Degree: t.Degree, Chance: t.Chance,
	}
}

// takes reports whether a setting of some kinds has an effect.
func (t Topology) takes(setting string) bool { return topology.Kind(t.Kind).Takes(setting) }

// Membership says who takes part.
type Membership struct {
	Mode  string   `json:"mode" jsonschema:"enum=fixed,enum=view" jsonschema_description:"fixed = the same workers in all rounds, and faults.on_lost_neighbor says what happens without one; view = members join, leave and die, and agree on views of the graph"`
	Min   int      `json:"min" jsonschema:"minimum=1,maximum=1024" jsonschema_description:"view: with fewer members all wait"`
	Max   int      `json:"max" jsonschema:"minimum=1,maximum=1024" jsonschema_description:"view: more members are not admitted"`
	Grace Duration `json:"grace" jsonschema:"example=10s" jsonschema_description:"view: a member that is silent for so long is taken for dead, and the others go on without it"`

	Parent string `json:"parent" jsonschema_description:"view: lineage and last view of the run of this name from which this one goes on without a majority, as 7281/5; peer run --without-majority sets it; empty = none"`
}

// Algorithm says what a round does.
type Algorithm struct {
	Name       string     `json:"name" jsonschema_description:"update rule"`
	Codec      string     `json:"codec" jsonschema_description:"how <by codec> send a model: modulo quantized or float32; full for every other algorithm"`
	Bits       int        `json:"bits" jsonschema:"enum=1,enum=2,enum=3,enum=4,enum=5,enum=6,enum=7,enum=8,enum=9,enum=10,enum=11,enum=12,enum=13,enum=14,enum=15,enum=16,enum=32" jsonschema_description:"bits per parameter on the wire; 32 = full precision whatever the codec"`
	Levels     int        `json:"levels" jsonschema:"minimum=0,maximum=65536" jsonschema_description:"symbols per parameter, 2 to 65536, instead of bits; 0 = 2^bits"`
	Rounding   string     `json:"rounding" jsonschema:"enum=dither,enum=nearest,enum=shared,enum=stochastic" jsonschema_description:"moniqua: how a value becomes a grid index; shared and stochastic need 3 levels"`
	Theta      Theta      `json:"theta" jsonschema_description:"moniqua: bound on the difference of neighbours"`
	Order      string     `json:"order" jsonschema:"enum=cta,enum=atc" jsonschema_description:"<order>: combine then adapt (gradient overlaps the exchange) or adapt then combine"`
	Gamma      Auto       `json:"gamma" jsonschema_description:"<gamma>: the consensus step, eta in the paper of deepsqueeze; the coarser the compressor, the smaller; auto = from what the compressor loses"`
	Update     Update     `json:"update" jsonschema_description:"settings that single update rules have"`
	Compressor Compressor `json:"compressor" jsonschema_description:"C(.) of <by compressor>"`
	Controller Controller `json:"controller" jsonschema_description:"choice of bits while a run goes on"`
	Clip       Clip       `json:"clip" jsonschema_description:"<clip>: robust mixing, where neighbours may lie: what each of them moves a model by is limited; the mean of the models is then no longer conserved"`
	LocalSteps int        `json:"local_steps" jsonschema:"minimum=1,maximum=1000000" jsonschema_description:"H: the last of every H rounds exchanges, the others take the gradient step alone; 1 for <one step>"`

	Reduce        string `json:"reduce" jsonschema_description:"<several forms>, on a graph of its own, independent of topology.kind. Value ring = full precision along a cycle; allgather = compressed gradients from all to all; server = compressed to and from worker 0"`
	MeanGradients bool   `json:"mean_gradients" jsonschema_description:"<several forms>: workers send plain gradients, and the optimizer takes their mean, as DDP does and papers on quantized gradients do; false = each sends the direction of its own optimizer"`
	ErrorFeedback bool   `json:"error_feedback" jsonschema_description:"<feedback>: a worker adds what its last message lost to its next gradient"`
}

// Update holds settings that single update rules have.
type Update struct {
	Momentum float64 `json:"momentum" jsonschema:"minimum=0,exclusiveMaximum=1" jsonschema_description:"<own momentum>: beta, the share of the last step that is kept; it takes the place of train.momentum"`
	Eta      float64 `json:"eta" jsonschema:"exclusiveMinimum=0,maximum=1" jsonschema_description:"<eta>: share of the movement of a period of local steps that a worker takes into the exchange"`
}

// Theta is the bound on neighbour differences that Moniqua needs.
type Theta struct {
	Rule   string  `json:"rule" jsonschema:"enum=adaptive,enum=measured,enum=certified,enum=theorem,enum=fixed" jsonschema_description:"adaptive = follows the run and needs verify; measured = twice the largest gap of about 20 full-precision exchanges; certified = never violated for equal starts; theorem = the paper's formula; fixed = value"`
	Value  float64 `json:"value" jsonschema:"minimum=0,maximum=1000000000" jsonschema_description:"fixed: theta, above 0, in units of the parameters; 0 for the other rules"`
	Second float64 `json:"second" jsonschema:"minimum=0,maximum=1000000000" jsonschema_description:"fixed: theta of the second message of <two messages>, above 0, in units of the directions; 0 for the other rules"`
	Bound  float64 `json:"bound" jsonschema:"minimum=0,maximum=1000000000" jsonschema_description:"every coordinate of the update direction is clipped to this; 0 = 1 for certified and theorem, which need it, and no clipping for the others. With adamw and lion 0 stands for their own bound and the weight decay. With an external model these two need a value above 0"`
	Verify bool    `json:"verify" jsonschema_description:"send a hash of the grid indices, 8 bytes, and repair wrong ones by their quotients"`
}

// Clip limits what each neighbour moves a model by.
type Clip struct {
	Radius float64 `json:"radius" jsonschema:"minimum=0,maximum=1000000000" jsonschema_description:"<clip>: the difference of a neighbour's model counts up to this length (2-norm, in units of the parameters); 0 = no limit, or as liars says"`
	Liars  int     `json:"liars" jsonschema:"minimum=0,maximum=65536" jsonschema_description:"<clip>: number f of Byzantine neighbours that each worker tolerates: differences count up to that of the farthest neighbour but f, computed again in every exchange; 0 = none"`
}

// On reports whether mixing is clipped.
func (c Clip) On() bool { return c.Radius > 0 || c.Liars > 0 }

// Compressor is the C(·) of the algorithms that send neither models in full precision nor by the modulo codec.
type Compressor struct {
	Name       string    `json:"name" jsonschema_description:"compressor"`
	Bits       int       `json:"bits" jsonschema:"minimum=1,maximum=16" jsonschema_description:"<takes bits>: bits per parameter; <ranges of bits>"`
	Levels     int       `json:"levels" jsonschema:"minimum=0,maximum=256" jsonschema_description:"<takes levels>: values of a parameter. An odd number has one that is 0, an even one is for the variant sym; <levels without bits> take any number. The others take it instead of bits. 0 = by bits; 9 for <levels without bits>"`
	Variant    string    `json:"variant" jsonschema:"enum=zero,enum=sym" jsonschema_description:"<takes variant>: zero = magnitudes with a level 0 and a sign, sym = values with their sign"`
	Table      []float64 `json:"table" jsonschema:"maxItems=256" jsonschema_description:"<takes table>: the levels in ascending order; 2 to 128 from 0 to 1 for the variant zero, 2 to 256 from -1 to 1 for sym"`
	Rule       string    `json:"rule" jsonschema:"enum=mean,enum=lloyd" jsonschema_description:"<takes rule>: the threshold is the mean of a bucket, or what Lloyd's iteration makes of it"`
	Mode       string    `json:"mode" jsonschema:"enum=nearest,enum=stochastic" jsonschema_description:"<takes mode>: nearest grid point, or an unbiased draw between two"`
	Step       float64   `json:"step" jsonschema:"exclusiveMinimum=0,maximum=1000000" jsonschema_description:"<takes step>: distance of the grid points, in units of the parameters"`
	K          int       `json:"k" jsonschema:"minimum=0,maximum=1000000000" jsonschema_description:"<takes k>: parameters sent per message; 0 = by ratio"`
	Ratio      float64   `json:"ratio" jsonschema:"exclusiveMinimum=0,maximum=1" jsonschema_description:"<takes ratio>: share of the parameters sent per message, where k is 0"`
	Norm       string    `json:"norm" jsonschema:"enum=l2,enum=linf" jsonschema_description:"<takes norm>: what a bucket is scaled by, its length or its largest magnitude"`
	Bucket     int       `json:"bucket" jsonschema:"minimum=0,maximum=1000000000" jsonschema_description:"parameters that share a scale or levels; 0 = all; not for <lacks bucket>"`
	Clip       float64   `json:"clip" jsonschema:"minimum=0,maximum=1000000" jsonschema_description:"compressors with buckets: clipping in standard deviations of the bucket, 2.5 in the papers; biased; 0 = none"`
	RefitAt    []int     `json:"refit_at" jsonschema:"maxItems=1000" jsonschema_description:"<takes refit_at>: rounds that fit the levels to the values sent, in any order. A round without messages counts for the next round with messages"`
	RefitEvery int       `json:"refit_every" jsonschema:"minimum=0,maximum=1000000000" jsonschema_description:"<takes refit_every>: rounds between fits of the levels, in its multiples beyond the rounds of refit_at; 0 = no more"`
	Scaled     bool      `json:"scaled" jsonschema_description:"scale an unbiased compressor to a contraction, as choco and deepsqueeze need it; not for linear"`
	Layers     []string  `json:"layers" jsonschema:"maxItems=1000" jsonschema_description:"tensors of the model that are compressed, by name or pattern, like dense*; the others travel in full precision. Empty = all"`
}

// Controller chooses bits while a run goes on.
type Controller struct {
	Name    string `json:"name" jsonschema:"enum=fix,enum=oland-raj,enum=mqgrad" jsonschema_description:"fix = the bits never change; oland-raj = more bits for larger gradients; mqgrad = learns which bits lower the loss fastest. The last two replace algorithm.bits and compressor.bits. Worker 0 decides, and all workers switch in the same round"`
	MinBits int    `json:"min_bits" jsonschema:"minimum=1,maximum=16" jsonschema_description:"oland-raj, mqgrad: fewest bits per parameter; mqgrad begins with them"`
	MaxBits int    `json:"max_bits" jsonschema:"minimum=1,maximum=16" jsonschema_description:"oland-raj, mqgrad: most bits per parameter; oland-raj begins with them"`
}

// Wire is how this peer sends payloads. Peers may differ in it: a frame names its coder, and coding loses nothing.
type Wire struct {
	Entropy string `json:"entropy" jsonschema:"enum=none,enum=auto,enum=huff0,enum=fse,enum=zstd,enum=bzip2" jsonschema_description:"lossless coding of payloads: auto = huff0 or fse where that pays at the rate of the link; bzip2 is slow, the choice of the papers"`
}

// Data names the data set and how it is cut into shards.
type Data struct {
	Name             string    `json:"name" jsonschema:"enum=glyphs,enum=mnist,enum=fashion-mnist,enum=cifar-10,enum=a9a,enum=optdigits,enum=libsvm,enum=file" jsonschema_description:"data set; glyphs is built in and needs no download; file = your own file, named by path; libsvm = your own files train.libsvm and test.libsvm in dir"`
	Dir              string    `json:"dir" jsonschema_description:"folder of the data sets; empty = PEER_DATA, else the user's cache. With the partition local, {rank} in it stands for the rank of a worker, or the id of a member"`
	Path             string    `json:"path" jsonschema_description:"file: your samples: a file in CSV, Parquet, .npy, .npz, IDX or LIBSVM text, or a folder with one folder of pictures per class. The name is relative to the run file. With the partition local, {rank} in it stands for the rank of a worker, or the id of a member"`
	Test             string    `json:"test" jsonschema_description:"file: the test samples, in the form of path; empty = a share of path, or the test arrays of an .npz"`
	TestShare        float64   `json:"test_share" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1" jsonschema_description:"file: share of the rows of path that are test rows where there is no test file. The draw is at random but always the same, whatever the seed"`
	Label            Name      `json:"label" jsonschema_description:"file: the labels. In CSV, Parquet and a .npy table: a column by name, or by number, 1 for the first and -1 for the last. In an .npz: an array. Beside a .npy or IDX file: a file in the same folder. Empty = the column named label, else the last; arrays y or labels; the file whose name has y for x, or labels for images"`
	Features         []Name    `json:"features" jsonschema:"maxItems=65536" jsonschema_description:"file: the columns that are read, or the array of an .npz; empty = all but the label"`
	Skip             []Name    `json:"skip" jsonschema:"maxItems=65536" jsonschema_description:"file: columns that are not read"`
	Header           string    `json:"header" jsonschema:"enum=auto,enum=present,enum=absent" jsonschema_description:"file: whether the first line of a CSV file has names. Value auto = if it has no number, or a text above numbers, or a label or an order of numbers that no row has"`
	Missing          []Name    `json:"missing" jsonschema:"maxItems=256" jsonschema_description:"file: texts that count as missing values or labels, beside the empty text, like [NA, -999]; empty = NA, N/A, NaN, null, none, ? and - for values, NaN and ? for labels"`
	Encode           bool      `json:"encode" jsonschema_description:"file: in CSV, texts become columns of 0 and 1, one for each text of a column, and a missing number becomes the mean of its column. Columns with more than 64 texts are left out. Needs standardise"`
	UntrainedClasses string    `json:"untrained_classes" jsonschema:"enum=refuse,enum=allow" jsonschema_description:"file, libsvm: test rows of a class that no row to train on has. Value refuse = an error; allow = they count as wrong"`
	Standardise      bool      `json:"standardise" jsonschema_description:"file: subtract the mean and divide by the deviation of the train split, by column, or by channel of pictures"`
	Partition        string    `json:"partition" jsonschema:"enum=iid,enum=labels,enum=dirichlet,enum=local" jsonschema_description:"how the workers divide the samples. The values iid, labels and dirichlet cut one set that all machines hold. With local each worker trains on all rows of its own files, which may differ"`
	PerWorker        int       `json:"per_worker" jsonschema:"minimum=1,maximum=65536" jsonschema_description:"labels: number of labels each worker sees"`
	Alpha            float64   `json:"alpha" jsonschema:"exclusiveMinimum=0,maximum=1000000" jsonschema_description:"dirichlet: concentration; small = each worker sees few labels"`
	Sizes            Sizes     `json:"sizes" jsonschema_description:"how many samples each worker has"`
	Weights          string    `json:"weights" jsonschema:"enum=workers,enum=samples" jsonschema_description:"what the objective is the mean over: workers = all workers count equally; samples = all samples do. The gradients of a worker are then multiplied by workers x its samples / all samples. Not for adamw, lion and <asynchronous>"`
	LabelNoise       []float64 `json:"label_noise" jsonschema:"maxItems=65536" jsonschema_description:"experiments: shares of the training labels, 0 to 1, that are replaced by another label at random. One number for all workers, or one for each, like [0, 0, 0.4, 0]; empty = none"`
	Indices          string    `json:"indices" jsonschema:"enum=auto,enum=zero-based,enum=one-based" jsonschema_description:"libsvm, file: the first index of LIBSVM text. Value auto = 0 where a file has an index 0 or a comment says so, else 1"`
	Dimension        int       `json:"dimension" jsonschema:"minimum=0,maximum=33554432" jsonschema_description:"libsvm, file: values of a sample; 0 = as in the files"`
	Labels           []Name    `json:"labels" jsonschema:"maxItems=256" jsonschema_description:"libsvm, file: all labels in ascending order, one per class; empty = those in the files. Labels of libsvm are numbers"`
}

// Sizes says how many samples each worker has.
type Sizes struct {
	Law      string    `json:"law" jsonschema:"enum=natural,enum=equal,enum=shares,enum=power,enum=dirichlet" jsonschema_description:"natural = as the partition gives them; equal = the same for all; shares = in proportion to a list; power = in proportion to 1/(rank+1)^exponent; dirichlet = a draw. Each worker has at least one sample. With the partition labels some samples stay unused"`
	Shares   []float64 `json:"shares" jsonschema:"maxItems=65536" jsonschema_description:"shares: a number above 0 for each worker, in any unit, like [4, 2, 1, 1]; with the partition local the samples of each worker"`
	Exponent float64   `json:"exponent" jsonschema:"exclusiveMinimum=0,maximum=10" jsonschema_description:"power: how fast sizes fall with the rank"`
	Alpha    float64   `json:"alpha" jsonschema:"minimum=0.000001,maximum=1000000" jsonschema_description:"dirichlet: concentration; small = few workers have most samples"`
}

// Model names the objective.
type Model struct {
	Name   string  `json:"name" jsonschema_description:"objective; external = your own script, in any framework, which peer run, lab or compare starts"`
	Hidden []int   `json:"hidden" jsonschema:"maxItems=64" jsonschema_description:"<model hidden>: widths of the hidden layers, each 1 to 65536"`
	Depth  int     `json:"depth" jsonschema:"minimum=8,maximum=1202" jsonschema_description:"<model depth>: layers, 6n+2"`
	Norm   string  `json:"norm" jsonschema:"enum=group,enum=batch" jsonschema_description:"<model norm>: normalisation; group suits shards that differ"`
	Dim    int     `json:"dim" jsonschema:"minimum=1,maximum=1000000000" jsonschema_description:"<model dim>: number of parameters"`
	Spread float64 `json:"spread" jsonschema:"minimum=0,maximum=1000000" jsonschema_description:"<model spread>: distance between the workers' optima"`

	// Outline is the size of an external model, which its program tells; nil before.
	Outline *model.Outline `json:"-"`
}

// Train is the local optimizer.
type Train struct {
	Rounds      Rounds    `json:"rounds" jsonschema_description:"rounds to train; script = as many as the steps of the external model's script with the most steps"`
	Epochs      float64   `json:"epochs" jsonschema:"minimum=0,maximum=1000000" jsonschema_description:"passes over the samples, instead of rounds: the rounds are epochs x samples / (workers x batch), rounded up; 0 = rounds says"`
	Batch       int       `json:"batch" jsonschema:"minimum=1,maximum=1000000" jsonschema_description:"samples per gradient and worker"`
	StepSize    float64   `json:"step_size" jsonschema:"exclusiveMinimum=0,maximum=1000000" jsonschema_description:"alpha, the largest step size: that of the first round after the warm-up"`
	Schedule    string    `json:"schedule" jsonschema:"enum=constant,enum=cosine,enum=linear,enum=step" jsonschema_description:"step size over the rounds; cosine and linear fall to 0, step by drop.factor every drop.every rounds"`
	Warmup      int       `json:"warmup" jsonschema:"minimum=0,maximum=10000000" jsonschema_description:"rounds at the beginning in which the step size grows evenly to alpha; the schedule begins after them"`
	Drop        Drop      `json:"drop" jsonschema_description:"drops of the step size"`
	Optimizer   Optimizer `json:"optimizer" jsonschema_description:"from a gradient to the direction of the step"`
	Momentum    float64   `json:"momentum" jsonschema:"minimum=0,exclusiveMaximum=1" jsonschema_description:"sgd: share of the last direction that is kept"`
	WeightDecay float64   `json:"weight_decay" jsonschema:"minimum=0,maximum=1000" jsonschema_description:"factor of the parameters added to the gradient; with adamw and lion to the direction (decoupled)"`
	Augment     string    `json:"augment" jsonschema:"enum=none,enum=crop-flip" jsonschema_description:"changes of pictures before each gradient. Value crop-flip = moved by up to 4 pixels in each direction, and every second one mirrored; the draws are a function of seed, worker and round"`
	From        string    `json:"from" jsonschema_description:"model file (safetensors) or checkpoint from which all workers start, relative to the run file; empty = a start from the seed. Peers must agree on its content, not on its name"`
	// FromHash is the SHA-256 of the file From, in hex, made by Load; "" without one.
	FromHash string `json:"-"`
	// Slow is keyed by rank.
	Slow map[string]float64 `json:"slow" jsonschema_description:"experiments: slows the gradients of single workers; keys are ranks, values factors of at least 1, like {\"2\": 4}; changes the results of <asynchronous> alone"`
}

// Drop says when the schedule step lowers the step size.
type Drop struct {
	Every  int     `json:"every" jsonschema:"minimum=1,maximum=10000000" jsonschema_description:"step: rounds from one drop to the next"`
	Factor float64 `json:"factor" jsonschema:"exclusiveMinimum=0,maximum=1" jsonschema_description:"step: what a drop multiplies the step size by"`
}

// Optimizer turns gradients into directions.
type Optimizer struct {
	Name     string  `json:"name" jsonschema:"enum=sgd,enum=adamw,enum=lion" jsonschema_description:"sgd takes train.momentum; adamw and lion have averages of their own"`
	Beta1    float64 `json:"beta1" jsonschema:"minimum=0,exclusiveMaximum=1" jsonschema_description:"adamw, lion: share of the last average of gradients that is kept"`
	Beta2    float64 `json:"beta2" jsonschema:"minimum=0,exclusiveMaximum=1" jsonschema_description:"adamw: the same for the average of squares, 0.95 for transformers, 0.999 for long runs; lion: for the average that the next round takes"`
	Eps      float64 `json:"eps" jsonschema:"minimum=1e-45,maximum=1" jsonschema_description:"adamw: added to the root of the average of squares; at least 1e-12 with a certified theta"`
	ClipNorm float64 `json:"clip_norm" jsonschema:"minimum=0,maximum=1000000000" jsonschema_description:"gradients that are longer (2-norm) are scaled to this length, before all averages; 0 = none"`
}

// Limit describes the uplink and the links of a peer.
type Limit struct {
	Rate    string               `json:"rate" jsonschema:"example=100mbit" jsonschema_description:"uplink in bit/s like 100mbit, 1gbit, 500kbit; empty = unlimited"`
	Burst   int                  `json:"burst" jsonschema:"minimum=0,maximum=1000000000" jsonschema_description:"bytes that may leave at once after a pause"`
	Latency Duration             `json:"latency" jsonschema_description:"one way, like 1.5ms"`
	Jitter  Duration             `json:"jitter" jsonschema_description:"spread of the latency to both sides"`
	Loss    float64              `json:"loss" jsonschema:"minimum=0,exclusiveMaximum=1" jsonschema_description:"share of packets that are lost: sent again, and a round trip late"`
	Links   map[string]LinkLimit `json:"links" jsonschema_description:"replaces the limit on single edges; keys like \"0-1\", smaller rank first; what an entry leaves out is unlimited"`
}

// Uplink returns the limit of links without a limit of their own.
func (l Limit) Uplink() LinkLimit {
	return LinkLimit{Rate: l.Rate, Burst: l.Burst, Latency: l.Latency, Jitter: l.Jitter, Loss: l.Loss}
}

// LinkLimit replaces Limit on one link.
type LinkLimit struct {
	Rate    string   `json:"rate" jsonschema:"example=100mbit" jsonschema_description:"bit/s in each direction; empty = unlimited"`
	Burst   int      `json:"burst" jsonschema:"minimum=0,maximum=1000000000" jsonschema_description:"bytes that may leave at once after a pause"`
	Latency Duration `json:"latency" jsonschema_description:"one way, like 1.5ms"`
	Jitter  Duration `json:"jitter" jsonschema_description:"spread of the latency to both sides"`
	Loss    float64  `json:"loss" jsonschema:"minimum=0,exclusiveMaximum=1" jsonschema_description:"share of packets that are lost: sent again, and a round trip late"`
}

// Peer is one entry of the roster; the order gives the ranks.
type Peer struct {
	ID    string   `json:"id" jsonschema:"required,minLength=1" jsonschema_description:"peer id, as peer id show prints it"`
	Addrs []string `json:"addrs" jsonschema_description:"multiaddrs to dial; empty = found by mDNS"`
}

// Node is how this peer reaches others; not compared between peers.
type Node struct {
	Listen         []string `json:"listen" jsonschema_description:"multiaddrs to listen on, like /ip4/0.0.0.0/tcp/4001; empty = all interfaces, a free port"`
	Transport      string   `json:"transport" jsonschema:"enum=tcp,enum=quic" jsonschema_description:"transport of the links"`
	Security       string   `json:"security" jsonschema:"enum=tls,enum=noise,enum=none" jsonschema_description:"encryption over tcp; quic always has TLS. none = bytes travel readable and unprotected, over loopback and the networks in trusted alone, between peers that all say none"`
	Trusted        []string `json:"trusted" jsonschema_description:"networks like 192.168.1.0/24 where security none is allowed besides loopback, because you trust all machines and cables there"`
	Key            string   `json:"key" jsonschema_description:"file of the private key; empty = the user's own"`
	JoinSecret     string   `json:"join_secret" jsonschema_description:"shared secret of at least 128 random bits that peers prove to each other; better in a file of its own"`
	JoinSecretFile string   `json:"join_secret_file" jsonschema_description:"file that holds the join secret, readable by its owner alone (mode 0600)"`
	Detect         Duration `json:"detect" jsonschema:"example=4s" jsonschema_description:"a neighbour counts as lost after so long a silence, or a quarter more; 4s on a fast LAN"`
	OpenLinks      int      `json:"open_links" jsonschema:"minimum=4,maximum=65535" jsonschema_description:"links that a peer keeps open, and dials ahead, where it meets more others than that. Take fewer if a router or the system allows few connections"`
	Metrics        string   `json:"metrics" jsonschema:"example=127.0.0.1:9464" jsonschema_description:"host:port at which Prometheus reads /metrics; empty = off. Port 0 takes a free port; a lab adds the rank to the port. There is no authentication, so prefer loopback"`
}

// Faults is the policy for lost neighbours, and the faults that are made on purpose.
type Faults struct {
	OnLostNeighbor string `json:"on_lost_neighbor" jsonschema:"enum=wait,enum=reweight,enum=stop" jsonschema_description:"wait = until it returns, nothing is lost; reweight = go on without it, of <reweight>; stop = end the run"`
	Tolerance      int    `json:"tolerance" jsonschema:"minimum=1,maximum=1000000" jsonschema_description:"how many bad messages of a neighbour a peer accepts: NaN, absurd values, wrong lengths, forged or replayed frames. Then it cuts the neighbour off, which counts as lost until its process starts again. 1000 good messages cancel one bad one"`
	// Script is not compared between peers: under the policy wait it changes no result.
	Script []Fault `json:"script" jsonschema:"maxItems=100000" jsonschema_description:"faults that lab and sim make on purpose, in any order; not compared between peers"`
}

// Checkpoint says when a peer writes its state down; not compared between peers.
type Checkpoint struct {
	Dir     string  `json:"dir" jsonschema_description:"folder with a folder rank-0, rank-1, ... per peer; empty = checkpoints in the folder of the run"`
	Every   int     `json:"every" jsonschema:"minimum=0,maximum=1000000000" jsonschema_description:"rounds from one checkpoint to the next, 0 = any number"`
	Seconds float64 `json:"seconds" jsonschema:"minimum=0,maximum=1000000000" jsonschema_description:"seconds from one checkpoint to the next, 0 = any number; with every 0 too there are no checkpoints, and a peer that is lost cannot come back"`
	Keep    int     `json:"keep" jsonschema:"minimum=1,maximum=1000" jsonschema_description:"newest checkpoints that are kept"`
	Journal Size    `json:"journal" jsonschema_description:"bytes of sent messages that a peer keeps for neighbours that come back; peers take a checkpoint before it is longer. Auto is 64 MiB, or 4 times a checkpoint if that is more, and less where the disk has little room"`
}

// Output is what a run leaves behind.
type Output struct {
	Dir             string `json:"dir" jsonschema:"minLength=1" jsonschema_description:"folder in which a folder per run is made"`
	Every           int    `json:"every" jsonschema:"minimum=1,maximum=1000000000" jsonschema_description:"rounds between records"`
	Evaluate        int    `json:"evaluate" jsonschema:"minimum=0,maximum=1000000000" jsonschema_description:"rounds between evaluations on the test set, which take time as gradients do, 0 = only at the end"`
	EvaluateSamples int    `json:"evaluate_samples" jsonschema:"minimum=0,maximum=1000000000" jsonschema_description:"number of samples of each test set for evaluations, evenly spread over it and always the same ones; 0 = all"`
	ReplicaSamples  int    `json:"replica_samples" jsonschema:"minimum=0,maximum=1000000000" jsonschema_description:"while a run goes on, each replica is scored on this many samples of a test set, evenly spread over it; 0 = evaluate_samples, as final models and their average"`
}

// Default returns the configuration of an empty run file: eight workers on a ring that learn the built-in glyphs with
// Moniqua at 8 bit. The slack and the gamma are Computed.
func Default() Config {
	return Config{
		Name:       "run",
		Seed:       1,
		Topology:   Topology{Kind: "ring", Size: 8},
		Membership: Membership{Mode: "fixed", Min: 2, Max: 16, Grace: Duration(10 * time.Second)},
		Algorithm: Algorithm{
			Name: "dpsgd", Codec: "moniqua", Bits: 8, Rounding: "dither",
			Theta: Theta{Rule: "adaptive", Verify: true}, Order: "cta",
			Compressor: Compressor{
				Name: "qsgd", Bits: 4, Variant: "zero", Table: []float64{}, Rule: "mean",
				Mode: "nearest", Step: 0.01, Ratio: 0.01, Norm: "linf", Bucket: 8192,
				RefitAt: []int{100, 2000}, RefitEvery: 10000, Layers: []string{},
			},
			Controller: Controller{Name: "fix", MinBits: 2, MaxBits: 8}, LocalSteps: 1,
			Update: Update{Momentum: 0.9, Eta: 1}, Reduce: "ring",
		},
		Wire: Wire{Entropy: "none"},
		Data: Data{Name: "glyphs", Partition: "iid", PerWorker: 1, Alpha: 0.5, TestShare: 0.2, Header: "auto",
			UntrainedClasses: "refuse", Indices: "auto",
			Features: []Name{}, Skip: []Name{}, Missing: []Name{}, Labels: []Name{}, Weights: "workers", LabelNoise: []float64{},
			Sizes: Sizes{Law: "natural", Shares: []float64{}, Exponent: 1, Alpha: 1}},
		Model: Model{Name: "mlp", Hidden: []int{64}, Depth: 20, Norm: "group", Dim: 100, Spread: 1},
		Train: Train{Rounds: 300, Batch: 32, StepSize: 0.05, Schedule: "cosine", Drop: Drop{Every: 1000, Factor: 0.1},
			Optimizer: Optimizer{Name: "sgd", Beta1: 0.9, Beta2: 0.99, Eps: 1e-8}, Momentum: 0.9, Augment: "none",
			Slow: map[string]float64{}},
		Limit: Limit{Links: map[string]LinkLimit{}},
		Peers: []Peer{},
		Node: Node{
			Listen: []string{}, Trusted: []string{}, Transport: "tcp", Security: "tls", Detect: Duration(15 * time.Second),
			OpenLinks: following.Default,
		},
		Faults:     Faults{OnLostNeighbor: "wait", Tolerance: 8, Script: []Fault{}},
		Checkpoint: Checkpoint{Seconds: 60, Keep: 2},
		Output:     Output{Dir: "runs", Every: 10, ReplicaSamples: 500},
	}
}
