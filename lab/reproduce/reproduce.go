// Package reproduce runs the comparisons that test the claims of a paper, judges each claim by the cells, and writes a
// page of claims. The claims are data in papers/NAME.yaml: words, the place in the paper, and checks over cells of
// comparisons.
//
// It runs no cell itself: package compare does. It leaves flags and exit codes to the command line.
package reproduce

import "slices"

// A Paper is a publication with its claims, and the comparisons that test them at several sizes.
type Paper struct {
	Name   string `json:"name" yaml:"-"` // of the command line, and of its file
	Title  string `json:"title" yaml:"title"`
	Source string `json:"source" yaml:"source"` // where the paper is
	Unread string `json:"-" yaml:"unread"`      // why its claims have no quotations; "": they have
	// Networks are the names that checks and printed results write for those of the comparisons.
	Networks map[string]string `json:"-" yaml:"networks"`
	Sizes    []Size            `json:"-" yaml:"sizes"` // from the smallest on
	Claims   []Claim           `json:"-" yaml:"claims"`
	// Printed are results to be shown beside ours. Missing says which ones are left out, and why.
	Printed []Printed `json:"-" yaml:"printed"`
	Missing string    `json:"-" yaml:"missing"`
}

// A Size is a choice of comparisons: how much of the paper's setting they keep.
type Size struct {
	Name  string `json:"name" yaml:"name"`
	About string `json:"about" yaml:"about"` // how the runs differ from those of the paper
	Parts []Part `json:"-" yaml:"parts"`
}

// A Part is one comparison of a size.
type Part struct {
	Name       string   `yaml:"name"`       // of its folder; checks name it
	Comparison string   `yaml:"comparison"` // the name of an embedded comparison, or a path
	Set        []string `yaml:"set"`        // key=value for all its cells
	Loss       float64  `yaml:"loss"`       // the target of training loss; 0: that of the comparison
	Seeds      int      `yaml:"seeds"`      // the number it takes of the comparison, from the first on; 0: all
}

// A Claim is one sentence of a paper in our words.
type Claim struct {
	Words    string  `json:"words" yaml:"words"`
	Quote    string  `json:"quote,omitempty" yaml:"quote"`       // the paper's words; " … " where some are left out
	Place    string  `json:"place" yaml:"place"`                 // section, figure or table
	Reported string  `json:"reported,omitempty" yaml:"reported"` // numbers of the paper, "" if we know none
	Note     string  `json:"note,omitempty" yaml:"note"`         // why our numbers may differ
	Checks   []Check `json:"-" yaml:"checks"`                    // those of the parts that a size has; all must hold
}

// A Check compares cells of a part. With several labels in A and B it compares each of A with each of B, and all must
// hold.
type Check struct {
	Kind    Kind     `yaml:"is"`
	In      []string `yaml:"in"` // the names of the parts in which it is a test of the claim
	Network string   `yaml:"on"` // "": the first of the part
	A       []string `yaml:"a"`
	B       []string `yaml:"than"` // none where the check is about single rows
	By      float64  `yaml:"by"`   // percentage points, a factor, or an accuracy: see Kind
}

// A Kind is a way to compare cells. The labels a and b are one of A and one of B.
type Kind string

// The kinds of checks.
const (
	// Within: the final accuracy of a is at most By points below that of b.
	Within Kind = "within"
	// Above: the final accuracy of a is higher than that of b by more than By points.
	Above Kind = "above"
	// Sooner: a reaches the target of the comparison in less time than b. By is the least factor, 1 if it is 0.
	Sooner Kind = "sooner"
	// FewerTo: a reaches the target with fewer bytes than b. By is the least factor, 1 if it is 0.
	FewerTo Kind = "fewer-to"
	// Alike: the times of a and b to the target differ by at most the factor By.
	Alike Kind = "alike"
	// Fewer: a sends fewer bytes per round than b. By is the least factor, 1 if it is 0.
	Fewer Kind = "fewer"
	// NoMemory: a needs no memory beside that of D-PSGD.
	NoMemory Kind = "no-memory"
	// LessMemory: a needs less extra memory than b.
	LessMemory Kind = "less-memory"
	// AboveThen: the accuracy of a is higher than that of b by more than By points, both when the first of the two ends.
	AboveThen Kind = "above-then"
	// Closer: the replicas of a end closer together than those of b. By is the least factor, 1 if it is 0.
	Closer Kind = "closer"
	// Converges: all runs of a end, and reach the target of the comparison.
	Converges Kind = "converges"
	// Misses: no run of a reaches the target of the comparison.
	Misses Kind = "misses"
	// Rises: all runs of a end with more bits per parameter than they began with.
	Rises Kind = "rises"
	// Repairs: all runs of a find messages that were recovered wrongly, and repair each.
	Repairs Kind = "repairs"
	// Diverges: all runs of a diverge, or end with an accuracy of at most By, from 0 to 1.
	Diverges Kind = "diverges"
)

// kinds are those that a file may name.
var kinds = []Kind{Within, Above, AboveThen, Sooner, FewerTo, Alike, Fewer, NoMemory, LessMemory, Closer, Converges,
	Misses, Rises, Repairs, Diverges}

// single reports whether a check is about the runs of one row.
func (k Kind) single() bool {
	return slices.Contains([]Kind{Converges, Misses, Rises, Repairs, Diverges, NoMemory}, k)
}

// SizeNames returns the names of the sizes, which every paper has.
func SizeNames() []string { return []string{Minutes, Night, Full} }

// The sizes.
const (
	Minutes = "minutes"
	Night   = "night"
	Full    = "paper"
)
