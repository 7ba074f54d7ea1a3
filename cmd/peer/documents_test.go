//go:build !race

// The race detector sees the same commands in the transcripts.

package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A block is a shell block of a document.
type block struct{ page, mark, text string }

// marks say of a block why no test runs it; runnable blocks are run.
var marks = []string{
	runnable,
	torch,
	nightly,
	"loops",    // a test of the package python runs it, where the frameworks are
	"data",     // needs a data set that is not built in
	"machines", // needs several machines
	"root",     // needs rights or an installed system
	"source",   // needs the sources and Go
	"slow",     // takes longer than a test may
}

const runnable = "runnable"

// torch marks blocks with scripts. A test runs them where a Python has PyTorch.
const torch = "torch"

// nightly marks blocks that repeat others or transcripts. They run where PEER_TEST_ALL is set.
const nightly = "nightly"

var shell = regexp.MustCompile("(?ms)^ *```sh *([^\\n]*)\\n(.*?)^ *```$")

// blocks returns the shell blocks of a text.
func blocks(page, text string) (all []block) {
	for _, found := range shell.FindAllStringSubmatch(text, -1) {
		all = append(all, block{page, found[1], found[2]})
	}
	return all
}

// documents returns the shell blocks of all pages, by page.
func documents(t *testing.T) map[string][]block {
	t.Helper()
	const root = "../../"
	all := map[string][]block{}
	read := func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		if page := strings.TrimPrefix(filepath.ToSlash(path), root); err == nil {
			all[page] = blocks(page, string(text))
		}
		return err
	}
	if err := filepath.WalkDir(root+"docs", read); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(root + "*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if err := read(page, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// Every page is a scratch folder, in which its runnable blocks run one after the other.
func TestDocumentsRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	ran := 0
	for page, all := range documents(t) {
		all = slices.DeleteFunc(all, func(b block) bool { return b.mark != runnable })
		ran += len(all)
		if len(all) == 0 {
			continue
		}
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			follow(t, all, t.TempDir())
		})
	}
	if ran == 0 {
		t.Error("no block is runnable")
	}
}

// follow runs blocks one after the other in a folder, with further variables of the environment.
func follow(t *testing.T, all []block, dir string, environment ...string) {
	t.Helper()
	for _, b := range all {
		sh := exec.CommandContext(t.Context(), "sh", "-e", "-c", b.text)
		sh.Dir, sh.Env = dir, append(scratch(dir), environment...)
		if out, err := sh.CombinedOutput(); err != nil {
			t.Fatalf("%v:\n%s\n%s", err, b.text, out)
		}
	}
}

// ownScript stands for the reader's own train.py where a page does not write one. It takes as many steps as it likes.
const ownScript = `
import gossiptrainer, torch

model = torch.nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), 0.1)
peer = gossiptrainer.join(model, opt)
for _ in range(3):
    loss = model(torch.randn(8, 4)).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
    peer.log(loss)
`

func TestScriptsOfDocumentsRun(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath(torchPython(t))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	wanted := []string{torch}
	if os.Getenv("PEER_TEST_ALL") != "" {
		wanted = append(wanted, nightly)
	}
	for page, all := range documents(t) {
		all = slices.DeleteFunc(all, func(b block) bool { return !slices.Contains(wanted, b.mark) })
		ran += len(all)
		if len(all) == 0 {
			continue
		}
		t.Run(page, func(t *testing.T) {
			bin := t.TempDir() // pages say python3, which may be one without PyTorch
			if err := os.Symlink(python, filepath.Join(bin, "python3")); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "train.py"), []byte(ownScript), 0o666); err != nil {
				t.Fatal(err)
			}
			environment := []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")}
			if all[0].mark == torch { // two workers are enough: each is a Python that loads PyTorch
				environment = append(environment, "PEER_TOPOLOGY__SIZE=2")
			}
			follow(t, all, dir, environment...)
		})
	}
	if ran == 0 {
		t.Error("no page has a script")
	}
}

// A block that no test runs names at least commands that exist, with flags that they have.
func TestCommandsOfDocumentsExist(t *testing.T) {
	found := 0
	for page, all := range documents(t) {
		for _, b := range all {
			if !slices.Contains(marks, b.mark) {
				t.Errorf("%s: a shell block is marked %q, want one of %v:\n%s", page, b.mark, marks, b.text)
			}
			for line := range strings.Lines(b.text) {
				args := commandLine(line)
				if args == nil {
					continue
				}
				found++
				cmd, rest, err := newRoot(newConsole()).Find(args)
				if err == nil {
					err = cmd.ParseFlags(rest)
				}
				if err == nil && cmd.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
					err = cmd.RunE(cmd, rest)
				}
				if err != nil && !strings.Contains(err.Error(), "help requested") {
					t.Errorf("%s: %s: %v", page, strings.TrimSpace(line), err)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no document names a command")
	}
}

// commandLine returns the words after "peer" of a line that calls it, nil of others.
func commandLine(line string) []string {
	line, _, _ = strings.Cut(line, " #")
	words := strings.Fields(line)
	for len(words) > 0 && strings.Contains(words[0], "=") { // variables of the environment
		words = words[1:]
	}
	if len(words) == 0 || words[0] != "peer" || len(words) > 1 && words[1] == "=" { // a variable of a script
		return nil
	}
	var args []string
	for _, word := range words[1:] {
		if strings.ContainsAny(word, "|<>;&") {
			break
		}
		args = append(args, strings.Trim(word, "'\""))
	}
	return args
}

func TestBlocksAreFound(t *testing.T) {
	text := "# A\n```sh runnable\npeer lab\n```\n```go\nx\n```\n  ```sh\n  peer\n  ```\n"
	want := []block{{"p", "runnable", "peer lab\n"}, {"p", "", "  peer\n"}}
	if got := blocks("p", text); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for line, want := range map[string]int{
		"PEER_X=1 peer lab ring8 # eight": 2, "go test": 0, "peer config show x > y": 3, "peer": 0, "": 0,
	} {
		if got := commandLine(line); len(got) != want {
			t.Errorf("%q: %q, want %d words", line, got, want)
		}
	}
}

// shown is a block with the output of a command, which its first line names.
var shown = regexp.MustCompile("(?ms)^```text (peer [^\\n]*)\\n(.*?)^```$")

// The documents show what commands print:
//
//	go test ./cmd/peer -run Outputs -update
//
// writes it.
func TestOutputsAreThoseOfTheCommands(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		made := shown.ReplaceAllStringFunc(string(text), func(old string) string {
			found++
			command := shown.FindStringSubmatch(old)[1]
			return "```text " + command + "\n" + output(t, command) + "```"
		})
		switch {
		case *update:
			if err := os.WriteFile(page, []byte(made), 0o644); err != nil {
				t.Fatal(err)
			}
		case made != string(text):
			t.Errorf("%s: an output is not that of its command: write it with -update", page)
		}
	}
	if found == 0 {
		t.Error("no document shows an output")
	}
}

// output returns what a command writes to standard output in an empty folder. Lines
// lose spaces at their ends.
func output(t *testing.T, command string) string {
	t.Helper()
	sh := exec.CommandContext(t.Context(), "sh", "-e", "-c", command)
	sh.Dir, sh.Env = t.TempDir(), scratch(t.TempDir())
	out, err := sh.Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return trailing.ReplaceAllString(string(out), "\n")
}

var trailing = regexp.MustCompile(` +\n`)

// scratch is the environment of a user who has nothing yet.
func scratch(home string) []string {
	return append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "PEER_DATA=", "NO_COLOR=1",
		"LC_ALL=C.UTF-8")
}
