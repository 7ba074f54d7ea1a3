package reproduce

import "slices"

// Labels of algorithms in several comparisons.
const (
	dpsgd  = "D-PSGD"
	chance = 0.15 // accuracies up to here are those of a model that has learned nothing: 0.1 for ten classes
)

// Networks of figure 1.
const (
	fastNetwork, mediumNetwork, slowNetwork = "200 Mbit/s 0.15 ms", "100 Mbit/s 0.15 ms", "1 Mbit/s 1 ms"
)

// moniqua returns the claims of the paper of Moniqua. Its parts with full training are fig1, table2 and night; those of
// starts alone tell times and divergence, but no final accuracies.
func moniqua() Paper {
	return Paper{
		Name:   "moniqua",
		Title:  "Moniqua: Modulo Quantized Communication in Decentralized SGD (Lu, De Sa; ICML 2020)",
		Source: "https://arxiv.org/abs/2002.11787",
		Sizes: []Size{
			{Minutes, "MLPs on Fashion-MNIST take the place of ResNet-20 on CIFAR-10; that of figure 1 has as many " +
				"parameters, 267,000. An MLP and LeNet-5 do so in figure 2. Runs have a few epochs. Links and time are " +
				"simulated, and coding takes no time.", []Part{
				{Name: "fig1", Comparison: "moniqua-fig1-minutes", Set: []string{"output.every=5"}},
				{Name: "table2", Comparison: "moniqua-table2-minutes"},
				{Name: "fig2a", Comparison: "moniqua-fig2a"}, {Name: "fig2b", Comparison: "moniqua-fig2b"},
			}},
			{Night, "ResNet-20 on CIFAR-10 for 60 epochs at 100 Mbit/s. Times on the other networks and divergence with few " +
				"bits come from the first epoch. Figure 2 has an MLP and LeNet-5 on Fashion-MNIST in place of VGG-16 and " +
				"ResNet-110. Links and time are simulated, and coding takes no time.", []Part{
				{Name: "start1", Comparison: "moniqua-fig1"}, {Name: "start2", Comparison: "moniqua-table2"},
				{Name: "fig2a", Comparison: "moniqua-fig2a"}, {Name: "fig2b", Comparison: "moniqua-fig2b"},
				{Name: "night", Comparison: "moniqua-night"}, // last: it takes most of the night
			}},
			{Full, "Models and data are those of the paper: ResNet-20, VGG-16 and ResNet-110 on CIFAR-10, with 400 epochs for " +
				"figure 1 and table 2, and 60 for figure 2. Links and time are simulated, and coding takes no time.", []Part{
				{Name: "fig1", Comparison: "moniqua-fig1", Loss: 0.5,
					Set: []string{"train.rounds=78200", "train.augment=crop-flip", "output.every=100"}},
				{Name: "table2", Comparison: "moniqua-table2",
					Set: []string{"train.rounds=78200", "train.augment=crop-flip", "output.every=100"}},
				{Name: "fig2a", Comparison: "moniqua-fig2a", Set: []string{"data.name=cifar-10", "model={name: vgg16}",
					"train.rounds=9375", "output.evaluate=938"}},
				{Name: "fig2b", Comparison: "moniqua-fig2b", Set: []string{"data.name=cifar-10",
					"model={name: resnet, depth: 110, norm: batch}", "train.rounds=7813"}},
			}},
		},
		Claims:  slices.Concat(moniquaTimes(), moniquaBits(), moniquaCost(), moniquaVariants()),
		Printed: moniquaPrinted(), Missing: moniquaMissing,
	}
}

