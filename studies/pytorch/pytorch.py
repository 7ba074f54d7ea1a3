#!/usr/bin/env python3
"""Compares training steps with PyTorch: same network, batch and optimizer, one
thread each, in turns. Prints a table of medians over the turns, in samples per
second of the processor's time (of a busy machine the only fair one) and of
elapsed time, and the ratio to PyTorch's better memory layout.

    studies/pytorch/pytorch.py [--rounds 5] [--seconds 3] [--avx2] [--processes 8] [MODEL:BATCH ...]

With more than one process, elapsed time counts the samples of all together.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--avx2", action="store_true", help="hold both to AVX2")
    parser.add_argument("--processes", type=int, default=1, help="how many train at once")
    parser.add_argument("models", nargs="*", default=["resnet20:32", "mlp:128", "vgg16:32"])
    args = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        print("skipped: this Python has no torch (Debian: python3-torch; run it with /usr/bin/python3)")
        return
    with tempfile.TemporaryDirectory() as folder:
        binary = os.path.join(folder, "step")
        environment = dict(os.environ, CGO_ENABLED="0")
        subprocess.run(["go", "build", "-o", binary, "./step"], cwd=HERE, env=environment, check=True)
        version = ""
        rows = []
        for spec in args.models:
            model, batch = spec.split(":")
            found = turns(args, binary, model, batch)
            version = found["torch"][0]["version"]
            rows.append(row(f"{model}, batch {batch}", found))
    how = "one process" if args.processes == 1 else f"{args.processes} processes at once"
    avx2 = ", AVX2" if args.avx2 else ""
    load = f"load {os.getloadavg()[0]:.0f}"
    print(f"PyTorch {version}, {how} of one thread, {args.rounds} turns of {args.seconds:g} s{avx2}, {load}\n")
    print("| step | this, per CPU s | PyTorch | channels_last | ratio | this, per s | PyTorch | channels_last | ratio | share of FMA peak |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    print("\n".join(rows))


def turns(args, binary, model, batch):
    """Runs the programs in turns and returns their results by name."""
    torch = [sys.executable, str(HERE / "torch_step.py"), "--model", model, "--batch", batch, "--seconds", str(args.seconds)]
    commands = {"this": [binary, "-model", model, "-batch", batch, "-for", f"{args.seconds}s"], "torch": torch}
    if model != "mlp":
        commands["last"] = torch + ["--channels-last"]
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    if args.avx2:
        environment.update(PEER_SIMD="avx2", DNNL_MAX_CPU_ISA="AVX2", ATEN_CPU_CAPABILITY="avx2", OPENBLAS_CORETYPE="Haswell")
    found = {name: [] for name in commands}
    for _ in range(args.rounds):
        for name, command in commands.items():
            found[name].append(together(command, environment, args.processes))
            print(f"{model} {name}: {found[name][-1]}", file=sys.stderr)
    return found


def together(command, environment, processes):
    """Runs a command so many times at once and returns the combined result."""
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    results = [json.loads(process.communicate()[0]) for process in running]
    combined = dict(results[0], wall=sum(r["wall"] for r in results))
    combined["cpu"] = statistics.median(r["cpu"] for r in results)
    return combined


# Multiply-adds of a step and sample: three times those of the layers, without the
# gradient with respect to the samples.
WORK = {
    "resnet20": 3 * 40_551_040 - 442_368,
    "resnet110": 3 * 252_887_680 - 442_368,
    "vgg16": 3 * 313_201_664 - 1_769_472,
    "lenet": 3 * 416_520 - 117_600,
    "mlp": 3 * 203_264 - 200_704,
}


def row(title, found):
    """Formats the medians of a step as a row of the table."""
    def middle(name, key):
        return statistics.median(r[key] for r in found[name]) if name in found else 0

    cells = [title]
    for key in ("cpu", "wall"):
        rates = [middle(name, key) for name in ("this", "torch", "last")]
        cells += [f"{rate:,.0f}" if rate else "" for rate in rates]
        cells.append(f"{rates[0] / max(rates[1:]):.2f}")
    share = middle("this", "cpu") * 2 * WORK[title.split(",")[0]] / 1e9 / max(1e-9, middle("this", "peak"))
    cells.append(f"{100 * share:.0f} %")
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
