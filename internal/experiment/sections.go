package experiment

import (
	"crypto/sha256"
	"encoding/json"
	"strconv"

	"gossiptrainer/configs"
	compared "gossiptrainer/internal/settings"
	"gossiptrainer/model"
)

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
