package bridge

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"gossiptrainer/internal/vec"
	"gossiptrainer/internal/witness"
)

// python returns the interpreter of the tests: that of PEER_PYTHON, or any.
func python(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("PEER_PYTHON"), "python3", "/usr/bin/python3"} {
		if path, err := exec.LookPath(name); err == nil && name != "" {
			return path
		}
	}
	t.Skip("SKIPPED: there is no python3, so that the script of docs/format/bridge.md is not tried")
	return ""
}

// The script of the document trains with two workers that average after each step.
func TestMinimalScriptTrains(t *testing.T) {
	for _, memory := range memories() {
		t.Run(string(memory), func(t *testing.T) {
			var out witness.Page
			var scripts []*Script
			losses := make([]int, 2)
			for rank := range 2 {
				s := start(t, Options{Command: []string{python(t), "testdata/minimal.py", string(memory)}, Rank: rank,
					Out: &out, Err: &out, Loss: func(int, float64) { losses[rank]++ }})
				o, x, err := s.Hello(t.Context())
				if err != nil || o.Elements != 4 || x[0] != 0 {
					t.Fatalf("%v, start %v, error %v\n%s", o, x, err, out.String())
				}
				if err := s.Welcome(Welcome{Run: "quadratic", Rank: rank, Size: 2, Rounds: 60, Checkpoints: true}, x,
					nil); err != nil {
					t.Fatal(err)
				}
				scripts = append(scripts, s)
			}
			x, g := make([]float32, 4), make([]float32, 4)
			scripts[1].SaveBefore(7)
			for k := range 60 {
				mean := make([]float32, 4)
				for _, s := range scripts {
					if _, err := gradient(s, g, k, x); err != nil {
						t.Fatalf("round %d: %v\n%s", k, err, out.String())
					}
					for i := range mean {
						mean[i] += (x[i] - g[i]) / 2
					}
				}
				x = mean
			}
			if blob, err := scripts[1].State(7); err != nil || string(blob) != "no state but x" {
				t.Errorf("state %q: %v", blob, err)
			}
			for rank, s := range scripts {
				s.SaveBefore(60)
				if err := s.End(End{Why: Finished, Round: 60}, x); err != nil {
					t.Fatal(err)
				}
				act := <-acts(s)
				if err := s.Answer(act.Call, Result{Kind: act.Request.Kind, Round: 60}, vec.AppendLE(nil, x)); err != nil {
					t.Fatal(err)
				}
				if err := s.Wait(); err != nil {
					t.Errorf("worker %d: %v", rank, err)
				}
				if losses[rank] != 60 {
					t.Errorf("worker %d: %d losses, want 60", rank, losses[rank])
				}
				want := fmt.Sprintf("[%d] worker %d ends with x = 0.500, the mean is 0.500\n", rank, rank)
				if !strings.Contains(out.String(), want) {
					t.Errorf("output\n%swant %q", out.String(), want)
				}
			}
		})
	}
}