// moniquaTimes returns the claims of figure 1.
func moniquaTimes() []Claim {
	times := []string{"fig1", "start1"}
	rivals := []string{"DCD 8b", "ECD 8b", "Choco 8b", "DeepSqueeze 8b"}
	return []Claim{
		{
			Words: "On a fast network Moniqua with 8 bits reaches a loss sooner than the other quantized algorithms.",
			Place: "abstract; section 6, figure 1",
			Note: "The paper names the cost of replicas and of tracked errors as the reason. Here coding takes no time, and " +
				"Moniqua gains because its messages need no gradient and travel meanwhile.",
			Checks: []Check{{Kind: Sooner, In: times, Network: fastNetwork, A: []string{"Moniqua 8b"}, B: rivals}},
		},
		{
			Words: "With less bandwidth AllReduce and D-PSGD in full precision fall behind Moniqua with 8 bits.",
			Place: "section 6, figure 1",
			Checks: []Check{{Kind: Sooner, In: times, Network: mediumNetwork, A: []string{"Moniqua 8b"},
				B: []string{"AllReduce", dpsgd}}},
		},
		{
			Words: "On a slow network every quantized algorithm is far ahead of D-PSGD in full precision.",
			Place: "section 6, figure 1",
			Note:  "\"Far\" is a factor of 2 or more here; the paper has curves and no number.",
			Checks: []Check{{Kind: Sooner, In: times, Network: slowNetwork, A: append([]string{"Moniqua 8b"}, rivals...),
				B: []string{dpsgd}, By: 2}},
		},
		{
			Words: "On a slow network the quantized algorithms with 8 bits take the same time.",
			Place: "section 6, figure 1",
			Note:  "\"The same\" is a difference of at most 10 % here; the paper has curves and no number.",
			Checks: []Check{{Kind: Alike, In: times, Network: slowNetwork, A: []string{"Moniqua 8b"}, B: rivals,
				By: 1.1}},
		},
		{
			Words: "Moniqua converges as its full-precision original does: with 8 bits it is as accurate as D-PSGD.",
			Place: "abstract; section 6, figure 1",
			Note:  "\"As accurate\" is at most 0.5 points below here.",
			Checks: []Check{{Kind: Within, In: []string{"fig1", "night"}, A: []string{"Moniqua 8b"}, B: []string{dpsgd},
				By: 0.5}},
		},
	}
}

// table2Starts are the parts that tell of divergence, memory and bytes: the start of training suffices.
var table2Starts = []string{"table2", "start2"}

// moniquaBits returns the claims of table 2 about accuracy.
func moniquaBits() []Claim {
	table, both := []string{"table2"}, table2Starts
	return []Claim{
		{
			Words: "One bit per parameter does not compromise accuracy.",
			Place: "abstract; table 2", Reported: "Moniqua with 1 bit 91.08 %, ResNet-20",
			Note: "\"Not compromised\" is at most 0.5 points below D-PSGD in full precision here.",
			Checks: []Check{
				{Kind: Within, In: table, A: []string{"Moniqua 1b"}, B: []string{"D-PSGD 32b"}, By: 0.5},
				{Kind: Within, In: []string{"night"}, A: []string{"Moniqua 1b"}, B: []string{dpsgd}, By: 0.5},
			},
		},
		{
			Words: "With one bit Moniqua is more accurate than ChocoSGD and DeepSqueeze.",
			Place: "table 2", Reported: "91.08 % against 90.88 % and 90.02 %, ResNet-20",
			Note: "Steps of consensus and slack are searched with the same number of trials for each algorithm.",
			Checks: []Check{{Kind: Above, In: []string{"table2", "night"}, A: []string{"Moniqua 1b"},
				B: []string{"Choco 1b", "DeepSqueeze 1b"}}},
		},
		{
			Words: "With two bits Moniqua is as accurate as ChocoSGD and DeepSqueeze.",
			Place: "table 2", Reported: "91.13 % against 91.09 % and 91.12 %, ResNet-20",
			Note: "\"As accurate\" is at most 0.5 points below here.",
			Checks: []Check{{Kind: Within, In: []string{"table2", "night"}, A: []string{"Moniqua 2b"},
				B: []string{"Choco 2b", "DeepSqueeze 2b"}, By: 0.5}},
		},
		{
			Words: "With two bits DCD-PSGD and ECD-PSGD diverge.",
			Place: "table 2", Reported: "both diverge",
			Note:   "A run also counts as diverged if it ends at 15 % accuracy or less, where chance is 10 %.",
			Checks: []Check{{Kind: Diverges, In: both, A: []string{"DCD 2b", "ECD 2b"}, By: chance}},
		},
		{
			Words: "With one bit DCD-PSGD and ECD-PSGD diverge.",
			Place: "table 2", Reported: "both diverge",
			Note: "Their compressor is that of signs here, scaled by the mean magnitude, whose error is smaller than that of " +
				"an unbiased one. A run also counts as diverged if it ends at 15 % accuracy or less.",
			Checks: []Check{{Kind: Diverges, In: both, A: []string{"DCD 1b", "ECD 1b"}, By: chance}},
		},
	}
}

