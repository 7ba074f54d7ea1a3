package experiment

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"gossiptrainer/configs"
	compared "gossiptrainer/internal/settings"
	"gossiptrainer/internal/shards"
	"gossiptrainer/model"
	"gossiptrainer/topology"
)

// Where each machine has files of its own and sees no others, the machines tell each other their rows when they meet.
// Until then a run takes the rows of this machine for those of all. WithRows gives the run that all train.

// WithRows returns the run of machines that have these training rows, by rank. A list that the run states must be the
// same.
func (r *Run) WithRows(rows []int) (*Run, error) {
	d, cfg, err := r.data.With(r.cfg, rows)
	switch {
	case err != nil:
		return nil, err
	case d == r.data:
		return r, nil
	}
	return assemble(&Run{cfg: cfg, method: r.method, data: d})
}

// PeerSections returns the settings that peers compare when they meet: Sections without what follows from the rows of
// machines that do not see each other's files, and without those to call where members come and go.
func (r *Run) PeerSections() []configs.Section {
	if r.cfg.Views() { // peers are those to call
		return slices.DeleteFunc(r.Sections(), func(s configs.Section) bool { return s.Name == "peers" })
	}
	if _, apart := r.data.Apart(); !apart {
		return r.Sections()
	}
	same := *r
	same.cfg.Data.Sizes = configs.Default().Data.Sizes
	if same.cfg.Train.Epochs > 0 {
		same.cfg.Train.Rounds = 0
	}
	return same.Sections()
}

// Outlined returns the run of r whose external model has another outline.
func (r *Run) Outlined(o *model.Outline) (*Run, error) {
	other := &Run{cfg: r.cfg, method: r.method, data: r.data}
	other.cfg.Model.Outline = o
	return assemble(other)
}

// Beside returns the run of cfg on the data of r. The two may differ in limits and output. It refuses runs whose
// parameters depend on time, because they cannot share gradients.
func (r *Run) Beside(cfg configs.Config) (*Run, error) {
	same := cfg
	same.Limit, same.Output = r.cfg.Limit, r.cfg.Output
	if same.Topology.Slack == configs.Computed {
		same.Topology.Slack = r.cfg.Topology.Slack
	}
	if same.Algorithm.Gamma == configs.Computed {
		same.Algorithm.Gamma = r.cfg.Algorithm.Gamma
	}
	if same.Train.Epochs > 0 {
		same.Train.Rounds = r.cfg.Train.Rounds
	}
	switch {
	case Timed(r):
		return nil, configs.Errorf("algorithm.name", "the parameters of %s depend on the network: "+
			"run each network on its own", label(r))
	case !bytes.Equal(same.YAML(), r.cfg.YAML()):
		return nil, fmt.Errorf("experiment: runs that share gradients may differ only in limit and output")
	}
	other := *r // a run does not change, so both may share it
	other.cfg = same
	other.cfg.Limit, other.cfg.Output = cfg.Limit, cfg.Output
	var err error
	other.links, err = linksOf(other.cfg, other.graph.Spec(), other.rows)
	return &other, err
}

// Sections returns the settings that all peers and all parts of the run must share. The run's name is not among them,
// because it is compared separately. An external model of known size has the section script, with the hash of the names
// and shapes of its tensors.
func (r *Run) Sections() []configs.Section {
	sections := r.cfg.Sections()
	for i, s := range sections {
		if s.Name == "run" {
			sections[i].Name, sections[i].JSON = "seed", []byte(strconv.FormatUint(r.cfg.Seed, 10))
		}
	}
	if o := r.cfg.Model.Outline; r.cfg.External() && o != nil {
		sections = append(sections, scriptSection(o))
	}
	return sections
}

// scriptSection returns the settings on which the programs of all peers must agree.
func scriptSection(o *model.Outline) configs.Section {
	s := compared.Script{Elements: o.Dim(), Exact: o.Exact, Hash: o.Hash(), Same: o.Same}
	for _, p := range o.Params {
		s.Add(p.Name, p.Shape)
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic("internal error: experiment: " + err.Error()) // numbers and texts
	}
	return configs.Section{Name: compared.ScriptSection, JSON: text, Hash: sha256.Sum256(text)}
}

// Resized returns the run with another number of workers. All that auto has chosen stays.
func Resized(r *Run, n int) (*Run, error) {
	cfg := r.cfg
	cfg.Membership, cfg.Topology.Size = configs.Default().Membership, n
	cfg.Train.Epochs = 0 // their rounds are known
	spec := sized(cfg.Topology.Spec(), n)
	cfg.Topology.Rows, cfg.Topology.Cols = spec.Rows, spec.Cols
	var resized *Run
	var err error
	if r.data.Local() { // Owned gives it the data of the members
		resized, err = assemble(&Run{cfg: cfg, method: r.method, data: r.data})
	} else {
		resized, err = New(cfg)
	}
	if err != nil {
		return nil, fmt.Errorf("a view of %d members: %w", n, err)
	}
	resized.program = r.program
	return resized, nil
}

// Owned returns a run with the data of some members, by rank, where each has files of its own: see shards.Dataset.Of.
func Owned(r *Run, ids ...topology.Rank) (*Run, error) {
	own, err := shards.Of(r.data, ids...)
	if err != nil {
		return nil, err
	}
	return with(r, own), nil
}

// Sharing returns a run with the data of another one of the same settings.
func Sharing(r, other *Run) *Run { return with(r, other.data) }

// with returns the run with other data of the same form.
func with(r *Run, data *shards.Dataset) *Run {
	if data == r.data {
		return r
	}
	own := *r
	own.data = data
	own.files = r.files.With(data)
	own.scorer = newScorer(&own)
	return &own
}
