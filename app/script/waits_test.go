package script

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// calling finds the calls of a player.
var calling = regexp.MustCompile(`barrier|reduce|broadcast|mean\w*|newest\w*|refresh|save|averaged`)

// Each call that may wait ends, with a result or an error that names why. Others may have ended, finished, left for a
// while or died, in the middle of the run and at its end. In each case worker 0 makes the calls, and others do not.
func TestEachCallOfSomeWorkersEnds(t *testing.T) {
	t.Parallel()
	const calls = "barrier reduce broadcast mean mean01 newest newest1"
	words := []string{"step " + calls, "step finish " + calls, "step leave", "step leave return mean", "step stop mean",
		"step step step " + calls, "step step step stop newest mean", "step refresh step step step mean",
		"step step step refresh mean", "step finish refresh mean", "step stop refresh"}
	others := map[string]struct {
		words string
		place Place
		error string // of the run
	}{
		"have ended":     {words: "step|step step", place: Place{Most: 100}},
		"have finished":  {words: "step finish|step step finish", place: Place{Most: 100}},
		"end later":      {words: "step step step|step step", place: Place{Most: 100}},
		"left":           {words: "step leave|step step leave", place: Place{Most: 100}},
		"died":           {words: "step die|step step step", place: Place{Most: 100}, error: "ended with exit code 3"},
		"died, are shed": {words: "step die|step step step", place: Place{Most: 100, Sheds: true}},
		"are free":       {words: "step|step step step", place: Place{Most: 100, Free: true}},
		"die in a call":  {words: "step die-CALL|step CALL", place: Place{Most: 100}, error: "ended with exit code 3"},
		"are shed in a call": {words: "step die-CALL|step CALL", place: Place{Most: 100, Sheds: true},
			error: "ended with exit code 3"},
	}
	for name, other := range others {
		for _, own := range words {
			t.Run(own+", others "+name, func(t *testing.T) {
				t.Parallel()
				at := other.place
				if strings.HasPrefix(own, "step step step") {
					at.Most, at.Rounds = 3, 3
				}
				printed, err := at.run(t, own+"|"+strings.ReplaceAll(other.words, "CALL", calling.FindString(own+" barrier")))
				refuses := strings.Contains(own, "refresh") && (at.Free || at.Sheds) && err != nil &&
					strings.Contains(err.Error(), "refresh 1: the parameters cannot change")
				if err != nil && !refuses && (other.error == "" || !strings.Contains(err.Error(), other.error)) {
					t.Fatalf("the run fails: %v", err)
				}
				for _, line := range printed[0] {
					if err != nil && strings.Contains(line, `"stopped"`) && !strings.Contains(line, other.error) &&
						!strings.Contains(line, "worker 0: enough") {
						t.Errorf("worker 0 learns %q", line)
					}
				}
			})
		}
	}
}

// So does each call where members come and go. Member 0 makes the calls, and others do not, or die in them. A newcomer
// has not made earlier ones.
func TestEachCallOfSomeMembersEnds(t *testing.T) {
	t.Parallel()
	const calls = "barrier reduce broadcast mean mean01 newest newest1"
	words := []string{calls, "step " + calls, "step finish " + calls, "step step step " + calls, "step loop " + calls}
	others := map[string][]string{ // the last one is the newcomer
		"have ended":    {"step", "step step", "loop"},
		"have finished": {"step finish", "step finish " + calls, "loop " + calls},
		"train on":      {"loop", "loop", "loop"},
		"died":          {"step die", "step step step", "loop"},
		"die in a call": {"die-CALL", "step die-CALL", "die-CALL"},
		"come to it":    {"step CALL", "step step CALL", "CALL"},
	}
	for name, other := range others {
		for _, own := range words {
			t.Run(own+", others "+name, func(t *testing.T) {
				t.Parallel()
				all := []string{own}
				for _, each := range other {
					all = append(all, strings.ReplaceAll(each, "CALL", calling.FindString(own)))
				}
				w := newWorld(t, 3, 3, 1)
				err := w.run(all, map[int]int{3: 1})[0]
				if _, told := errors.AsType[*Error](err); err != nil && (!told ||
					!strings.Contains(err.Error(), "and has made no such call in round") &&
						!strings.Contains(err.Error(), "all members call the same functions")) {
					t.Fatalf("member 0 fails: %v", err)
				}
				ended := 0 // calls with a result
				for _, line := range w.lines(0) {
					if strings.Contains(line, `{"kind":`) {
						ended++
					}
				}
				if want := len(strings.Fields(calls)); err == nil && ended != want {
					t.Errorf("member 0 has %d results of %d calls", ended, want)
				}
			})
		}
	}
}

