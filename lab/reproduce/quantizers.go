package reproduce

// resnet are the settings of ResNet-20 on CIFAR-10 with 128 samples per round, as in the preset ring8-cifar60.
var resnet = []string{
	"data.name=cifar-10", "model={name: resnet, norm: batch}", "train.batch=16", "train.step_size=0.1",
	"train.weight_decay=0.0005", "train.augment=crop-flip",
}

// with returns settings and some more.
func with(set []string, more ...string) []string {
	return append(append([]string{}, set...), more...)
}

const fashion = "An MLP on Fashion-MNIST takes the place of the paper's networks, for a few epochs."

// alq returns the claims of the paper of ALQ and AMQ.
func alq() Paper {
	part := []string{"table1"}
	fixed := []string{"QSGD-inf", "NUQSGD", "TernGrad"}
	return Paper{
		Name:   "alq",
		Title:  "Adaptive Gradient Quantization for Data-Parallel SGD (Faghri et al.; NeurIPS 2020)",
		Source: "https://arxiv.org/abs/2010.12460",
		Sizes: []Size{
			{Minutes, fashion + " There are eight workers.", []Part{{Name: "table1", Comparison: "alq-table1"}}},
			{Night, "ResNet-20 on CIFAR-10 for 10 epochs, eight workers. The paper trains deeper networks for longer.",
				[]Part{{Name: "table1", Comparison: "alq-table1", Set: with(resnet, "train.rounds=3907")}}},
			{Full, "ResNet-32 on CIFAR-10 for 200 epochs, eight workers. The paper also has ResNet-110 and ImageNet.",
				[]Part{{Name: "table1", Comparison: "alq-table1", Set: with(resnet,
					"model={name: resnet, depth: 32, norm: batch}", "train.rounds=78125")}}},
		},
		Claims: []Claim{
			{
				Words: "With 3 bits per coordinate, adaptive levels (ALQ) give a higher validation accuracy than fixed ones.",
				Place: "abstract; table 1", Reported: "almost 2 points on CIFAR-10",
				Checks: []Check{{Kind: Above, In: part, A: []string{"ALQ"}, B: fixed}},
			},
			{
				Words: "The adaptive multiplier (AMQ) does so, too.",
				Place: "abstract; table 1", Reported: "almost 2 points on CIFAR-10, for the better of ALQ and AMQ",
				Checks: []Check{{Kind: Above, In: part, A: []string{"AMQ"}, B: fixed}},
			},
			{
				Words: "Adaptive schemes are less sensitive to hyper-parameters.",
				Place: "abstract",
				Note:  "That needs a sweep over bits and buckets, which no size has.",
			},
			{
				Words: "The statistics of gradients change during training.",
				Place: "abstract",
				Note:  "No comparison measures it. The study variance does: docs/results/variance.md.",
			},
		},
	}
}

// orq returns the claims of the paper of ORQ and BinGrad.
func orq() Paper {
	part := []string{"table2"}
	return Paper{
		Name: "orq",
		Title: "Optimal Gradient Quantization Condition for Communication-Efficient Distributed Training " +
			"(Xu, Huo, Huang; 2020)",
		Source: "https://arxiv.org/abs/2002.11082",
		Sizes: []Size{
			{Minutes, fashion + " There are eight workers.", []Part{{Name: "table2", Comparison: "orq-table2"}}},
			{Night, "ResNet-20 on CIFAR-10 for 10 epochs, eight workers. The paper trains deeper networks for longer.",
				[]Part{{Name: "table2", Comparison: "orq-table2", Set: with(resnet, "train.rounds=3907")}}},
			{Full, "ResNet-110 on CIFAR-10 for 200 epochs, eight workers. The paper also has CIFAR-100 and ImageNet.",
				[]Part{{Name: "table2", Comparison: "orq-table2", Set: with(resnet,
					"model={name: resnet, depth: 110, norm: batch}", "train.rounds=78125")}}},
		},
		Claims: []Claim{
			{
				Words:  "With 3 levels, ORQ is more accurate than TernGrad.",
				Place:  "abstract; table 2",
				Checks: []Check{{Kind: Above, In: part, A: []string{"ORQ-3"}, B: []string{"TernGrad"}}},
			},
			{
				Words:  "With 5 levels, ORQ is more accurate than quantiles (Linear).",
				Place:  "abstract; table 2",
				Checks: []Check{{Kind: Above, In: part, A: []string{"ORQ-5"}, B: []string{"Linear-5"}}},
			},
			{
				Words:  "With 9 levels, ORQ is more accurate than quantiles (Linear).",
				Place:  "abstract; table 2",
				Checks: []Check{{Kind: Above, In: part, A: []string{"ORQ-9"}, B: []string{"Linear-9"}}},
			},
			{
				Words: "With 2 levels, BinGrad is more accurate than signs.",
				Place: "abstract; table 2",
				Note: "SignSGD has error feedback here, which does badly together with momentum " +
					"(docs/results/README.md): do not read its distance as that of plain signs.",
				Checks: []Check{{Kind: Above, In: part, A: []string{"BinGrad-b"}, B: []string{"SignSGD with feedback"}}},
			},
		},
	}
}

