package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gossiptrainer/internal/record"
)

// torchScript trains a network with batch normalization, AdamW and a schedule. The first process of rank 1 kills itself
// in the round that its argument names.
const torchScript = `
import os, sys
import torch, torch.nn.functional as F, gossip
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
torch.manual_seed(1)
x = torch.randn(256, 6)
y = (x.sum(1) > 0).long()
model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
opt = torch.optim.AdamW(model.parameters(), 1e-2)
peer = gossip.join(model, opt)
for a, b in peer.shard(DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)):
    if peer.rank == 1 and peer.round == int(sys.argv[1]) and not os.path.exists("killed"):
        open("killed", "w").close()
        os.kill(os.getpid(), 9)
    loss = F.cross_entropy(model(a), b)
    opt.zero_grad(); loss.backward(); opt.step()
    peer.log(loss)
model.eval()
peer.evaluate(accuracy=float((model(x).argmax(1) == y).float().mean()))
`

const torchRunFile = `
name: torch
topology: {size: 2}
model: {name: external}
algorithm: {bits: 8}
train: {rounds: 24}
checkpoint: {every: 5, seconds: 0}
output: {dir: out, every: 1}
`

// A script that dies returns from its checkpoint and ends with the same parameters. The checkpoint has the state of
// AdamW, the statistics of the batch normalization and the order of the data.
func TestATorchScriptComesBack(t *testing.T) {
	if raced() {
		t.Skip("Python takes long to start; the race detector sees the same of scripts without it")
	}
	t.Parallel()
	program, dir := torchPython(t), t.TempDir()
	for name, text := range map[string]string{"train.py": torchScript, "torch.yaml": torchRunFile} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	train := func(kill string) (s record.Summary, said string) {
		cmd := exec.Command("peer", "lab", "torch.yaml", "--json", "--", program, "train.py", kill)
		var stderr strings.Builder
		cmd.Dir, cmd.Stderr = dir, &stderr
		out, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(out, &s)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, stderr.String())
		}
		return s, stderr.String()
	}
	lives, _ := train("-1")
	if lives.Accuracy.Mean == nil || *lives.Accuracy.Mean < 0.8 || lives.TrainLoss == nil || *lives.TrainLoss <= 0 ||
		*lives.TrainLoss > 0.6 {
		t.Errorf("it has not learned: %+v", lives)
	}
	returns, said := train("13")
	if !strings.Contains(said, "was ended by a signal (killed) after round 13 of 24") {
		t.Errorf("it was not killed: %s", said)
	}
	if returns.Digest != lives.Digest {
		t.Errorf("digest %.8s, want %.8s of the script that lives", returns.Digest, lives.Digest)
	}
}
