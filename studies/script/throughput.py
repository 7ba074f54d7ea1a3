#!/usr/bin/env python3
"""Compares the speed of a PyTorch script with and without peers, in turns: eight processes of ResNet-20 alone, and the
same eight as peers on a ring that exchange models at 8 bits. Prints a table of the medians, in steps per second of one
process.

    studies/script/throughput.py [--turns 3] [--steps 40] [--processes 8] [--bits 8]
"""

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile

import processes


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
    command = [sys.executable, str(processes.HERE / "resnet20.py"), "--steps", str(args.steps)]
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "peer")
        subprocess.run(["go", "build", "-o", program, "./cmd/peer"], cwd=processes.ROOT, check=True)
        alone, together = [], []
        for turn in range(args.turns):
            alone.append(speed(args, processes.alone(command, args.processes)))
            output = processes.peers(command, args, "throughput", program, os.path.join(folder, str(turn)))
            together.append(speed(args, output))
            print(f"turn {turn + 1}: alone {alone[-1]:.3f}, with peers {together[-1]:.3f}", file=sys.stderr)
    ratios = [with_peers / without for with_peers, without in zip(together, alone)]
    print(f"ResNet-20, batch 32, {args.processes} processes, ring, {args.bits} bits, {args.steps} steps, "
          f"{args.turns} turns\n")
    print("| | steps per second of a process |\n|---|---|")
    print(f"| script alone | {statistics.median(alone):.3f} |")
    print(f"| script with peers | {statistics.median(together):.3f} |")
    print(f"| ratio (median of the turns; least) | {statistics.median(ratios):.3f}; {min(ratios):.3f} |")


def speed(args, output):
    """Return the mean of the speeds that the scripts have printed."""
    found = processes.figures(output, "steps_per_second", args.processes)
    return statistics.mean(one["steps_per_second"] for one in found)


if __name__ == "__main__":
    main()
