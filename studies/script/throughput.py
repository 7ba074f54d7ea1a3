#!/usr/bin/env python3
"""Compares the speed of a PyTorch script with and without peers, in turns: eight processes of ResNet-20 alone, and the
same eight as peers on a ring that exchange models at 8 bits. Prints a table of the medians, in steps per second of one
process.

    studies/script/throughput.py [--turns 3] [--steps 40] [--processes 8] [--bits 8]
"""

import argparse
import importlib.util
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--bits", type=int, default=8)
    args = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        print("skipped: this Python has no torch (Debian: python3-torch; run it with /usr/bin/python3)")
        return
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "peer")
        subprocess.run(["go", "build", "-o", program, "./cmd/peer"], cwd=ROOT, check=True)
        alone, together = [], []
        for turn in range(args.turns):
            alone.append(bare(args))
            together.append(peers(args, program, os.path.join(folder, str(turn))))
            print(f"turn {turn + 1}: alone {alone[-1]:.3f}, with peers {together[-1]:.3f}", file=sys.stderr)
    ratios = [with_peers / without for with_peers, without in zip(together, alone)]
    print(f"ResNet-20, batch 32, {args.processes} processes, ring, {args.bits} bits, {args.steps} steps, "
          f"{args.turns} turns\n")
    print("| | steps per second of a process |\n|---|---|")
    print(f"| script alone | {statistics.median(alone):.3f} |")
    print(f"| script with peers | {statistics.median(together):.3f} |")
    print(f"| ratio (median of the turns; least) | {statistics.median(ratios):.3f}; {min(ratios):.3f} |")


def bare(args):
    """Runs the processes without peers and returns the mean of their speeds."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONPATH=str(ROOT / "python"))
    command = [sys.executable, str(HERE / "resnet20.py"), "--steps", str(args.steps)]
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for _ in range(args.processes)
    ]
    return speed("".join(process.communicate()[0] for process in running), args.processes)


def peers(args, program, folder):
    """Runs the processes as peers and returns the mean of their speeds."""
    settings = {
        "name": "throughput", "model.name": "external", "topology.kind": "ring", "topology.size": args.processes,
        "algorithm.name": "dpsgd", "algorithm.codec": "moniqua", "algorithm.bits": args.bits,
        "train.rounds": args.steps, "output.dir": folder,
    }
    command = [program, "lab"]  # --quiet drops what scripts print
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    command += ["--", sys.executable, str(HERE / "resnet20.py"), "--steps", str(args.steps)]
    done = subprocess.run(
        command, env=dict(os.environ, OMP_NUM_THREADS="1"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        sys.exit(f"peer lab failed with code {done.returncode}:\n{done.stdout}")
    return speed(done.stdout, args.processes)


def speed(output, processes):
    """Returns the mean of the speeds that the scripts have printed."""
    found = [json.loads(line)["steps_per_second"] for line in re.findall(r"\{.steps_per_second.*\}", output)]
    if len(found) != processes:
        sys.exit(f"{len(found)} of {processes} scripts have printed their speed:\n{output}")
    return statistics.mean(found)


if __name__ == "__main__":
    main()
