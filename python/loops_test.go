package python_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// guide is the page with the loops of frameworks. Each has the lines that it needs, and a command that runs an example.
const guide = "../docs/script.md"

var (
	loop    = regexp.MustCompile("(?s)```diff\n([^`]*)```\n\n```sh loops\n(peer [^`]*?/loops/(\\w+\\.py)[^`]*)```")
	imports = regexp.MustCompile(`(?m)^(?:import|from) (\w+)`)
	result  = regexp.MustCompile(`worker (\d+): \d+ (?:steps|rounds).*, mean (-?\d\S+)`)
)

// The loops of frameworks take part as the guide says: two workers end with the same mean.
func TestLoopsOfTheGuideTakePart(t *testing.T) {
	page, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	scripts := map[string]bool{}
	all := loop.FindAllStringSubmatch(string(page), -1)
	for _, found := range all {
		scripts[found[3]] = true
		checkDiff(t, found[3], found[1])
	}
	files, err := filepath.Glob("../examples/loops/*.py")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if !scripts[filepath.Base(file)] {
			t.Errorf("%s: no command runs %s", guide, file)
		}
	}
	venv := os.Getenv("PEER_VENV")
	if venv == "" {
		t.Skip("SKIPPED: PEER_VENV names no environment with frameworks: .ci/frameworks makes one")
	}
	if !filepath.IsAbs(venv) {
		t.Fatalf("PEER_VENV is %q, want a path from the root", venv)
	}
	bin := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "../cmd/peer").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	path := filepath.Join(venv, "bin") + string(os.PathListSeparator) + bin
	for _, found := range all {
		t.Run(found[3], func(t *testing.T) {
			if strings.Contains(found[2], "torchrun") && os.Getenv("PEER_TEST_ALL") == "" {
				t.Skip("SKIPPED: six processes are for the nightly tests (PEER_TEST_ALL)")
			}
			needs := imports.FindAllStringSubmatch(exampleOf(t, found[3]), -1)
			for _, name := range needs {
				probe := fmt.Sprintf("import importlib.util, sys; sys.exit(not importlib.util.find_spec(%q))", name[1])
				python := filepath.Join(venv, "bin", "python")
				if name[1] != "gossiptrainer" && exec.CommandContext(t.Context(), python, "-c", probe).Run() != nil {
					t.Skipf("SKIPPED: %s has no %s", venv, name[1])
				}
			}
			follow(t, found[2], path)
		})
	}
}

func TestLoopsOfFrameworksKeepTheirTrees(t *testing.T) {
	venv := os.Getenv("PEER_VENV")
	if venv == "" {
		t.Skip("SKIPPED: PEER_VENV names no environment with frameworks: .ci/frameworks makes one")
	}
	if _, err := os.ReadFile("tests/test_frameworks.py"); err != nil { // so that a cached result is that of this file
		t.Fatal(err)
	}
	run(t, filepath.Join(venv, "bin", "python"), "tests", "-W", "ignore", "-m", "unittest", "test_frameworks")
}

// exampleOf returns the text of an example with a loop of its own.
func exampleOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../examples/loops", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkDiff compares the lines that a diff of the guide adds with those of the example.
func checkDiff(t *testing.T, name, diff string) {
	t.Helper()
	script := map[string]bool{}
	for line := range strings.Lines(exampleOf(t, name)) {
		line, _, _ = strings.Cut(line, "  #")
		script[strings.TrimSpace(line)] = true
	}
	for line := range strings.Lines(diff) {
		if line, added := strings.CutPrefix(line, "+ "); added && !script[strings.TrimSpace(line)] {
			t.Errorf("%s adds %q, which %s lacks", guide, strings.TrimSpace(line), name)
		}
	}
}

// longestLoop bounds a run of an example, which takes seconds, so that one that stands still shows its output.
const longestLoop = 5 * time.Minute

// follow runs a command of the guide in an empty folder, which has the examples.
func follow(t *testing.T, command, path string) {
	t.Helper()
	dir := t.TempDir()
	examples, err := filepath.Abs("../examples")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(examples, filepath.Join(dir, "examples")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), longestLoop)
	defer cancel()
	sh := exec.CommandContext(ctx, "sh", "-e", "-c", "exec "+command)
	sh.Cancel = func() error { return sh.Process.Signal(os.Interrupt) } // so that it ends its peers
	sh.WaitDelay = time.Minute
	sh.Dir = dir
	sh.Env = append(os.Environ(), "PATH="+path+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+dir,
		"PYTHONPATH=", "PEER_SOCKET=", "HF_HUB_OFFLINE=1", "JAX_PLATFORMS=cpu", "NO_COLOR=1")
	out, err := sh.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ends := result.FindAllStringSubmatch(string(out), -1)
	if len(ends) != 2 || ends[0][1] == ends[1][1] {
		t.Fatalf("want one result of each worker:\n%s", out)
	}
	if ends[0][2] != ends[1][2] {
		t.Errorf("the means differ: %s and %s\n%s", ends[0][2], ends[1][2], out)
	}
}
