package docs

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// root is the folder of the repository.
const root = "../../"

// A claim is a sentence with numbers that a study has measured. Its format verbs stand for the groups of pattern, which
// matches a place in a file of docs.
type claim struct {
	text    string // Markdown
	command string // makes the file
	file    string // below docs
	pattern string
}

func study(name string) string { return "go run ./studies " + name }

// sooner returns a pattern for the speedup of an algorithm over D-PSGD on a network, and for the caveat that follows.
func sooner(network, algorithm string) string {
	return "On " + network + " " + algorithm + ` is the first .*?, speedup ([\d.]+)× ` +
		`\(95 % interval over 3 seeds: ([\d.]+) to ([\d.]+)\)\.( These \w+ cannot distinguish it from [^\n.]*\.)?`
}

// soonest is sooner without interval and caveat.
func soonest(network, algorithm string) string {
	return "On " + network + " " + algorithm + ` is the first .*?, speedup ([\d.]+)×`
}

// mean is measured without the interval.
func mean(label, metric string) string {
	return `\n` + regexp.QuoteMeta(label) + `,[^,]*,` + metric + `,3,([\d.]+),`
}

// accuracy returns a pattern for bytes and accuracy in the table of algorithms.
func accuracy(algorithm string) string {
	return `\| ` + regexp.QuoteMeta(algorithm) + ` +\| +[\d.]+ \| +(\d+) \|.*\| +([\d.]+) \|`
}

// measured returns a pattern for mean and interval of a metric over three seeds in the results of a comparison.
func measured(label, metric string) string {
	return `(?s)\n` + regexp.QuoteMeta(label) + `,[^,]*,` + metric + `,3,([\d.]+),([\d.]+),([\d.]+).*`
}

// onGraph returns the claim about accuracy and bytes of a row of the comparison graphs16.
func onGraph(label string) claim {
	return claim{label + ": accuracy %.3f (%.3f to %.3f), %.1f MB (%.1f to %.1f)", study("graphs16"),
		"results/graphs16/results.csv",
		measured(label, "accuracy") + strings.TrimPrefix(measured(label, "mb to accuracy 0.8"), "(?s)")}
}

// timeTo returns a pattern for the time to the target of an algorithm in the table of a comparison, with its interval.
func timeTo(algorithm string) string {
	return `(?s:.*?)\n +` + regexp.QuoteMeta(algorithm) + ` +([\d.]+) \[([\d.]+), ([\d.]+)\]`
}

// quantizer returns a pattern for bits, error and accuracy of a quantizer with some levels.
func quantizer(name, levels string) string {
	return `\| ` + regexp.QuoteMeta(name) + ` +\| +` + levels + ` \| +([\d.]+) \|[^|]*\| +([\d.]+) \| +([\d.]+) \|`
}

// ratio returns a pattern for the variance of a quantizer over that of ALQ, and what stands before it.
func ratio(name string) string { return `.*?\| ` + name + ` [^\n]*\| +([\d.]+) \| +\d+ \|` }

// then returns a pattern for the accuracy of bits after as long as two bits take, and at the end of their own run.
func then(bits string) string {
	return `.*?\| ` + bits + ` +(?:\|[^|\n]*){3}\| +([\d.]+) \|[^|]*\| +([\d.]+) \|`
}

// quantized returns the claim about a quantizer in the table of quantizers.
func quantized(words, name, levels string) claim {
	return claim{words + ": %s bits, error %s, accuracy %s %%", study("quantizers"), "results/quantizers.md",
		quantizer(name, levels)}
}

// distance returns a pattern for the distance from the optimum in a reference run, and what follows.
func distance(algorithm, field string) string {
	return `.*?"algorithm": \{"name": "` + algorithm + `"[^{]*\}, [^{]*"` + field + `": ([\d.]+)`
}

