package docs

import (
	"fmt"
	"os"
	"path"
	"regexp"
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
	return "On " + network + " " + algorithm + ` is the first .*?, ([\d.]+) times sooner ` +
		`\(95 % interval over 3 seeds: ([\d.]+) to ([\d.]+) times\)\.( These \w+ do not tell it from [^\n.]*\.)?`
}

// slowest returns a pattern for the speedups of algorithms over D-PSGD in the last column of a table of times.
func slowest(algorithms ...string) string {
	rows := make([]string, len(algorithms))
	for i, a := range algorithms {
		rows[i] = `\n +` + a + `  [^\n]*\(([\d.]+)\)`
	}
	return "(?s)" + strings.Join(rows, ".*")
}

// accuracy returns a pattern for bytes and accuracy in the table of algorithms.
func accuracy(algorithm string) string {
	return `\| ` + regexp.QuoteMeta(algorithm) + ` +\| +[\d.]+ \| +(\d+) \|.*\| +([\d.]+) \|`
}

// accuracies returns a pattern for seeds and accuracy of rows of a comparison, and for the accuracy of the last row's
// average model.
func accuracies(labels ...string) string {
	pattern := "(?s)"
	for _, label := range labels {
		pattern += `\n` + regexp.QuoteMeta(label) + `,[^,]*,accuracy,(\d+),([\d.]+).*`
	}
	return pattern + `\n` + regexp.QuoteMeta(labels[len(labels)-1]) + `,[^,]*,accuracy_average_model,\d+,([\d.]+)`
}

// onGraph returns the claim about accuracy and bytes of a row of the comparison graphs16.
func onGraph(label string) claim {
	begin := `(?s)\n` + regexp.QuoteMeta(label) + `,[^,]*,`
	return claim{label + ": accuracy %.3f, %.1f MB", study("graphs16"), "results/graphs16/results.csv",
		begin + `accuracy,\d+,([\d.]+).*` + begin[len("(?s)"):] + `mb to accuracy 0.8,3,([\d.]+)`}
}

