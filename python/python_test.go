package python_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gossiptrainer/python"
)

// interpreter returns a Python that has the given modules: the one that PEER_PYTHON names, else that of the system,
// else the first of PATH.
func interpreter(t *testing.T, modules string) string {
	t.Helper()
	for _, name := range []string{os.Getenv("PEER_PYTHON"), "/usr/bin/python3", "python3"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if out, err := exec.CommandContext(t.Context(), path, "-c", "import "+modules).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: %s cannot import %s: %s", path, modules, out)
		}
		return path
	}
	t.Skip("SKIPPED: there is no python3")
	return ""
}

func TestModuleFollowsTheProtocol(t *testing.T) {
	for name, needs := range map[string]string{
		"test_script": "numpy", "test_torch": "torch, numpy", "test_data": "torch, numpy", "test_seeds": "torch, numpy",
		"test_resume": "torch, numpy", "test_calls": "torch, numpy", "test_tree": "numpy",
		"test_trainers": "torch, numpy", "test_staging": "torch", "test_attach": "numpy", "test_views": "torch, numpy",
		"test_loops": "torch, numpy",
	} {
		t.Run(name, func(t *testing.T) {
			for _, file := range []string{name, "fakepeer", "fakecuda"} { // so that a cached result is that of these files
				if _, err := os.ReadFile(filepath.Join("tests", file+".py")); err != nil {
					t.Fatal(err)
				}
			}
			run(t, interpreter(t, needs), "tests", "-W", "ignore", "-m", "unittest", name)
		})
	}
}

// run runs Python with the module of this folder.
func run(t *testing.T, program, dir string, args ...string) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, append([]string{"-B"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONPATH="+here, "OMP_NUM_THREADS=1", "PEER_SOCKET=", "PEER_DATA=absent")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return string(out)
}

func TestExampleRunsAlone(t *testing.T) {
	folder := filepath.Join("..", "examples", "pytorch")
	script, err := os.ReadFile(filepath.Join(folder, "train.py"))
	if err != nil {
		t.Fatal(err)
	}
	// the script of the module's documentation, word for word
	for _, line := range strings.Split(documented(t), "\n") {
		if !strings.Contains(string(script), "\n"+line+"\n") {
			t.Errorf("train.py lacks the line %q of the package", line)
		}
	}
	out := run(t, interpreter(t, "torch"), folder, "train.py")
	if want := "after 188 rounds"; !strings.Contains(out, want) {
		t.Errorf("%q is not in\n%s", want, out)
	}
}

// documented returns the script in the first comment of the package, without explanations.
func documented(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile("gossiptrainer/__init__.py")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(source), "    model = Net()\n")
	script, _, closed := strings.Cut(text, "\n\n")
	if !found || !closed {
		t.Fatal("the package documents no script")
	}
	lines := strings.Split("    model = Net()\n"+script, "\n")
	for i, line := range lines {
		line, _, _ = strings.Cut(line, "  #")
		lines[i] = strings.TrimRight(strings.TrimPrefix(line, "    "), " ")
	}
	return strings.Join(lines, "\n")
}

func TestInstalledFilesAreThoseOfTheRepository(t *testing.T) {
	for name, install := range map[string]func(string) error{"install": python.InstallShort, "lend": python.Lend} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := install(dir); err != nil {
				t.Fatal(err)
			}
			isTheRepository(t, dir)
		})
	}
	dir := t.TempDir()
	if err := python.Install(filepath.Join(dir, "absent")); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("a folder that does not exist: error %v, want one that names it", err)
	}
	packages := t.TempDir()
	if err := python.Install(packages); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(packages, "gossip.py")); !os.IsNotExist(err) {
		t.Errorf("the short name is among the packages: %v", err)
	}
}

// A second installation replaces files with other content, and leaves the others alone.
func TestASecondInstallationRepairs(t *testing.T) {
	dir := t.TempDir()
	if err := python.InstallShort(dir); err != nil {
		t.Fatal(err)
	}
	torn, whole := filepath.Join(dir, "gossiptrainer", "_peer.py"), filepath.Join(dir, "gossiptrainer", "_link.py")
	if err := os.WriteFile(torn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := python.InstallShort(dir); err != nil {
		t.Fatal(err)
	}
	isTheRepository(t, dir)
	if after, err := os.Stat(whole); err != nil || !os.SameFile(before, after) {
		t.Errorf("a file with the right content was replaced; error %v", err)
	}
}

// isTheRepository compares the files in a folder with those of the repository.
func isTheRepository(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob("gossiptrainer/*.py")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, name := range append(files, "gossiptrainer/py.typed", "gossip.py") {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("the installed %s differs", name)
		}
	}
}
