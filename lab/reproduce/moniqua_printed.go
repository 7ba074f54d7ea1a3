package reproduce

import (
	"fmt"
	"math"
)

// moniquaMissing says which of the paper's numbers the page leaves out, and what ours are.
const moniquaMissing = "Figure 1 has curves and no number, so only its order and our accuracies stand here. " +
	"Table 2 also has ResNet-110, which no comparison here trains to its end. We know no printed accuracy of " +
	"AllReduce and of D-PSGD in full precision, so they have no row. The paper trains ResNet-20 on CIFAR-10 with " +
	"eight workers on a ring. The top of this page says what this size trains. Our accuracies are those of " +
	"average models. Where a cell of a claim has no such accuracy, the claim takes means over replicas, and says so. " +
	"Rows of this table do the same."

// moniquaPrinted returns the results of figure 1 and table 2 as the paper prints them.
func moniquaPrinted() []Printed { return append(moniquaCurves(), moniquaTable()...) }

// moniquaCurves returns the results of figure 1.
func moniquaCurves() []Printed {
	times := []string{"fig1", "start1"}
	all := []Printed{
		{
			Place: "figure 1", Source: "text and curves", What: Order, Network: fastNetwork, In: times, Number: math.NaN(),
			Says: "Moniqua is first; the other quantized algorithms lose by replicas and tracked errors",
			Why: "Coding takes no virtual time here, so replicas and errors cost nothing. Moniqua gains because its messages " +
				"travel while gradients are taken.",
		},
		{
			Place: "figure 1", Source: "text and curves", What: Order, Network: slowNetwork, In: times, Number: math.NaN(),
			Says: "all quantized algorithms take the same time; full precision is far behind",
			Why:  "Links are modelled here, and headers, hashes and repairs count. The paper shapes real links.",
		},
	}
	const extrapolated = "ECD sends points ever farther from the model with the same 8 bits. So the errors of its " +
		"estimates grow with the square root of the round: it learns at first, and fails in long runs."
	for _, label := range []string{"Moniqua 8b", "DCD 8b", "ECD 8b", "Choco 8b", "DeepSqueeze 8b"} {
		p := Printed{Place: "figure 1", Source: "curves", What: Accuracy, Label: label, Number: math.NaN(),
			Says: "converges as the others do", In: []string{"fig1", "night"}}
		if label == "ECD 8b" {
			p.Why = extrapolated
		}
		all = append(all, p)
	}
	return all
}

// moniquaTable returns the results of table 2.
func moniquaTable() []Printed {
	var all []Printed
	finals := []struct {
		label  string
		number float64
		why    string
	}{
		{"Moniqua 1b", 91.08,
			"The slack is searched here, and theta follows the run; the paper has a slack of 0.005 and a theta of 2."},
		{"Choco 1b", 90.88, "Its compressor is that of signs; the step of consensus is searched."},
		{"DeepSqueeze 1b", 90.02, "Its compressor is that of signs; the step of consensus is searched."},
		{"Moniqua 2b", 91.13,
			"The slack is searched here, and theta follows the run; the paper has a slack of 0.005 and a theta of 2."},
		{"Choco 2b", 91.09, "Its compressor is QSGD in buckets of 512; the step of consensus is searched."},
		{"DeepSqueeze 2b", 91.12, "Its compressor is that of minimum and maximum; the step of consensus is searched."},
		{"DCD 1b", math.NaN(), "Its compressor is that of signs, whose error is smaller than that of an unbiased one."},
		{"ECD 1b", math.NaN(), "Its compressor is that of signs, whose error is smaller than that of an unbiased one."},
		{"DCD 2b", math.NaN(), ""}, {"ECD 2b", math.NaN(), ""},
	}
	for _, f := range finals {
		p := Printed{Place: "table 2", Source: "table", What: Accuracy, Label: f.label, Number: f.number, Why: f.why,
			In: []string{"table2", "night"}, Says: fmt.Sprintf("%.2f %%, ResNet-20", f.number)}
		if math.IsNaN(f.number) {
			p.Says, p.In = "diverges", table2Starts
		}
		all = append(all, p)
	}
	const verified = "With verification a worker keeps quotients for repairs; without it there is nothing to keep."
	const two = "Ours is the memory of one worker. The paper's number is 16 models of 1.03 MiB: two of each of its " +
		"eight workers."
	const one = "Ours is the memory of one worker. The paper's number is eight models of 1.03 MiB: one of each of its " +
		"eight workers."
	for _, m := range []struct {
		label  string
		number float64
		why    string
	}{
		{"Moniqua 1b unchecked", 0, ""}, {"Moniqua 1b", 0, verified}, {"Choco 1b", 16.48, two},
		{"DeepSqueeze 1b", 8.24, one}, {"DCD 1b", 16.48, two}, {"ECD 1b", 16.48, two},
	} {
		all = append(all, Printed{Place: "table 2", Source: "table", What: Memory, Label: m.label, Number: m.number,
			Why: m.why, In: table2Starts, Says: fmt.Sprintf("%g MB, ResNet-20", m.number)})
	}
	return all
}
