// Studies makes the files of docs/results and docs/performance: one study, some, or all of them.
//
//	go run ./studies list
//	go run ./studies NAME...
//	go run ./studies all
//
// It runs in the root of the repository. Each study is a program or a script. If a study fails, the others still run. A
// script does not repeat runs that it has finished.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
)

// A study makes files below docs.
type study struct {
	name    string
	command string   // words, without quotes
	writes  []string // files and folders
	needs   []string // beside Go
	minutes int      // about, on two cores; most are estimates from shorter runs
}

// Things that a study may need.
const (
	fashion     = "Fashion-MNIST"
	cifar       = "CIFAR-10"
	shakespeare = "Tiny Shakespeare"
	idle        = "an idle machine" // it measures time
	root        = "root"            // and network namespaces
	numpy       = "NumPy"
	torch       = "PyTorch"
)

// studies returns all studies by name.
func studies() []study {
	all := []study{
		program("algorithms", 15, "-o", fashion, idle),
		{"churn", "go run ./studies/churn -o docs/results/churn.md",
			below("docs/results/", "churn.md", "churn.png"), nil, 10},
		{"controllers", "go run ./studies/controllers -o docs/results/controllers.md",
			below("docs/results/", "controllers.md", "controllers.png"), []string{fashion}, 2},
		program("defaults", 10, "-o"),
		program("entropy", 2, "-o", fashion, idle),
		{"faults-sim", "go run ./studies/faults -times 100 -many 1000 -seed 1 -o docs/results/faults-sim.md",
			below("docs/results/", "faults-sim.md"), nil, 1}, program("members", 11, "-o"),
		{"members-lan", "go run ./test/members -length 28m -seed 5 -o docs/results/members-lan.md",
			below("docs/results/", "members-lan.md"), []string{root}, 30},
		{"script-members", "studies/script/members.py", below("docs/results/", "script-members.md", "script-members.svg"),
			[]string{fashion, torch}, 1},
		program("plan", 20, "-o", idle),
		program("poison", 5, "-rounds 300 -seeds 1 -o", fashion),
		program("presets", 3, "-o", fashion, idle),
		program("quantizers", 10, "-o", fashion),
		program("rivals", 15, "-o", fashion, numpy, torch, idle),
		{"variance", "go run ./studies/variance -o docs/results/variance.md -table docs/results/compressors.md",
			below("docs/results/", "variance.md", "variance.png", "compressors.md"), []string{fashion, idle}, 10},
		{"claims", "studies/reproduce.sh minutes moniqua alq orq mqgrad d2", below("docs/results/claims/",
			"alq-minutes.md", "d2-minutes.md", "moniqua-minutes.md", "mqgrad-minutes.md", "orq-minutes.md"),
			[]string{fashion}, 25},
		{"claims-night", "studies/reproduce.sh night moniqua",
			below("docs/results/claims/", "moniqua-night.md", "moniqua-night.tar.gz"), []string{cifar, fashion}, 2500},
		{"mqgrad-night", "studies/reproduce.sh night mqgrad", below("docs/results/claims/", "mqgrad-night.md"),
			[]string{fashion}, 60},
		loops(),
		{"one-label10", "studies/one-label10.sh", below("docs/results/", "one-label10.png", "one-label10.txt"),
			[]string{fashion}, 10},
		{"tables", "studies/tables/tables.py", []string{"docs/results/tables.md"}, []string{fashion, "scikit-learn"}, 10},
		{"starts", "studies/pytorch/starts.py --jobs 2", below("docs/results/", "starts.md"), []string{cifar, torch}, 20},
		{"bigmodel", "studies/bigmodel/run.sh", []string{"docs/results/bigmodel.md"}, []string{"optdigits"}, 20},
		{"sim-vs-lab", "studies/sim-vs-lab.sh", below("docs/results/", "sim-vs-lab.txt"), []string{fashion, idle}, 20},
		{"faults", "go run ./test/chaos -o docs/results/faults.md", below("docs/results/", "faults.md"), []string{root}, 20},
		{"soak", "go run ./test/chaos -soak 1h -seed 20261123 -o docs/results/soak.md", below("docs/results/", "soak.md"),
			[]string{root}, 65},
		{"theta", "studies/theta.sh", below("docs/performance/", "theta.txt"), nil, 5},
		{"rounds", "studies/pytorch/rounds.sh", below("docs/performance/", "link.txt", "sim.txt", "round.txt"),
			[]string{idle}, 5},
		{"training", "studies/pytorch/training.sh",
			below("docs/performance/", "steps.txt", "kernels.txt", "profile.txt", "pytorch.md"), []string{torch}, 10},
	}
	all = append(all, comparisons()...)
	slices.SortFunc(all, func(a, b study) int { return strings.Compare(a.name, b.name) })
	return all
}