// claims are the claims of each page, by the name of the page and of its table.
var claims = map[string][]claim{
	"README.md measured": {
		{"ResNet-20 to loss 1.8 at 100 Mbit/s: speedup of Moniqua at 8 bit over D-PSGD | %s×",
			study("moniqua-fig1"), "results/moniqua-fig1/conclusions.txt", soonest("100 Mbit/s 0.15 ms", "Moniqua 8b")},
		{"The same at 1 Mbit/s, ChocoSGD with sign | %s×",
			study("moniqua-fig1"), "results/moniqua-fig1/conclusions.txt", soonest("1 Mbit/s 1 ms", "Choco 1b")},
		{"60 epochs of ResNet-20 on CIFAR-10, mean accuracy of D-PSGD in full precision | %.4f",
			study("moniqua-night"), "results/moniqua-night/results.csv", mean("D-PSGD", "accuracy")},
		{"The same, Moniqua at 8 bit | %.4f",
			study("moniqua-night"), "results/moniqua-night/results.csv", mean("Moniqua 8b", "accuracy")},
		{"A round of Moniqua at 8 bit and 20 Mbit/s: real over simulated milliseconds | %s",
			study("sim-vs-lab"), "results/sim-vs-lab.txt",
			`20 Mbit/s 1 ms +Moniqua 8b +1 +[\d.]+ +[\d.]+ +([\d.]+) .* same`},
		{"ResNet-20, one thread: samples in a CPU second | %s",
			study("training"), "performance/pytorch.md", `\| resnet20, batch 32 \| (\d+) \| \d+ \| \d+ \|`},
		{"The same with PyTorch 1.13, channels_last | %s",
			study("training"), "performance/pytorch.md", `\| resnet20, batch 32 \| \d+ \| \d+ \| (\d+) \|`},
	},
	"docs/choosing.md bits": {
		{"D-PSGD in full precision sends %s bytes in a round and reaches %s %%",
			study("algorithms"), "results/algorithms.md", accuracy("D-PSGD 32 bit")},
		{"Moniqua at 8 bit: %s bytes, %s %%", study("algorithms"), "results/algorithms.md", accuracy("Moniqua 8 bit")},
		{"Moniqua at 4 bit: %s bytes, %s %%", study("algorithms"), "results/algorithms.md", accuracy("Moniqua 4 bit")},
		{"Moniqua at 1 bit: %s bytes, %s %%", study("algorithms"), "results/algorithms.md",
			accuracy("Moniqua 1 bit, slack 0.1")},
		{"ChocoSGD with sign: %s bytes, %s %%", study("algorithms"), "results/algorithms.md",
			accuracy("ChocoSGD sign, γ 0.3")},
		{"Naive quantization on a grid of 0.01: %s bytes, %s %%", study("algorithms"), "results/algorithms.md",
			accuracy("naive linear, step 0.01")},
	},
	"docs/choosing.md data": {
		{"All-reduce, the yardstick: %s", study("one-label10"), "results/one-label10.txt", `allreduce +\d+ +([\d.]+)`},
		{"D² in full precision: %s", study("one-label10"), "results/one-label10.txt", `\n +d2 +\d+ +([\d.]+)`},
		{"D² with Moniqua at 8 bit: %s", study("one-label10"), "results/one-label10.txt", `moniqua-d2 +\d+ +([\d.]+)`},
		{"D-PSGD in full precision: %s", study("one-label10"), "results/one-label10.txt", `dpsgd +\d+ +([\d.]+)`},
	},
	"docs/choosing.md plan": {
		{"Predicted times to a target beside real peers: off by %s %% in the median, at most by %s %%", study("plan"),
			"results/plan.md", `time to the target, all pairs \| \d+ \| ([\d.]+) % \| (\d+) %`},
	},
	"docs/choosing.md uncompressed": {
		{"Gradients of 100 ms at 100 Mbit/s, three seeds: D-PSGD reaches the target in %s s (%s to %s), with Moniqua at " +
			"8 bit in %s s (%s to %s)", study("moniqua-fig2b-gradients"), "results/moniqua-fig2b-gradients/table.txt",
			`seconds to` + timeTo("D-PSGD") + timeTo("Moniqua 8b")},
	},
	"docs/choosing.md stragglers": {
		{"Gradients of 4 ms, 20 Mbit/s: %s s (%s to %s) by D-PSGD, Moniqua at 8 bit %s s (%s to %s), %s s " +
			"(%s to %s) by AD-PSGD, Moniqua-AD at 8 bit %s s (%s to %s)", study("moniqua-fig2b"),
			"results/moniqua-fig2b/table.txt",
			`seconds to` + timeTo("D-PSGD") + timeTo("Moniqua 8b") + timeTo("AD-PSGD") + timeTo("Moniqua-AD 8b")},
		{"Gradients of 100 ms, 100 Mbit/s: %s s (%s to %s) by D-PSGD, Moniqua at 8 bit %s s (%s to %s), %s s " +
			"(%s to %s) by AD-PSGD, Moniqua-AD at 8 bit %s s (%s to %s)", study("moniqua-fig2b-gradients"),
			"results/moniqua-fig2b-gradients/table.txt",
			`seconds to` + timeTo("D-PSGD") + timeTo("Moniqua 8b") + timeTo("AD-PSGD") + timeTo("Moniqua-AD 8b")},
	},
	"docs/choosing.md quantizers": {
		quantized("QSGD by the largest magnitude", "QSGD, max norm", "7"),
		quantized("QSGD by the 2-norm", "QSGD, 2-norm", "7"),
		quantized("NUQSGD by the 2-norm", "NUQSGD", "7"), quantized("ALQ by the largest magnitude", "ALQ, max norm", "7"),
		quantized("ORQ with 9 levels", "ORQ-9", "9"), quantized("quantiles with 9 levels", "Linear-9", "9"),
		quantized("ORQ with 5 levels", "ORQ-5", "5"), quantized("quantiles with 5 levels", "Linear-5", "5"),
		quantized("TernGrad", "TernGrad", "3"), quantized("TernGrad with clipping", "TernGrad, clipped", "3"),
		quantized("BinGrad-b", "BinGrad-b", "2"), quantized("BinGrad-b with feedback", "BinGrad-b with feedback", "2"),
	},
	"docs/choosing.md variance": {
		{"Along a run, variance over that of ALQ: %s for NUQSGD and %s for QSGD by the largest magnitude, " +
			"%s and %s by the 2-norm", study("variance"), "results/variance.md",
			`(?s)` + ratio("NUQSGD-inf") + ratio("QSGD-inf") + ratio("NUQSGD-2") + ratio("QSGD-2")},
	},
	"docs/choosing.md controllers": {
		{"Twenty seeds, to the target: 4 bits %s s (%s to %s), 8 bits %s s (%s to %s), the rule of Øland and Raj %s s " +
			"(%s to %s)", study("mqgrad"), "results/mqgrad/table.txt",
			`seconds to` + timeTo("Fix-4") + timeTo("Fix-8") + timeTo("Øland-Raj")},
		{"Runs with MQGrad that stay above the target: %s of %s", study("mqgrad"), "results/mqgrad/conclusions.txt",
			`MQGrad on 10 MB/s: (\d+) of (\d+) runs did not reach`},
		{"Runs in which MQGrad adds bits: %s of %s", "peer reproduce mqgrad", "results/claims/mqgrad-minutes.md",
			`(\d+) of (\d+) runs of MQGrad end with more bits`},
		{"MQGrad against 4 bits when the first of the two ends: %s points (%s to %s), against 8 bits %s points (%s to %s)",
			"peer reproduce mqgrad", "results/claims/mqgrad-minutes.md",
			`after [\d.]+ s MQGrad [\d.]+ %, Fix-4 [\d.]+ %: ([+-][\d.]+) points \[([+-][\d.]+), ([+-][\d.]+)\].*` +
				`Fix-8 [\d.]+ %: ([+-][\d.]+) points \[([+-][\d.]+), ([+-][\d.]+)\], [^|]*?after`},
		{"One seed, accuracy after as long as 2 bits take, and in the end: %s %% and %s %% with 2 bits, %s %% and %s %% " +
			"with 8, %s %% and %s %% with MQGrad",
			study("controllers"), "results/controllers.md",
			`(?s)` + then("Fix-2") + then("Fix-8") + then("MQGrad")},
	},
	"docs/choosing.md momentum": {
		{"Momentum on a ring: %.3f by D-PSGD with it, %.3f by QG-DSGDm and %.3f by DecentLaM",
			"go test ./internal/conformance -run Behaviour2",
			"../internal/conformance/testdata/vectors2/behaviour.json",
			`"name": "momentum"` + distance("dpsgd", "value") + distance("qg", "value") + distance("decentlam", "value")},
		{"A graph that changes: %.3f by D-PSGD; at most %s by gradient tracking and %s by K-GT",
			"go test ./internal/conformance -run Behaviour2", "../internal/conformance/testdata/vectors2/behaviour.json",
			`"name": "tracking"` + distance("dpsgd", "value") + distance("gt", "max_error_at_most") +
				distance("kgt", "max_error_at_most")},
	},
	"docs/choosing.md graphs": {
		onGraph("D-PSGD on a ring"), onGraph("D-PSGD on a torus"), onGraph("D-PSGD one-peer exponential"),
		onGraph("D-PSGD on base2"), onGraph("Moniqua 8b on a ring"), onGraph("Moniqua 8b on a torus"),
		onGraph("Moniqua 8b one-peer exponential"), onGraph("Moniqua 8b on base2"), onGraph("AllReduce"),
	},
	"docs/choosing.md networks": {
		{"200 Mbit/s: Moniqua at 8 bit is the first, speedup %s× (%s to %s).%s",
			study("moniqua-fig1"), "results/moniqua-fig1/conclusions.txt", sooner("200 Mbit/s 0.15 ms", "Moniqua 8b")},
		{"100 Mbit/s: Moniqua at 8 bit, %s× (%s to %s).%s",
			study("moniqua-fig1"), "results/moniqua-fig1/conclusions.txt", sooner("100 Mbit/s 0.15 ms", "Moniqua 8b")},
		{"1 Mbit/s: ChocoSGD with sign, %s× (%s to %s).%s",
			study("moniqua-fig1"), "results/moniqua-fig1/conclusions.txt", sooner("1 Mbit/s 1 ms", "Choco 1b")},
		{"A smaller model on a torus, 100 Mbit/s: ChocoSGD with sign, %s× (%s to %s).%s",
			study("torus16"), "results/torus16/conclusions.txt", sooner("100 Mbit/s 0.15 ms", "Choco sign")},
		{"One worker of six four times slower: Moniqua at 8 bit, %s× (%s to %s).%s",
			study("moniqua-fig2b"), "results/moniqua-fig2b/conclusions.txt", sooner("20 Mbit/s 0.15 ms", "Moniqua 8b")},
	},
}

