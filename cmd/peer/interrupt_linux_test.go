package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gossiptrainer/internal/record"
)

// interruptedRun is the run of scripts that are interrupted. The messages are verified, so that a worker that repeats
// its rounds in another way needs repairs that its neighbours do not have.
const interruptedRun = `
name: cut
model: {name: external}
algorithm: {name: dpsgd, codec: moniqua, bits: 8}
train: {rounds: 40}
checkpoint: {every: 9}
output: {dir: out, every: 1}
`

const interruptedRounds = 40

// A moment is when a run ends, and by what.
type moment struct {
	rank, round int
	place       string // of the script, in that round
	signal      syscall.Signal
}

// An interruptible is a script that tells of a moment.
type interruptible struct {
	peers  int
	places []string
	words  func(fifo string, m moment) []string
}

var interruptibleToy = interruptible{4, []string{"go", "state", "step"}, func(fifo string, m moment) []string {
	return []string{"toy", "tell=" + fifo, fmt.Sprintf("of=%d", m.rank), fmt.Sprintf("at=%d", m.round), "place=" + m.place}
}}

func interruptibleTorch(python string) interruptible {
	script, _ := filepath.Abs("testdata/interrupted.py")
	return interruptible{2, []string{"top", "forward", "step", "end"}, func(fifo string, m moment) []string {
		return []string{python, "-B", script, strconv.Itoa(interruptedRounds), fifo, strconv.Itoa(m.rank),
			strconv.Itoa(m.round), m.place}
	}}
}

// Whatever is called safe resumes: runs of scripts end at random moments, by a signal to the lab or by the death of all
// its processes. Each goes on, and ends with the digest and with the scripts' own state of a run that was not
// interrupted. INTERRUPTS is the number of moments, INTERRUPT_SEED draws them.
func TestWhatIsCalledSafeResumes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	t.Parallel()
	moments := 3
	if raced() { // whatever the moment, the goroutines are the same
		moments = 1
	}
	testInterrupts(t, interruptibleToy, number(t, "INTERRUPTS", moments))
}

// The same of two scripts with torch, as each takes seconds to start. Their schedules and counters move after the step.
// TORCH_INTERRUPTS is the number of moments, none by default: TestATorchScriptComesBack has the states of torch.
func TestATorchScriptThatIsInterruptedGoesOn(t *testing.T) {
	t.Parallel()
	moments := number(t, "TORCH_INTERRUPTS", 0)
	if moments == 0 {
		t.Skip("TORCH_INTERRUPTS is not set; .ci/nightly sets it")
	}
	testInterrupts(t, interruptibleTorch(torchPython(t)), moments)
}

func testInterrupts(t *testing.T, script interruptible, moments int) {
	seed := uint64(number(t, "INTERRUPT_SEED", 1))
	random := rand.New(rand.NewPCG(seed, 0))
	whole := interruptedLab{t: t, dir: t.TempDir(), script: script}
	want := whole.train(moment{rank: -1})
	if len(want.ends) != script.peers {
		t.Fatalf("the scripts say %q at the end", want.ends)
	}
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL}
	for i := range moments {
		m := moment{random.IntN(script.peers), 1 + random.IntN(interruptedRounds-2),
			script.places[random.IntN(len(script.places))], signals[random.IntN(len(signals))]}
		name := fmt.Sprintf("%d, %v in round %d of worker %d at %s", i, m.signal, m.round, m.rank, m.place)
		t.Run(name, func(t *testing.T) {
			cut := interruptedLab{t: t, dir: t.TempDir(), script: script}
			folder := cut.end(m)
			if folder == "" {
				return
			}
			got := cut.train(m, folder, "--resume")
			if got.digest != want.digest || !slices.Equal(got.ends, want.ends) {
				t.Errorf("digest %.8s, want %.8s; the scripts say\n%s\nwant\n%s", got.digest, want.digest,
					strings.Join(got.ends, "\n"), strings.Join(want.ends, "\n"))
			}
		})
	}
}

// An interruptedLab is a run in a folder of its own.
type interruptedLab struct {
	t      *testing.T
	dir    string
	script interruptible
}

// An end is what a whole run ends with.
type end struct {
	digest string
	ends   []string // last lines of the scripts, sorted
}

var endLine = regexp.MustCompile(`(?m)^.*(ends: .*|toy: worker \d+ ends with .*)$`)

// command returns a lab whose scripts tell of a moment.
func (l interruptedLab) command(ctx context.Context, m moment, args ...string) *exec.Cmd {
	l.t.Helper()
	program, err := exec.LookPath("peer") // TestMain has put it there
	if err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.dir, "cut.yaml"), []byte(interruptedRun), 0o666); err != nil {
		l.t.Fatal(err)
	}
	if len(args) == 0 {
		args = []string{"cut.yaml", fmt.Sprintf("--set=topology.size=%d", l.script.peers)}
	}
	script := l.script.words(filepath.Join(l.dir, "moment"), m)
	cmd := exec.CommandContext(ctx, program, slices.Concat([]string{"lab"}, args, []string{"--json", "--"}, script)...)
	cmd.Dir, cmd.Env = l.dir, append(os.Environ(), "OMP_NUM_THREADS=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd
}

// train trains to the end.
func (l interruptedLab) train(m moment, args ...string) end {
	l.t.Helper()
	os.Remove(filepath.Join(l.dir, "moment"))
	ctx, cancel := context.WithTimeout(l.t.Context(), 5*time.Minute) // it fails, and is no measurement
	defer cancel()
	cmd := l.command(ctx, m, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	var s record.Summary
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	if err != nil {
		l.t.Fatalf("%v: %v\n%s", cmd.Args, err, said.String())
	}
	e := end{digest: s.Digest}
	for _, found := range endLine.FindAllStringSubmatch(said.String(), -1) {
		e.ends = append(e.ends, found[1])
	}
	slices.Sort(e.ends)
	return e
}

// end ends a run at a moment, and returns its folder: "" if the run was over before.
func (l interruptedLab) end(m moment) (folder string) {
	l.t.Helper()
	fifo := filepath.Join(l.dir, "moment")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		l.t.Fatal(err)
	}
	pipe, err := os.OpenFile(fifo, os.O_RDWR, 0) // so that neither end waits for the other
	if err != nil {
		l.t.Fatal(err)
	}
	defer pipe.Close()
	cmd := l.command(l.t.Context(), m)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	now := make(chan struct{})
	go func() {
		defer close(now)
		_, _ = pipe.Read(make([]byte, 1))
	}()
	select {
	case <-now:
		_ = cmd.Process.Signal(m.signal)
	case err := <-over:
		l.t.Fatalf("the run ended before its moment: %v\n%s", err, said.String())
	}
	exit, ok := errors.AsType[*exec.ExitError](<-over)
	if !ok { // the signal came after its last round
		return ""
	}
	if code := exit.ExitCode(); m.signal != syscall.SIGKILL && code != exitSignal+int(m.signal) {
		l.t.Fatalf("exit code %d\n%s", code, said.String())
	}
	for line := range strings.Lines(said.String()) {
		if strings.HasPrefix(line, "the state at the beginning of ") {
			l.t.Log(strings.TrimSpace(line))
		}
	}
	if safe, _ := filepath.Glob(filepath.Join(l.dir, "out", "cut-*", "checkpoints", "rank-*", "round-*")); len(safe) == 0 {
		return "" // killed so early that nothing is called safe
	}
	folders, err := filepath.Glob(filepath.Join(l.dir, "out", "cut-*"))
	if err != nil || len(folders) != 1 {
		l.t.Fatalf("folders %q, %v", folders, err)
	}
	return folders[0]
}
