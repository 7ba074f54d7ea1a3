package reproduce

import "encoding/json"

// A Verdict says how a claim stands after the runs of a size.
type Verdict int

// The verdicts, in the order in which one outweighs another where a claim has several checks.
const (
	Untested     Verdict = iota // no run of this size tests it
	Supported                   // the whole interval agrees with the claim
	Undecided                   // the interval holds values for and against it
	Contradicted                // the whole interval is against it
)

// String names the verdict as the page does.
func (v Verdict) String() string {
	switch v {
	case Supported:
		return "supported"
	case Undecided:
		return "not decided"
	case Contradicted:
		return "not supported"
	}
	return "not tested at this size"
}

// MarshalJSON writes the name.
func (v Verdict) MarshalJSON() ([]byte, error) { return json.Marshal(v.String()) }

// verdicts lists them in the order in which a page counts them.
func verdicts() []Verdict { return []Verdict{Supported, Contradicted, Undecided, Untested} }

// A Judgement is a claim with the evidence for and against it.
type Judgement struct {
	Claim    `json:"claim"`
	Verdict  Verdict    `json:"verdict"`
	Evidence []Evidence `json:"evidence"` // none where it was not tested
}

// Evidence is one comparison of two rows of a part, or the runs of one.
type Evidence struct {
	Part    string   `json:"part"`
	Network string   `json:"network"`
	Words   string   `json:"measured"`
	Verdict Verdict  `json:"verdict"`
	Cells   []string `json:"cells"` // folders of the cells, in that of the reproduction
}