// row returns the line of a table that makes the claim.
func (c claim) row(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(root + "docs/" + c.file)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(c.pattern).FindSubmatch(text)
	if found == nil {
		t.Fatalf("docs/%s has nothing like %s: the claim %q is without support", c.file, c.pattern, c.text)
	}
	var numbers []any
	for _, group := range found[1:] {
		numbers = append(numbers, figure(group))
	}
	return fmt.Sprintf(c.text, numbers...)
}

// A figure is a number of a file, as it stands there (%s) or rounded (%.3f).
type figure string

// Format writes the figure.
func (f figure) Format(w fmt.State, verb rune) {
	digits, rounded := w.Precision()
	value, err := strconv.ParseFloat(string(f), 64)
	if verb == 'f' && rounded && err == nil {
		fmt.Fprintf(w, "%.*f", digits, value)
		return
	}
	fmt.Fprint(w, string(f))
}

// No number of a claim is typed by hand:
//
//	go test ./internal/docs -run Claims -update
//
// takes them from the files that the studies write.
func TestClaimsAreMeasured(t *testing.T) {
	for key, all := range claims {
		page, name, _ := strings.Cut(key, " ")
		folder := "docs/"
		if strings.HasPrefix(page, "docs/") {
			folder = ""
		}
		made := claimTable(t, all, folder)
		text, err := os.ReadFile(root + page)
		if err != nil {
			t.Fatal(err)
		}
		marker := "<!-- claims " + name + " -->\n"
		before, rest, found := strings.Cut(string(text), marker)
		if !found {
			t.Errorf("%s has no line %s", page, marker)
			continue
		}
		table, after, _ := strings.Cut(rest, "\n\n")
		switch {
		case *update:
			if err := os.WriteFile(root+page, []byte(before+marker+made+"\n"+after), 0o644); err != nil {
				t.Fatal(err)
			}
		case table+"\n" != made:
			t.Errorf("%s has\n%s\nmeasured is\n%s\nwrite it with -update", page, table, made)
		}
	}
}

