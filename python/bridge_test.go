package python_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gossiptrainer/internal/bridge"
	"gossiptrainer/python"
)

// A worker is a script over the bridge, and its vector before the next round.
type worker struct {
	*bridge.Script
	x      []float32
	errors bytes.Buffer
}

// A team is the workers of one run.
type team []*worker

// newTeam starts n scripts with the package in a folder of its own.
func newTeam(t *testing.T, n int, script string) team {
	t.Helper()
	program := interpreter(t, "torch")
	dir := t.TempDir()
	if err := python.Lend(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "train.py")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	all := make(team, n)
	for rank := range all {
		w := &worker{}
		s, err := bridge.Start(t.Context(), bridge.Options{Command: []string{program, "-B", path}, Rank: rank,
			Out: t.Output(), Err: &w.errors, PythonPath: dir})
		if err != nil {
			t.Fatal(err)
		}
		w.Script, all[rank] = s, w
	}
	return all
}

// join welcomes all to the given round. Without vectors and blobs of a checkpoint they start from rank 0's vector.
func (all team) join(t *testing.T, round int, x [][]float32, blobs [][]byte) team {
	t.Helper()
	for rank, w := range all {
		outline, own, err := w.Hello(t.Context())
		all.check(t, err)
		all.check(t, outline.Check())
		if w.x = slices.Clone(own); rank > 0 {
			w.x = slices.Clone(all[0].x)
		}
		var blob []byte
		if x != nil {
			w.x, blob = slices.Clone(x[rank]), blobs[rank]
		}
		all.check(t, w.Welcome(bridge.Welcome{Version: bridge.Version, Run: "test", Rank: rank, Size: len(all),
			Rounds: 6, Round: round, Seed: 1, Checkpoints: true}, w.x, blob))
	}
	return all
}

// step has the script take the step of round k, and answers its calls.
func (w *worker) step(g []float32, k int) error {
	if err := w.Go(k, w.x); err != nil {
		return err
	}
	acts, gone := w.Acts()
	for {
		select {
		case act := <-acts:
			switch act.Kind {
			case bridge.Calling: // what does not travel is equal, so a worker's own numbers are the largest
				if err := w.Answer(act.Call, bridge.Result{Kind: act.Request.Kind, Round: k}, act.Raw); err != nil {
					return err
				}
			case bridge.Stepped:
				w.Direction(g, w.x)
				return nil
			default:
				return fmt.Errorf("the script does %v in round %d", act.Kind, k)
			}
		case <-gone:
			return w.Lost()
		}
	}
}

func (all team) check(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for rank, w := range all {
		w.Kill()
		_ = w.Wait()
		t.Logf("rank %d:\n%s", rank, &w.errors)
	}
	t.Fatal(err)
}

// train runs rounds of D-PSGD on the complete graph and ends the run. It returns the vectors before each round, and
// the last ones.
func (all team) train(t *testing.T, first, last int) map[int][][]float32 {
	t.Helper()
	x, g := map[int][][]float32{}, make([][]float32, len(all))
	for k := first; k < last; k++ {
		mean := make([]float32, len(all[0].x))
		for rank, w := range all {
			x[k] = append(x[k], slices.Clone(w.x))
			g[rank] = make([]float32, len(mean))
			all.check(t, w.step(g[rank], k))
			for i, v := range w.x {
				mean[i] += v / float32(len(all))
			}
		}
		for rank, w := range all {
			for i := range w.x {
				w.x[i] = mean[i] - g[rank][i]
			}
		}
	}
	for _, w := range all {
		all.check(t, w.End(bridge.End{Why: bridge.Finished, Round: last}, w.x))
		x[last] = append(x[last], slices.Clone(w.x))
	}
	return x
}

func (all team) wait(t *testing.T) {
	t.Helper()
	for _, w := range all {
		all.check(t, w.Wait())
	}
}

const classifier = `import torch, torch.nn.functional as F, gossip
torch.set_num_threads(1)
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6), torch.nn.Dropout(0.2), torch.nn.Linear(6, 3))
opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
x = torch.rand(40, 4, generator=torch.Generator().manual_seed(1))
samples = torch.utils.data.TensorDataset(x, (10 * x[:, 0]).long() % 3)
peer = gossip.join(model, opt)
for x, y in peer.shard(torch.utils.data.DataLoader(samples, batch_size=4, shuffle=True)):
    loss = F.cross_entropy(model(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
    peer.log(loss)
peer.evaluate(accuracy=0.5)
`

func TestReturnFromCheckpointChangesNothing(t *testing.T) {
	const saved, rounds = 3, 6
	undisturbed := newTeam(t, 2, classifier).join(t, 0, nil, nil)
	for _, w := range undisturbed {
		w.SaveBefore(saved)
	}
	x := undisturbed.train(t, 0, rounds)
	blobs := make([][]byte, len(undisturbed))
	for rank, w := range undisturbed {
		var err error
		blobs[rank], err = w.State(saved)
		undisturbed.check(t, err)
	}
	undisturbed.wait(t)

	resumed := newTeam(t, 2, classifier).join(t, saved, x[saved], blobs)
	again := resumed.train(t, saved, rounds)
	resumed.wait(t)
	got, want := fmt.Sprint(again[rounds]), fmt.Sprint(x[rounds])
	if got != want {
		t.Errorf("the run from the checkpoint ends at\n%v\nthe undisturbed one at\n%v", got, want)
	}
	if got == fmt.Sprint(x[saved]) {
		t.Error("nothing was learned after the checkpoint")
	}
}