// moniquaCost returns the claims of table 2 about memory and bytes.
func moniquaCost() []Claim {
	both := table2Starts
	return []Claim{
		{
			Words: "Moniqua needs no additional memory.",
			Place: "abstract; table 2", Reported: "0 MB",
			Note:   "This is Moniqua without verification. With it, workers keep a few numbers per round for repairs.",
			Checks: []Check{{Kind: NoMemory, In: both, A: []string{"Moniqua 1b unchecked"}}},
		},
		{
			Words: "ChocoSGD, DeepSqueeze, DCD-PSGD and ECD-PSGD need additional memory, and Moniqua needs less.",
			Place: "table 2", Reported: "16.48 MB (ChocoSGD, DCD, ECD) and 8.24 MB (DeepSqueeze) against 0, ResNet-20",
			Note: "The megabytes here are those of one worker, and this is Moniqua with verification. A baseline that " +
				"diverges has no number.",
			Checks: []Check{{Kind: LessMemory, In: both, A: []string{"Moniqua 1b"},
				B: []string{"Choco 1b", "DeepSqueeze 1b", "DCD 1b", "ECD 1b"}}},
		},
		{
			Words: "Moniqua trains with one bit per parameter on the wire.",
			Place: "abstract; table 2",
			Note:  "It holds if a round costs 28 times fewer bytes than with 32 bits: headers, hashes and repairs count.",
			Checks: []Check{
				{Kind: Fewer, In: both, A: []string{"Moniqua 1b"}, B: []string{"D-PSGD 32b"}, By: 28},
				{Kind: Fewer, In: []string{"night"}, A: []string{"Moniqua 1b"}, B: []string{dpsgd}, By: 28},
			},
		},
	}
}

// moniquaVariants returns the claims of figure 2.
func moniquaVariants() []Claim {
	labels, slow := []string{"fig2a"}, []string{"fig2b"}
	return []Claim{
		{
			Words: "Where each worker has one label, D² with Moniqua learns what D² in full precision learns.",
			Place: "section 6, figure 2a",
			Note:  "It holds if the final accuracy is at most 0.5 points below.",
			Checks: []Check{{Kind: Within, In: labels, A: []string{"Moniqua-D² 8b"}, B: []string{"D²"},
				By: 0.5}},
		},
		{
			Words:  "There D-PSGD fails, and D² with Moniqua is more accurate.",
			Place:  "section 6, figure 2a",
			Checks: []Check{{Kind: Above, In: labels, A: []string{"Moniqua-D² 8b"}, B: []string{dpsgd}}},
		},
		{
			Words:  "Asynchronous Moniqua reaches a loss sooner than AD-PSGD.",
			Place:  "section 6, figure 2b",
			Checks: []Check{{Kind: Sooner, In: slow, A: []string{"Moniqua-AD 8b"}, B: []string{"AD-PSGD"}}},
		},
		{
			Words:  "AD-PSGD reaches a loss sooner than D-PSGD.",
			Place:  "section 6, figure 2b",
			Note:   "Here one of six workers is four times slower than the others.",
			Checks: []Check{{Kind: Sooner, In: slow, A: []string{"AD-PSGD"}, B: []string{dpsgd}}},
		},
		{
			Words: "Moniqua works with a variety of algorithms: D-PSGD, D² and AD-PSGD.",
			Place: "abstract; section 6",
			Checks: []Check{
				{Kind: Converges, In: []string{"fig1", "night"}, A: []string{"Moniqua 8b"}},
				{Kind: Converges, In: labels, A: []string{"Moniqua-D² 8b"}},
				{Kind: Converges, In: slow, A: []string{"Moniqua-AD 8b"}},
			},
		},
	}
}