// claimTable returns the rows of claims about files in a folder. A command and a file that all share are in the head.
func claimTable(t *testing.T, all []claim, folder string) string {
	t.Helper()
	source := func(c claim, between string) string {
		name := path.Base(path.Dir(c.file)) + "/" + path.Base(c.file)
		return fmt.Sprintf("`%s`%s[%s](%s)", c.command, between, name, folder+c.file)
	}
	shared := len(all) > 1 && !slices.ContainsFunc(all, func(c claim) bool {
		return c.command != all[0].command || c.file != all[0].file
	})
	made := "| measured | command | file |\n|---|---|---|\n"
	switch {
	case strings.Contains(all[0].text, " | "): // a number has a cell of its own
		made, shared = "| measured | number | command | file |\n|---|---|---|---|\n", false
	case shared:
		made = fmt.Sprintf("| measured by %s |\n|---|\n", source(all[0], ", in "))
	}
	for _, c := range all {
		if shared {
			made += fmt.Sprintf("| %s |\n", c.row(t))
			continue
		}
		made += fmt.Sprintf("| %s | %s |\n", c.row(t), source(c, " | "))
	}
	return made
}

// settled are phrases with numbers or verdicts that are no results: settings, and what follows from a definition.
var settled = []string{
	"Dirichlet 0.1", "accuracy 0.8", "95 % interval", "20 ms per gradient", "and 1 ms", "10 MB/s", "0.6 epochs",
	"half an epoch", "takes 50 ms of virtual time", "four times slower", "Go 1.26", "Apache-2.0",
	"Speedup of the first algorithm over D-PSGD", "twice the bytes",
	"at 4 bit or more, or a graph with a larger gap",
	"With fewer than 3 bits D² is refused", "so its models are equal", "What messages of each compressor cost",
}

