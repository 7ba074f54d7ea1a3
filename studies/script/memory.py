#!/usr/bin/env python3
"""Measures the memory of a script and of its peer in bytes per parameter. It trains linear models of two sizes and
takes the difference, alone and with two peers. Prints a table.

    studies/script/memory.py [--millions 4 16] [--peer PEER]
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ALGORITHMS = {"D-PSGD, 32 bits": "{name: dpsgd, codec: full}", "D-PSGD, Moniqua 8 bits": "{name: dpsgd, codec: moniqua, bits: 8}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", type=int, nargs=2, default=[4, 16], help="parameters of the two models")
    parser.add_argument("--peer", help="the program; the default is a fresh build")
    parser.add_argument("--train", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.train:
        train(args.train)
        return
    with tempfile.TemporaryDirectory() as folder:
        program = args.peer or os.path.join(folder, "peer")
        if not args.peer:
            subprocess.run(["go", "build", "-o", program, "./cmd/peer"], cwd=ROOT, check=True)
        print("| bytes per parameter | script | peer |\n|---|---|---|")
        for name, algorithm in {"script alone": None, **ALGORITHMS}.items():
            low, high = (measure(program, folder, algorithm, n * 1_000_000) for n in args.millions)
            span = 1e6 * (args.millions[1] - args.millions[0])
            script, peer = ((b - a) / span for a, b in zip(low, high))
            print(f"| {name} | {script:.1f} | {peer:.1f} |" if algorithm else f"| {name} | {script:.1f} | |")


def measure(program, folder, algorithm, count):
    """Return the bytes of a script and its peer."""
    command = [sys.executable, __file__, "--train", str(count)]
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "python"), OMP_NUM_THREADS="1")
    if algorithm:
        settings = ["model.name=external", "topology={kind: ring, size: 2}", "train.rounds=script", "output.dir=" + folder,
                    "checkpoint={every: 0, seconds: 0}", "algorithm=" + algorithm]
        command = [program, "lab", *(word for each in settings for word in ("--set", each)), "--", *command]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found = re.findall(r"bytes in memory: (\d+) (\d+)", done.stdout)
    if done.returncode or not found:
        sys.exit(f"{' '.join(command)} failed with code {done.returncode}:\n{done.stdout}")
    return [max(int(each[i]) for each in found) for i in (0, 1)]


def train(count):
    """Be the script: take some steps, and print the memory of this process and of its parent."""
    import torch

    import gossiptrainer

    model = torch.nn.Linear(1000, count // 1000, bias=False)
    peer = gossiptrainer.join(model)
    for _ in range(6):
        with torch.no_grad():  # without gradients, whose memory is the script's own
            model.weight.mul_(0.99)
        peer.step()
        peer.barrier()
    print("bytes in memory:", resident("self"), resident(os.getppid()), flush=True)
    peer.barrier()


def resident(process):
    """Return the most bytes that a process had in memory; shared ones count in each."""
    for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    sys.exit("this system does not tell the memory of a process: want Linux")


if __name__ == "__main__":
    main()
