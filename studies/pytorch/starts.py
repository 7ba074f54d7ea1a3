#!/usr/bin/env python3
"""Trains ResNet-20 on CIFAR-10 for one epoch, here and with PyTorch, each from its own starts: one worker, batches of
128, a step size of 0.1, momentum 0.9, weight decay 1e-4, no augmentation. Writes docs/results/starts.md. Runs that are
finished in the folder of --keep are not made again.

    PEER_DATA=... studies/pytorch/starts.py [--seeds 1 2 3] [--jobs 2] [--keep runs/starts]
"""

import argparse
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STEPS = 50_000 // 128


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, of one thread each")
    parser.add_argument("--keep", type=pathlib.Path, default=ROOT / "runs" / "starts")
    args = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        print("skipped: this Python has no torch (Debian: python3-torch; run it with /usr/bin/python3)")
        return
    args.keep.mkdir(parents=True, exist_ok=True)
    binary = args.keep / "peer"
    environment = dict(os.environ, CGO_ENABLED="0")
    subprocess.run(["go", "build", "-o", binary, "./cmd/peer"], cwd=ROOT, env=environment, check=True)

    def run(side, seed):
        kept = args.keep / f"{side}-{seed}.json"
        if not kept.exists():
            result = here(binary, seed, args.keep) if side == "here" else pytorch(seed)
            kept.write_text(json.dumps(result))
        print(f"{side}, seed {seed}: {kept.read_text().strip()}", file=sys.stderr)
        return json.loads(kept.read_text())

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        waiting = {side: [pool.submit(run, side, seed) for seed in args.seeds] for side in ("here", "torch")}
        found = {side: [r.result() for r in all] for side, all in waiting.items()}
    (ROOT / "docs" / "results" / "starts.md").write_text(page(args.seeds, found))


def here(binary, seed, folder):
    """Trains in the simulator and returns the loss of the steps 151 to 200 and the test accuracy."""
    out = folder / f"run-{seed}"
    settings = {
        "seed": seed, "topology.size": 1, "algorithm.codec": "full", "train.rounds": STEPS, "train.batch": 128,
        "train.schedule": "constant", "train.weight_decay": 1e-4, "output.every": 1, "output.dir": out,
    }
    command = [binary, "sim", "ring8-cifar", "--compute", "1ms", "-q", "--json"]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    summary = json.loads(subprocess.run(
        command, env=dict(os.environ, GOMAXPROCS="1"), stdout=subprocess.PIPE, check=True, text=True).stdout)
    events = [json.loads(line) for path in sorted(out.glob("*/events.jsonl")) for line in path.open()]
    steps = {e["step"]["round"]: e["step"]["loss"] for e in events if "step" in e}
    final = [e["final"] for e in events if "final" in e][-1]
    return {"version": summary["version"], "loss": statistics.mean(steps[k] for k in range(151, 201)),
            "accuracy": final["accuracy"]}


def pytorch(seed):
    """Trains with PyTorch and returns the same."""
    text = subprocess.run([sys.executable, str(HERE / "torch_epoch.py"), "--seed", str(seed)],
                          env=dict(os.environ, OMP_NUM_THREADS="1"), stdout=subprocess.PIPE, check=True, text=True).stdout
    return json.loads(text)


PAGE = """# The first epoch, here and with PyTorch

ResNet-20 learns CIFAR-10 for one epoch ({steps} steps), each time from the program's own starts and with its own batches.
One worker takes 128 samples a step, step size 0.1, momentum 0.9, weight decay 1e-4, no augmentation. The loss is the
mean training loss of the steps 151 to 200. The accuracy is that on the 10,000 test images after the epoch.
`studies/pytorch/starts.py` makes this file again.

{table}

* Starts here: convolutions as He et al. 2015, the last layer uniform within ±1/√fan-in, biases 0. PyTorch {version}
  draws all weights and biases uniformly within ±1/√fan-in.
* The step size stays at 0.1, so that the accuracy after one epoch is still a matter of chance: compare the ranges.
* {verdict}
"""


def page(seeds, found):
    lines = ["| seed | loss here | loss PyTorch | accuracy here | accuracy PyTorch |", "|---|---|---|---|---|"]

    def row(name, pick):
        cells = [pick([r[key] for r in found[side]]) for key in ("loss", "accuracy") for side in ("here", "torch")]
        lines.append(f"| {name} | {cells[0]:.3f} | {cells[1]:.3f} | {cells[2]:.3f} | {cells[3]:.3f} |")

    for i, seed in enumerate(seeds):
        row(seed, lambda values: values[i])
    row("mean", statistics.mean)
    mean = {side: statistics.mean(r["accuracy"] for r in all) for side, all in found.items()}
    loss = {side: statistics.mean(r["loss"] for r in all) for side, all in found.items()}
    verdict = "Both means here are at least as good as PyTorch's."
    if mean["here"] < mean["torch"] or loss["here"] > loss["torch"]:
        verdict = (f"Against PyTorch the mean loss here is {loss['here'] - loss['torch']:+.3f}, "
                   f"and the mean accuracy {mean['here'] - mean['torch']:+.3f}.")
    return PAGE.format(steps=STEPS, table="\n".join(lines), version=found["torch"][0]["version"], verdict=verdict)


if __name__ == "__main__":
    main()