var (
	// aside is what no reader takes for a sentence, and the claims themselves.
	aside = regexp.MustCompile("(?s)<!-- claims \\w+ -->\n.*?\n\n|```.*?```|`[^`]*`|\\]\\([^)]*\\)")
	// quantity is a number with a unit, a decimal or a factor.
	quantity = regexp.MustCompile(`\d[\d.,]* ?(%|s|ms|µs|ns|min|h|[kMG]i?B|bytes?|points?|percent)(\W|$)|\d\.\d|` +
		`\b(twice|half|thousands|hundreds|one point|(\d+|two|three|four|five|six|seven|eight|nine|ten) times)\b`)
	verdict = regexp.MustCompile(`(?i)\b(first|sooner|later|faster|fastest|slower|slowest|better|best|worse|worst|more|less|` +
		`fewer|larger|smaller|higher|lower|longer|shorter|most|least|costs?|wins?|leads?|beats?|fails?|badly|well|` +
		`converges?|diverges?|reach(es)?|equal)\b`)
	method = regexp.MustCompile(`(?i)\b(moniqua|choco(sgd)?|psgd|dcd|ecd|deepsqueeze|naive|qg|decentlam|k?gt|d2|edm|` +
		`all-?reduce|quantizers?|feedback|compressors?|codecs?|tracking|(one|two|four|eight|\d) bits?)\b|D²`)
	sentences = regexp.MustCompile(`[.:;]\s+|\n\n|\n[*|]`)
)

// results returns the sentences of a page that look like results and are not claims.
func results(page string) (found []string) {
	for _, s := range sentences.Split(aside.ReplaceAllString(page, ""), -1) {
		bare := strings.Join(strings.Fields(s), " ")
		for _, phrase := range settled {
			bare = regexp.MustCompile(`(^|[^\d.])`+regexp.QuoteMeta(phrase)+`\b`).ReplaceAllString(bare, "$1")
		}
		if quantity.MatchString(bare) || verdict.MatchString(bare) && method.MatchString(bare) {
			found = append(found, strings.TrimSpace(s))
		}
	}
	return found
}

// A result outside of a claim would stay when its file changes, without interval and caveat.
func TestResultsAreClaims(t *testing.T) {
	all := ""
	for _, page := range []string{"README.md", "docs/choosing.md", "docs/results/README.md"} {
		text, err := os.ReadFile(root + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range results(string(text)) {
			t.Errorf("%s: make this result a claim, delete it, or reword what is not a result: %s", page, s)
		}
		all += strings.Join(strings.Fields(string(text)), " ")
	}
	for _, phrase := range settled {
		if !strings.Contains(all, phrase) {
			t.Errorf("settled: no page has %q any more", phrase)
		}
	}
	for _, typed := range []string{
		"Rounds take 1.00 to 1.02 times as long.", "A round of all-reduce takes 4.94 times as long.",
		"At 1 Mbit/s ChocoSGD with sign is the first.", "ChocoSGD with sign is more accurate than Moniqua there.",
		"No quantizer costs accuracy.", "Choco does not\nconverge there at one bit.", "Error feedback does badly there.",
		"One bit costs about one point.", "DCD, ECD and naive quantization diverge.", "That is why Moniqua leads.",
		"Where bytes decide, one bit wins.", "The error of `qg` is 0.021.", "AD-PSGD is later than D-PSGD.",
		"It keeps half a vector or less.", "It takes 21 ms.", "It has Dirichlet 0.12.", "Accuracy is 86 %.",
	} {
		if len(results(typed)) != 1 {
			t.Errorf("not found: %s", typed)
		}
	}
}