// The calls of the Python package make several calls each. Its words are those of players, and averaged and save.
const pythonPlayer = `
import os, sys, tempfile
import numpy, gossiptrainer

if "refresh" in sys.argv[1]:
    import torch
    values = torch.nn.ParameterDict({"w": torch.nn.Parameter(torch.zeros(1)), "v": torch.nn.Parameter(torch.zeros(2))})
    values["v"].requires_grad_(False)
else:
    values = {"w": numpy.zeros(1, "float32")}
peer = gossiptrainer.join(values)

def refresh():
    values["v"].requires_grad_(True)
    peer.refresh()

def averaged():
    with peer.averaged() as mean:
        mean["w"]

def save():
    with tempfile.TemporaryDirectory() as folder:
        peer.save(os.path.join(folder, "mean.npz"))

calls = {"step": peer.step, "finish": peer.finish, "barrier": peer.barrier, "reduce": lambda: peer.all_reduce(1.0),
         "broadcast": lambda: peer.broadcast("x"), "mean": peer.average, "averaged": averaged, "save": save,
         "refresh": refresh, "leave": peer.leave}
for word in sys.argv[1].split("|")[peer.rank].split():
    if word == "die":
        os._exit(3)
    if word.startswith("die-"):
        collect = peer._link.collect
        peer._link.collect = lambda *call: (collect(*call), os._exit(3))
    try:
        calls[word.replace("die-", "")]()
    except gossiptrainer.Error as problem:
        print(f"{peer.rank}: {word} fails: {problem}\n", end="")
    else:
        print(f"{peer.rank}: {word} ends\n", end="")
`

func TestEachCallOfSomePythonScriptsEnds(t *testing.T) {
	t.Parallel()
	python := ""
	for _, name := range []string{os.Getenv("PEER_PYTHON"), "/usr/bin/python3", "python3"} {
		if exec.CommandContext(t.Context(), name, "-c", "import numpy").Run() == nil {
			python = name
			break
		}
	}
	if python == "" {
		t.Skip("SKIPPED: there is no python3 with numpy")
	}
	for words, want := range map[string]struct {
		calls int    // of worker 0 that end well
		error string // of the run
	}{
		"step averaged save reduce|step":            {calls: 3},
		"averaged save reduce|step step finish":     {calls: 3},
		"step finish save broadcast averaged|step":  {calls: 3},
		"step step step save mean|step save|finish": {calls: 2},
		"save reduce|die":                           {error: "ended with exit code 3"},
		"step averaged|step die-averaged":           {error: "ended with exit code 3"},
		"step save|step die-save|step save":         {error: "ended with exit code 3"},
		"step reduce|reduce step":                   {calls: 1},
		"save|averaged barrier reduce":              {calls: 1},
		"step refresh step step save|step":          {calls: 2},
		"step finish refresh mean|step":             {calls: 2},
		"step refresh mean|step step leave":         {calls: 2},
		"step refresh|step die-refresh":             {error: "ended with exit code 3"},
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			const torch = "import importlib.util; exit(importlib.util.find_spec('torch') is None)"
			if strings.Contains(words, "refresh") && exec.CommandContext(t.Context(), python, "-c", torch).Run() != nil {
				t.Skip("SKIPPED: this Python has no torch")
			}
			printed, err := Place{Most: 100}.runScripts(t, words, python, "-c", pythonPlayer)
			if want.error == "" && err != nil || want.error != "" && (err == nil || !strings.Contains(err.Error(), want.error)) {
				t.Fatalf("error %v, want %q", err, want.error)
			}
			ended := slices.DeleteFunc(printed[0], func(line string) bool {
				return !calling.MatchString(line) || !strings.HasSuffix(line, " ends")
			})
			if err == nil && len(ended) != want.calls {
				t.Errorf("worker 0 has %q, want %d calls that end", printed[0], want.calls)
			}
		})
	}
}
