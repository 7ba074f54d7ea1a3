package configs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"gossiptrainer/topology"
)

// A Section is a part of a configuration on which all peers of a run must agree.
type Section struct {
	Name string
	JSON []byte   // canonical: keys sorted, no white space
	Hash [32]byte // SHA-256 of JSON
}

// Sections returns what all peers of a run must agree on, in a fixed order: run (name and seed), topology, membership,
// algorithm, data, model, train, faults, peers. Peers may differ in the entropy coder, the folder of the data and the
// names (not the content) of the file of edges and of the model to start from. They may also differ in the addresses
// of the roster and the script of faults.
func (c Config) Sections() []Section {
	ids := make([]string, len(c.Peers))
	for i, p := range c.Peers {
		ids[i] = p.ID
	}
	return []Section{
		section("run", struct {
			Name string `json:"name"`
			Seed uint64 `json:"seed"`
		}{c.Name, c.Seed}),
		section("topology", struct {
			Topology
			File [][2]topology.Rank `json:"file"`
		}{c.Topology, sorted(c.Topology.Edges)}),
		section("membership", c.Membership),
		section("algorithm", c.Algorithm),
		section("data", struct {
			Data
			Dir  string `json:"dir,omitempty"`  // hides Data.Dir
			Path string `json:"path,omitempty"` // hides Data.Path
			Test string `json:"test,omitempty"` // hides Data.Test
		}{Data: c.Data}),
		section("model", c.Model),
		section("train", struct {
			Train
			From string `json:"from"` // hides Train.From
		}{c.Train, c.Train.FromHash}),
		section("faults", struct {
			Faults
			Script []Fault `json:"script,omitempty"` // hides Faults.Script
		}{Faults: c.Faults}),
		section("peers", ids),
	}
}

// sorted returns the edges in an order that does not depend on the file.
func sorted(edges [][2]topology.Rank) [][2]topology.Rank {
	ordered := make([][2]topology.Rank, len(edges))
	for i, e := range edges {
		ordered[i] = [2]topology.Rank{min(e[0], e[1]), max(e[0], e[1])}
	}
	slices.SortFunc(ordered, func(a, b [2]topology.Rank) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	return ordered
}

func section(name string, value any) Section {
	text, err := json.Marshal(plainValue(value))
	if err != nil {
		panic(fmt.Sprintf("internal error: configs: section %s: %v", name, err))
	}
	return Section{Name: name, JSON: text, Hash: sha256.Sum256(text)}
}

// sameKeys returns the dotted keys that occur in Sections.
func sameKeys() map[string]bool {
	keys := map[string]bool{"name": true, "seed": true, "peers.*.id": true}
	for _, s := range Default().Sections() {
		if s.Name == "run" || s.Name == "peers" {
			continue
		}
		var value any
		if err := json.Unmarshal(s.JSON, &value); err != nil {
			panic(fmt.Sprintf("internal error: configs: section %s: %v", s.Name, err))
		}
		mark(keys, s.Name, value)
	}
	return keys
}

func mark(keys map[string]bool, path string, value any) {
	section, ok := value.(map[string]any)
	if !ok || len(section) == 0 {
		keys[path] = true
		return
	}
	for name, child := range section {
		mark(keys, join(path, name), child)
	}
}

// RunID returns 16 hexadecimal digits for all runs of a name. Peers look for each other under it whatever else their
// files say, so that they can tell each other the differences.
func RunID(name string) string {
	sum := sha256.Sum256([]byte("gossiptrainer run " + name))
	return hex.EncodeToString(sum[:8])
}