// claims are the claims of each page, by the name of the page and of its table.
var claims = map[string][]claim{
	"README.md measured": {
		{"ResNet-20 at 100 Mbit/s: Moniqua at 8 bit is %s times sooner at loss 1.8 than D-PSGD " +
			"(95 %% interval %s to %s).%s",
			study("moniqua-fig1"), "results/moniqua-fig1/conclusions.txt", sooner("100 Mbit/s 0.15 ms", "Moniqua 8b")},
		{"The same at 1 Mbit/s: Moniqua at 8 bit is %s times sooner, ChocoSGD with sign %s times, Moniqua at 1 bit %s times",
			study("moniqua-fig1"), "results/moniqua-fig1/table.txt", slowest("Moniqua 8b", "Choco 1b", "Moniqua 1b")},
		{"60 epochs of ResNet-20: accuracy is %.4[2]f by all-reduce, %.4[4]f by D-PSGD in full precision, %.4[6]f, " +
			"%.4[8]f, %.4[10]f and %.4[12]f by Moniqua at 8, 4, 2 and 1 bit, %.4[14]f by DCD and %.4[16]f by ECD at 8 bit, " +
			"%.4[18]f, %.4[20]f and %.4[22]f by ChocoSGD at 8 and 2 bit and with sign, %.4[24]f, %.4[26]f and %.4[28]f by " +
			"DeepSqueeze likewise (its average model with sign: %.4[29]f). " +
			"Seeds: %[1]s of all-reduce, D-PSGD, and Moniqua at 8 and 4 bit, %[27]s of the others",
			study("moniqua-night"), "results/moniqua-night/results.csv",
			accuracies("AllReduce", "D-PSGD", "Moniqua 8b", "Moniqua 4b", "Moniqua 2b", "Moniqua 1b", "DCD 8b", "ECD 8b",
				"Choco 8b", "Choco 2b", "Choco 1b", "DeepSqueeze 8b", "DeepSqueeze 2b", "DeepSqueeze 1b")},
		{"A 4x4 torus at 100 Mbit/s: ChocoSGD with sign is the first, %s times sooner than D-PSGD (%s to %s).%s",
			study("torus16"), "results/torus16/conclusions.txt", sooner("100 Mbit/s 0.15 ms", "Choco sign")},
		{"One label per worker, accuracy of all-reduce, of D² with Moniqua at 8 bit, and of D-PSGD: %s, %s, %s",
			study("one-label10"), "results/one-label10.txt",
			`(?s)allreduce +\d+ +([\d.]+).*moniqua-d2 +\d+ +([\d.]+).*dpsgd +\d+ +([\d.]+)`},
		{"1000 kills, cuts and hangs of 64 simulated workers: %s s of virtual time, digest as without faults",
			study("faults-sim"), "results/faults-sim.md",
			`64 workers and 1000 faults: ([\d.]+) s of virtual time in \d+ s, digest \w+ with them and without`},
		{"One liar on a ring of eight, accuracy: %s %% with plain mixing, %s %% clipped",
			study("poison"), "results/poison.md",
			`(?s)ring +\| +32 bit, plain \| one peer \| +([\d.]+).*ring +\| +32 bit, clipped \| one peer \| +([\d.]+)`},
		{"Moniqua at 8 bit and 20 Mbit/s: a simulated round takes %s ms, a real one %s ms, with the same digest",
			study("sim-vs-lab"), "results/sim-vs-lab.txt",
			`20 Mbit/s 1 ms +Moniqua 8b +1 +([\d.]+) +([\d.]+) .* same`},
		{"Gradients of ResNet-20 on one thread: %s samples per second, with PyTorch 1.13 %s",
			study("training"), "performance/pytorch.md", `\| resnet20, batch 32 \| (\d+) \| \d+ \| (\d+) \|`},
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
	"docs/choosing.md graphs": {
		onGraph("D-PSGD on a ring"), onGraph("D-PSGD on a torus"), onGraph("D-PSGD one-peer exponential"),
		onGraph("D-PSGD on base2"), onGraph("Moniqua 8b on a ring"), onGraph("Moniqua 8b on a torus"),
		onGraph("Moniqua 8b one-peer exponential"), onGraph("Moniqua 8b on base2"), onGraph("AllReduce"),
	},
	"docs/choosing.md networks": {
		{"200 Mbit/s: Moniqua at 8 bit is the first, %s times sooner than D-PSGD (%s to %s).%s",
			study("moniqua-fig1"), "results/moniqua-fig1/conclusions.txt", sooner("200 Mbit/s 0.15 ms", "Moniqua 8b")},
		{"100 Mbit/s: Moniqua at 8 bit, %s times (%s to %s).%s",
			study("moniqua-fig1"), "results/moniqua-fig1/conclusions.txt", sooner("100 Mbit/s 0.15 ms", "Moniqua 8b")},
		{"1 Mbit/s: ChocoSGD with sign, %s times (%s to %s).%s",
			study("moniqua-fig1"), "results/moniqua-fig1/conclusions.txt", sooner("1 Mbit/s 1 ms", "Choco 1b")},
		{"A smaller model on a torus, 100 Mbit/s: ChocoSGD with sign, %s times (%s to %s).%s",
			study("torus16"), "results/torus16/conclusions.txt", sooner("100 Mbit/s 0.15 ms", "Choco sign")},
		{"One worker of six four times slower: Moniqua at 8 bit, %s times (%s to %s).%s",
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
		made := "| measured | command | file |\n|---|---|---|\n"
		for _, c := range all {
			made += fmt.Sprintf("| %s | `%s` | [%s](%s) |\n", c.row(t), c.command, path.Base(path.Dir(c.file))+"/"+
				path.Base(c.file), folder+c.file)
		}
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
