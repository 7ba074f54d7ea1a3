// Package reproduce runs the comparisons that test the claims of a paper, judges each claim by the cells, and writes a
// page of claims. The claims are data: words, the place in the paper, and checks over cells of comparisons.
//
// It runs no cell itself: package compare does. It leaves flags and exit codes to the command line.
package reproduce

// A Paper is a publication with its claims, and the comparisons that test them at several sizes.
type Paper struct {
	Name   string  `json:"name"` // of the command line
	Title  string  `json:"title"`
	Source string  `json:"source"` // where the paper is
	Sizes  []Size  `json:"-"`      // from the smallest on
	Claims []Claim `json:"-"`
	// Printed are results to be shown beside ours. Missing says which ones are left out, and why.
	Printed []Printed `json:"-"`
	Missing string    `json:"-"`
}

// A Size is a choice of comparisons: how much of the paper's setting they keep.
type Size struct {
	Name  string `json:"name"`
	About string `json:"about"` // how the runs differ from those of the paper
	Parts []Part `json:"-"`
}

// A Part is one comparison of a size.
type Part struct {
	Name       string   // of its folder; checks name it
	Comparison string   // the name of an embedded comparison, or a path
	Set        []string // key=value for all its cells
	Loss       float64  // the target of training loss; 0: that of the comparison
}

// A Claim is one sentence of a paper in our words.
type Claim struct {
	Words    string  `json:"words"`
	Place    string  `json:"place"`              // section, figure or table
	Reported string  `json:"reported,omitempty"` // numbers of the paper, "" if we know none
	Note     string  `json:"note,omitempty"`     // why our numbers may differ
	Checks   []Check `json:"-"`                  // those of the parts that a size has; all must hold
}

// A Check compares cells of a part. With several labels in A and B it compares each of A with each of B, and all must
// hold.
type Check struct {
	Kind    Kind
	In      []string // the names of the parts in which it is a test of the claim
	Network string   // "": the first of the part
	A, B    []string // labels; Converges, Diverges and NoMemory have no B
	By      float64  // percentage points, a factor, or an accuracy: see Kind
}

// A Kind is a way to compare cells. The labels a and b are one of A and one of B.
type Kind int

// The kinds of checks.
const (
	// Within: the final accuracy of a is at most By points below that of b.
	Within Kind = iota
	// Above: the final accuracy of a is higher than that of b by more than By points.
	Above
	// Sooner: a reaches the target of the comparison in less time than b. By is the least factor, 1 if it is 0.
	Sooner
	// FewerTo: a reaches the target with fewer bytes than b. By is the least factor, 1 if it is 0.
	FewerTo
	// Alike: the times of a and b to the target differ by at most the factor By.
	Alike
	// Fewer: a sends fewer bytes per round than b. By is the least factor, 1 if it is 0.
	Fewer
	// NoMemory: a needs no memory beside that of D-PSGD.
	NoMemory
	// LessMemory: a needs less extra memory than b.
	LessMemory
	// Converges: all runs of a end, and reach the target of the comparison.
	Converges
	// Diverges: all runs of a diverge, or end with an accuracy of at most By, from 0 to 1.
	Diverges
)

// SizeNames returns the names of the sizes, which every paper has.
func SizeNames() []string { return []string{Minutes, Night, Full} }

// The sizes.
const (
	Minutes = "minutes"
	Night   = "night"
	Full    = "paper"
)
