package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"gossiptrainer/internal/record"
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "4") // unless the command says more: tests wait for processes, and seldom for a core
	testscript.Main(m, map[string]func(){"peer": main, "toy": toy})
}

// TestScripts runs the transcripts: each is a session of a user. Two conditions leave transcripts out:
//
//   - race: the race detector is built in. Its runs are simulations, or its peers do what those of another do. A
//     transcript may stop there, too.
//   - !all: PEER_TEST_ALL is not set. It repeats another with more settings.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			for _, v := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"} {
				env.Setenv(v, filepath.Join(env.WorkDir, ".home"))
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":        exits,
			"run-folder":   runFolder,
			"same-digest":  sameDigest,
			"other-digest": otherDigest,
			"same-as":      sameAs,
			"folders":      folders,
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "race":
				return raced(), nil
			case "all":
				return os.Getenv("PEER_TEST_ALL") != "", nil
			}
			return false, fmt.Errorf("no condition %q: there are race and all", name)
		},
	})
}

// raced tells whether the race detector is built in, which makes simulations ten times slower.
func raced() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// exits CODE COMMAND... runs a command that must exit with that code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command [argument...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitCodeOf(ts, ts.Exec(args[1], args[2:]...)); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func exitCodeOf(ts *testscript.TestScript, err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	ts.Check(err)
	return 0
}

// run-folder DIR NAME [AS] makes the folder of the only run of that name known as "run", or as another name.
func runFolder(ts *testscript.TestScript, neg bool, args []string) {
	dirs, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), args[1]+"-*"))
	ts.Check(err)
	if neg || len(dirs) != 1 {
		ts.Fatalf("found the folders %q, want one", dirs)
	}
	as := "run"
	if len(args) > 2 {
		as = args[2]
	}
	ts.Check(os.Symlink(dirs[0], ts.MkAbs(as)))
}

// same-digest SET... runs tiny.yaml in the simulator and in the lab.
func sameDigest(ts *testscript.TestScript, neg bool, args []string) {
	var digests []string
	for _, mode := range []string{"sim", "lab"} {
		ts.Check(ts.Exec("peer", append([]string{mode, "tiny.yaml", "--json", "--quiet"}, args...)...))
		digests = append(digests, digestOf(ts, "stdout"))
	}
	if digests[0] != digests[1] {
		ts.Fatalf("%v: sim gives %s, lab %s", args, digests[0], digests[1])
	}
}

// other-digest FILE compares the last summary with one that was kept.
func otherDigest(ts *testscript.TestScript, neg bool, args []string) {
	if digestOf(ts, "stdout") == digestOf(ts, args[0]) {
		ts.Fatalf("the same digest")
	}
}

// same-as FILE compares the last summary with one that was kept.
func sameAs(ts *testscript.TestScript, neg bool, args []string) {
	if digestOf(ts, "stdout") != digestOf(ts, args[0]) {
		ts.Fatalf("another digest")
	}
}

// folders DIR PARENT... makes the only run folder in each parent known as DIR/PARENT.
func folders(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(os.Mkdir(ts.MkAbs(args[0]), 0o777))
	for _, parent := range args[1:] {
		dirs, err := filepath.Glob(filepath.Join(ts.MkAbs(parent), "*"))
		ts.Check(err)
		if neg || len(dirs) != 1 {
			ts.Fatalf("found the folders %q, want one", dirs)
		}
		ts.Check(os.Symlink(dirs[0], filepath.Join(ts.MkAbs(args[0]), parent)))
	}
}

func digestOf(ts *testscript.TestScript, file string) string {
	var s record.Summary
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(file)), &s))
	if len(s.Digest) != 64 {
		ts.Fatalf("digest %q", s.Digest)
	}
	return s.Digest
}
