// Package configs holds the run files: their Go structure, defaults, schema,
// validation and the embedded presets.
//
// It knows names, types and ranges; it builds nothing. Package experiment turns
// a Config into graphs, algorithms, models and shards.
package configs

import "time"

// A Config is one run file with all defaults filled in. Field comments say the
// unit, the range and, where a zero has a meaning of its own, that meaning.
type Config struct {
	Name       string     `json:"name"`
	Seed       uint64     `json:"seed"`
	Topology   Topology   `json:"topology"`
	Algorithm  Algorithm  `json:"algorithm"`
	Wire       Wire       `json:"wire"`
	Data       Data       `json:"data"`
	Model      Model      `json:"model"`
	Train      Train      `json:"train"`
	Limit      Limit      `json:"limit"`
	Peers      []Peer     `json:"peers"`
	Node       Node       `json:"node"`
	Faults     Faults     `json:"faults"`
	Checkpoint Checkpoint `json:"checkpoint"`
	Output     Output     `json:"output"`
}

// Topology says who talks to whom.
type Topology struct {
	Kind  string  `json:"kind"`  // ring | torus | complete | star | path | exponential | hypercube | edges
	Size  int     `json:"size"`  // workers; torus: rows·cols; edges: from the file
	Rows  int     `json:"rows"`  // torus
	Cols  int     `json:"cols"`  // torus
	File  string  `json:"file"`  // edges: one "i j" per line
	Slack float64 `json:"slack"` // γ in γW + (1−γ)I, (0, 1]
}

// Algorithm says what a round does.
type Algorithm struct {
	Name       string     `json:"name"`     // dpsgd | allreduce
	Codec      string     `json:"codec"`    // moniqua | full
	Bits       int        `json:"bits"`     // 1..16, or 32 = full precision
	Levels     int        `json:"levels"`   // 2..65536 symbols instead of bits; 0 = 2^bits
	Rounding   string     `json:"rounding"` // dither | nearest | shared | stochastic
	Theta      Theta      `json:"theta"`
	Order      string     `json:"order"` // cta | atc
	Gamma      float64    `json:"gamma"`
	Compressor Compressor `json:"compressor"`
	Controller Controller `json:"controller"`
	LocalSteps int        `json:"local_steps"`
}

// Theta is the bound on neighbour differences that Moniqua needs, SPEC section 6.
type Theta struct {
	Rule   string  `json:"rule"`   // certified | theorem | fixed
	Value  float64 `json:"value"`  // fixed: θ > 0
	Bound  float64 `json:"bound"`  // certified, theorem: G_∞; the update direction is clipped to ±bound; 0 = 1
	Verify bool    `json:"verify"` // reserved: index hash on the wire
}

// Compressor is the C(·) of the error-feedback algorithms (reserved).
type Compressor struct {
	Name   string  `json:"name"`
	Bits   int     `json:"bits"`
	Norm   string  `json:"norm"`
	Bucket int     `json:"bucket"`
	Clip   float64 `json:"clip"`
	Scaled bool    `json:"scaled"`
}

// Controller chooses bits while a run goes on (reserved).
type Controller struct {
	Name string `json:"name"` // fix
}

// Wire is how payloads travel.
type Wire struct {
	Entropy string `json:"entropy"` // none
}

// Data names the data set and how it is cut into shards.
type Data struct {
	Name      string  `json:"name"`       // glyphs | mnist | fashion-mnist | cifar-10 | a9a | optdigits | libsvm
	Dir       string  `json:"dir"`        // "" = $PEER_DATA, else the user's cache
	Partition string  `json:"partition"`  // iid | labels | dirichlet
	PerWorker int     `json:"per_worker"` // labels: labels per worker
	Alpha     float64 `json:"alpha"`      // dirichlet: concentration > 0
}

// Model names the objective.
type Model struct {
	Name   string  `json:"name"`   // quadratic | logistic | mlp | lenet | resnet
	Hidden []int   `json:"hidden"` // mlp: widths
	Depth  int     `json:"depth"`  // resnet: 6n+2
	Norm   string  `json:"norm"`   // resnet: group | batch
	Dim    int     `json:"dim"`    // quadratic
	Spread float64 `json:"spread"` // quadratic: distance of the workers' optima
}

// Train is the local optimizer.
type Train struct {
	Rounds      int     `json:"rounds"`
	Batch       int     `json:"batch"`
	StepSize    float64 `json:"step_size"`
	Schedule    string  `json:"schedule"` // constant | cosine
	Momentum    float64 `json:"momentum"`
	WeightDecay float64 `json:"weight_decay"`
}

// Limit describes a peer's link: honoured by sim.
type Limit struct {
	Rate    string               `json:"rate"` // like 100mbit; "" = unlimited
	Latency Duration             `json:"latency"`
	Jitter  Duration             `json:"jitter"`
	Loss    float64              `json:"loss"`
	Links   map[string]LinkLimit `json:"links"` // per link, key "i-j"
}

// LinkLimit overrides Limit on one link.
type LinkLimit struct {
	Rate    string   `json:"rate"`
	Latency Duration `json:"latency"`
	Jitter  Duration `json:"jitter"`
	Loss    float64  `json:"loss"`
}

// Peer is one entry of the roster; the order gives the ranks.
type Peer struct {
	ID    string   `json:"id"`
	Addrs []string `json:"addrs"`
}

// Node is how this peer reaches others; not compared between peers.
type Node struct {
	Listen     []string `json:"listen"`      // multiaddrs; empty = all interfaces, free port
	Transport  string   `json:"transport"`   // tcp | quic
	Security   string   `json:"security"`    // tls | noise
	Key        string   `json:"key"`         // identity file; "" = the user's
	JoinSecret string   `json:"join_secret"` // roll call
}

// Faults says what to do about lost neighbours.
type Faults struct {
	OnLostNeighbor string `json:"on_lost_neighbor"` // wait | stop
}

// Checkpoint (reserved).
type Checkpoint struct {
	Dir   string `json:"dir"`
	Every int    `json:"every"`
	Keep  int    `json:"keep"`
}

// Output is what a run leaves behind.
type Output struct {
	Dir   string `json:"dir"`   // a folder per run is made in it
	Every int    `json:"every"` // rounds between records
}

// A Duration is written like 1.5ms.
type Duration time.Duration