// comparisons returns the studies that are comparisons.
func comparisons() []study {
	return []study{
		comparison("alq-figure7", 90, fashion),
		comparison("alq-table1", 5, fashion),
		comparison("checklist", 5),
		comparison("graphs16", 10, fashion),
		comparison("heterogeneous", 5),
		comparison("moniqua-fig1", 30, cifar),
		comparison("moniqua-fig1-lab", 10, fashion, idle),
		comparison("moniqua-fig2a", 10, fashion),
		comparison("moniqua-fig2b", 1),
		comparison("moniqua-fig2b-gradients", 1),
		comparison("moniqua-night", 2400, cifar),
		comparison("moniqua-table2", 30, cifar),
		comparison("mqgrad", 5, fashion),
		comparison("one-peer", 10),
		comparison("orq-table2", 5, fashion),
		comparison("scaling", 5),
		comparison("torus16", 15, fashion),
	}
}

// loops is the study of training loops beside DDP.
func loops() study {
	return study{"loops", "studies/loops/loops.py -o docs/results/loops.md", []string{"docs/results/loops.md"},
		[]string{shakespeare, cifar, torch, root, idle}, 40}
}

// program is the study of a program in a folder of its name, which writes a document.
func program(name string, minutes int, flags string, needs ...string) study {
	document := "docs/results/" + name + ".md"
	return study{name, "go run ./studies/" + name + " " + flags + " " + document, []string{document}, needs, minutes}
}

// comparison is the study of a comparison in configs/comparisons.
func comparison(name string, minutes int, needs ...string) study {
	return study{name, "studies/comparisons.sh " + name, []string{"docs/results/" + name}, needs, minutes}
}

func below(folder string, names ...string) []string {
	for i := range names {
		names[i] = folder + names[i]
	}
	return names
}

func main() {
	flag.Usage = func() { fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./studies list | all | NAME...") }
	flag.Parse()
	if flag.Arg(0) == "list" && flag.NArg() == 1 {
		list(os.Stdout, studies())
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	chosen, err := choose(studies(), flag.Args())
	if err == nil {
		err = makeAll(ctx, chosen, os.Geteuid() == 0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "studies:", err)
		os.Exit(1)
	}
}

// list prints the outputs, needs and times of studies.
func list(w io.Writer, all []study) {
	for _, s := range all {
		fmt.Fprintf(w, "%s: about %d minutes", s.name, s.minutes)
		if len(s.needs) > 0 {
			fmt.Fprintf(w, ", needs %s", strings.Join(s.needs, ", "))
		}
		fmt.Fprintf(w, "\n\twrites %s\n\truns   %s\n", strings.Join(s.writes, " "), s.command)
	}
}

// choose returns the studies of these names, or all.
func choose(all []study, names []string) ([]study, error) {
	if len(names) == 1 && names[0] == "all" {
		return all, nil
	}
	if len(names) == 0 {
		return nil, errors.New("no study: name one or more, or say list or all")
	}
	var chosen []study
	for _, name := range names {
		i := slices.IndexFunc(all, func(s study) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("%q: no such study: go run ./studies list names them", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// makeAll makes studies one after another and reports which failed. Without root it skips those that need it.
func makeAll(ctx context.Context, chosen []study, isRoot bool) error {
	var failed []error
	for _, s := range chosen {
		if slices.Contains(s.needs, root) && !isRoot {
			fmt.Fprintf(os.Stderr, "SKIPPED: %s: needs root\n", s.name)
			continue
		}
		fmt.Fprintf(os.Stderr, "== %s: %s\n", s.name, s.command)
		words := strings.Fields(s.command)
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		if err := cmd.Run(); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}