// mqgrad returns the claims of the paper of MQGrad.
func mqgrad() Paper {
	part := []string{"server"}
	return Paper{
		Name:   "mqgrad",
		Title:  "MQGrad: Reinforcement Learning of Gradient Quantization in Parameter Server (Cui et al.; ICTIR 2018)",
		Source: "https://arxiv.org/abs/1804.08066",
		Sizes: []Size{
			{Minutes, fashion + " Eight workers send to a server at 10 MB/s, in simulated time.",
				[]Part{{Name: "server", Comparison: "mqgrad"}}},
			{Night, "ResNet-20 on CIFAR-10 for 10 epochs. Eight workers send to a server at 10 MB/s, in simulated time.",
				[]Part{{Name: "server", Comparison: "mqgrad", Loss: 1, Set: with(resnet, "train.rounds=3907")}}},
			{Full, "ResNet-20 on CIFAR-10 for 60 epochs, with batches of 32 and a step size of 0.2 as in the paper. Eight " +
				"workers send to a server at 10 MB/s, in simulated time.",
				[]Part{{Name: "server", Comparison: "mqgrad", Set: with(resnet, "train.batch=32", "train.step_size=0.2",
					"train.rounds=11719")}}},
		},
		Claims: []Claim{
			{
				Words:  "Learned bits reach a loss sooner than fixed bits.",
				Place:  "abstract",
				Checks: []Check{{Kind: Sooner, In: part, A: []string{"MQGrad"}, B: []string{"Fix-2", "Fix-4", "Fix-8"}}},
			},
			{
				Words:  "Learned bits reach a loss sooner than a heuristic rule.",
				Place:  "abstract",
				Note:   "The rule is that of Øland and Raj, in our reading of its principle.",
				Checks: []Check{{Kind: Sooner, In: part, A: []string{"MQGrad"}, B: []string{"Øland-Raj"}}},
			},
			{
				Words:  "Learned bits keep the accuracy of the prediction.",
				Place:  "abstract",
				Note:   "\"Keep\" is at most 0.5 points below 8 fixed bits here.",
				Checks: []Check{{Kind: Within, In: part, A: []string{"MQGrad"}, B: []string{"Fix-8"}, By: 0.5}},
			},
		},
	}
}

// d2 returns the claims of the paper of D².
func d2() Paper {
	part := []string{"labels"}
	return Paper{
		Name:   "d2",
		Title:  "D²: Decentralized Training over Decentralized Data (Tang et al.; ICML 2018)",
		Source: "https://arxiv.org/abs/1803.07068",
		Sizes: []Size{
			{Minutes, "An MLP on Fashion-MNIST, and ten workers on a ring with one label each, take the place of the paper's " +
				"networks and data.", []Part{{Name: "labels", Comparison: "d2"}}},
			{Night, "LeNet-5 on CIFAR-10 for 60 epochs, and ten workers on a ring with one label each.",
				[]Part{{Name: "labels", Comparison: "d2", Set: []string{"data.name=cifar-10", "model={name: lenet}",
					"train.rounds=9375"}}}},
			{Full, "LeNet-5 on CIFAR-10 for 200 epochs, and five workers on a ring with two labels each.",
				[]Part{{Name: "labels", Comparison: "d2", Set: []string{"data.name=cifar-10", "model={name: lenet}",
					"topology.size=5", "data.per_worker=2", "train.rounds=62500"}}}},
		},
		Claims: []Claim{
			{
				Words:  "Where each worker sees a limited set of labels, D² is clearly more accurate than D-PSGD.",
				Place:  "abstract; experiments, unshuffled case",
				Checks: []Check{{Kind: Above, In: part, A: []string{"D²"}, B: []string{dpsgd}}},
			},
			{
				Words:  "There D² learns as well as centralized SGD, which averages all gradients.",
				Place:  "experiments, unshuffled case",
				Note:   "\"As well\" is at most 0.5 points below here.",
				Checks: []Check{{Kind: Within, In: part, A: []string{"D²"}, B: []string{"AllReduce"}, By: 0.5}},
			},
			{
				Words: "Where the data are shuffled over the workers, D-PSGD and D² both learn as well as centralized SGD.",
				Place: "experiments, shuffled case",
				Note:  "\"As well\" is at most 0.5 points below here.",
				Checks: []Check{{Kind: Within, In: part, A: []string{"D² shuffled", "D-PSGD shuffled"},
					B: []string{"AllReduce shuffled"}, By: 0.5}},
			},
		},
	}
}
