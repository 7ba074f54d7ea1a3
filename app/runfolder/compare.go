package runfolder

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"gossiptrainer/app/advice"
	"gossiptrainer/internal/human"
)

// A Difference is a setting or a result of two runs.
type Difference struct {
	Name string `json:"name"`
	A    string `json:"a"` // "-": the run has none
	B    string `json:"b"`
}

// A Comparison says in what two runs differ.
type Comparison struct {
	A        Run          `json:"a"`
	B        Run          `json:"b"`
	Settings []Difference `json:"settings"` // keys of the run file, without those of one machine
	Results  []Difference `json:"results"`
}

// Compare compares the runs of two folders.
func Compare(a, b string) (*Comparison, error) {
	first, err := openNamed(a)
	if err != nil {
		return nil, err
	}
	second, err := openNamed(b)
	if err != nil {
		return nil, err
	}
	for _, r := range []Run{first, second} {
		if r.Error != "" {
			return nil, advice.With(fmt.Errorf("runs: compare: %s", r.Error), "the files of this run are damaged")
		}
	}
	c := &Comparison{A: first, B: second, Settings: []Difference{}, Results: []Difference{}}
	keys := maps.Clone(first.files.settings)
	if keys == nil {
		keys = map[string]string{}
	}
	maps.Copy(keys, second.files.settings)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		a, b := cmp.Or(first.files.settings[key], "-"), cmp.Or(second.files.settings[key], "-")
		c.Settings = differing(c.Settings, key, a, b)
	}
	for _, r := range results {
		c.Results = differing(c.Results, r.name, cmp.Or(r.of(&first), "-"), cmp.Or(r.of(&second), "-"))
	}
	return c, nil
}

func differing(all []Difference, name, a, b string) []Difference {
	if a == b {
		return all
	}
	return append(all, Difference{name, a, b})
}

// results are compared in this order.
var results = []struct {
	name string
	of   func(r *Run) string
}{
	{"state", func(r *Run) string { return string(r.State) }},
	{"workers", func(r *Run) string { return count(r.Workers) }},
	{"rounds", func(r *Run) string { return strconv.Itoa(r.Rounds) }},
	{"seconds", func(r *Run) string {
		if r.files.summary == nil {
			return ""
		}
		return human.Number(&r.files.summary.Time)
	}},
	{"training loss", func(r *Run) string { return human.Number(r.TrainLoss) }},
	{"loss", func(r *Run) string { return human.Number(r.Loss) }},
	{"accuracy", func(r *Run) string { return human.Number(r.Accuracy) }},
	{"consensus distance", func(r *Run) string {
		if r.files.summary == nil {
			return ""
		}
		return human.Number(r.files.summary.Consensus)
	}},
	{"bits per parameter", func(r *Run) string {
		if r.files.summary == nil {
			return count(r.Bits)
		}
		return human.Number(&r.files.summary.Effective)
	}},
	{"sent per worker", func(r *Run) string { return human.Size(r.Sent) }},
	{"digest", func(r *Run) string {
		if r.files.summary == nil {
			return ""
		}
		return fmt.Sprintf("%.16s", r.files.summary.Digest)
	}},
	{"version", func(r *Run) string {
		if r.files.summary == nil {
			return ""
		}
		return r.files.summary.Version
	}},
}

// Write prints both tables for people.
func (c *Comparison) Write(w io.Writer) error {
	t := human.AlignLeft(w)
	fmt.Fprintf(t, "A\t%s\nB\t%s\n\n", c.A.Dir, c.B.Dir)
	for _, part := range []struct {
		title string
		of    []Difference
	}{{"settings", c.Settings}, {"results", c.Results}} {
		if len(part.of) == 0 {
			fmt.Fprintf(t, "no %s differ\n", part.title)
			continue
		}
		fmt.Fprintf(t, "%s\tA\tB\n", part.title)
		for _, d := range part.of {
			fmt.Fprintf(t, "  %s\t%s\t%s\n", d.Name, d.A, d.B)
		}
	}
	return t.Flush()
}
