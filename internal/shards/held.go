package shards

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"gossiptrainer/internal/data"
)

// A held describes the data of a machine to other machines. Where a machine has files of its own, it has all that the
// simulator compares between the files of workers.
type held struct {
	Rows        int               `json:"rows,omitempty"`
	TestRows    int               `json:"test_rows,omitempty"`
	Dimension   int               `json:"dimension"`
	Classes     string            `json:"classes"`
	Fingerprint string            `json:"fingerprint,omitempty"`
	Shape       string            `json:"shape,omitempty"`       // height x width x channels
	Values      string            `json:"values,omitempty"`      // their kind
	Scaling     string            `json:"scaling,omitempty"`     // a hash of how values become numbers of the model
	First       *int              `json:"first_index,omitempty"` // in LIBSVM text
	Label       string            `json:"label_column,omitempty"`
	Column      map[string]string `json:"column,omitempty"`  // names of the features by number, the first of many
	Columns     string            `json:"columns,omitempty"` // a hash of all names where they are too many to list
}

// mostListed bounds the names of columns that machines tell each other, in bytes.
const mostListed = 12 << 10

// describe adds what the files of all workers must share.
func (h *held) describe(info data.Info) {
	h.Shape = fmt.Sprintf("%dx%dx%d", info.Shape.H, info.Shape.W, info.Shape.C)
	h.First, h.Label, h.Values = info.Table.First, info.Table.Label, "numbers"
	if info.Pixels {
		h.Values = "bytes from 0 to 255"
	}
	if info.Norm != nil {
		h.Scaling = fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, *info.Norm)))
	}
	listed, all := 0, sha256.New()
	for i, name := range info.Table.Columns {
		fmt.Fprintf(all, "%d:%s\n", len(name), name)
		if listed += len(name); listed > mostListed {
			continue
		}
		if h.Column == nil {
			h.Column = map[string]string{}
		}
		h.Column[strconv.Itoa(i+1)] = name
	}
	if listed > mostListed {
		h.Columns = fmt.Sprintf("%x", all.Sum(nil))
	}
}

// Held returns, as canonical JSON, the properties of this machine's data that all machines must share. It returns
// nil for an objective without data. With the partition local these are the form of the files and the classes. Else it
// reads the whole set, unless the set is built in, and keeps it for the next worker.
func (d *Dataset) Held() ([]byte, error) {
	if d == nil {
		return nil, nil
	}
	source := d.sources[0]
	h := held{Dimension: source.Info.Shape.Features(), Classes: strings.Join(source.Info.Classes, ", ")}
	if d.local {
		h.describe(source.Info)
		return json.Marshal(h)
	}
	h.Rows, h.TestRows, h.Fingerprint = source.Info.Train, source.Info.Test, "built in"
	if d.cfg.Data.Name != builtIn {
		whole, err := source.Train(nil)
		if err != nil {
			return nil, err
		}
		test, err := d.common()
		if err != nil {
			return nil, err
		}
		h.Fingerprint, d.whole = data.Fingerprint(whole, test), &whole
	}
	return json.Marshal(h)
}
