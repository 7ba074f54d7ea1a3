#!/usr/bin/env python3
"""Trains examples/pytorch by machines that come and go: two found the run, a third joins at about round 100 and
leaves by Ctrl-C at round 300. Each has its own folder and key, and they find each other by multicast. Writes a
document, and its loss curve beside it.

    PEER_DATA=... studies/script/members.py [--peer PEER] [--python PYTHON] [-o FILE]
"""

import argparse
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples" / "pytorch"
SIGN, LEAVES, ROUNDS, WINDOW = 80, 300, 450, 15  # the third machine begins to join at the round of the sign
PAUSE = 0.05  # seconds that a step takes longer, as on a larger model
COLOURS = "#1f6fb4", "#d2691e", "#2a8a4a"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="the program; the default is a fresh build")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the scripts")
    parser.add_argument("-o", type=pathlib.Path, default=ROOT / "docs" / "results" / "script-members.md")
    parser.add_argument("--train", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.train:
        train(pathlib.Path(args.train))
        return
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        program = args.peer or str(folder / "peer")
        if not args.peer:
            subprocess.run(["go", "build", "-o", program, "./cmd/peer"], cwd=ROOT, check=True)
        subprocess.run([program, "id", "secret", str(folder / "lan.secret")], check=True, stdout=subprocess.DEVNULL)
        machines = [Machine(folder / name, program, args.python) for name in ("attic", "shelf", "loft")]
        seconds = play(machines)
    args.o.write_text(document(machines, seconds, args.o.with_suffix(".svg").name))
    args.o.with_suffix(".svg").write_text(picture(machines))


def train(sign):
    """Run the example once a file is there. PyTorch is loaded before: that is no part of joining."""
    import runpy
    import torch
    step = torch.optim.AdamW.step

    def slow(*args, **kwargs):
        time.sleep(PAUSE)
        return step(*args, **kwargs)

    torch.optim.AdamW.step = slow
    while not sign.exists():
        time.sleep(0.01)
    runpy.run_path(str(EXAMPLE / "train.py"), run_name="__main__")


class Machine:
    """A peer with its folder and key."""

    def __init__(self, folder, program, python):
        folder.mkdir()
        self.name, self.folder, self.sign = folder.name, folder, folder / "go"
        self.out = open(folder / "out.txt", "w+")
        words = [program, "run", str(EXAMPLE / "members.yaml"), "--set", f"train.rounds={ROUNDS}",
                 "--set", "node.key=key", "--set", f"node.join_secret_file={folder.parent / 'lan.secret'}",
                 "--", python, __file__, "--train", str(self.sign)]
        self.process = subprocess.Popen(words, cwd=folder, stdout=self.out, stderr=subprocess.STDOUT)
        self.losses = {}

    def events(self):
        for file in self.folder.glob("runs/*/events.jsonl"):
            for line in file.read_text().splitlines():
                try:
                    yield json.loads(line)
                except json.JSONDecodeError:  # being written
                    pass

    def rounds(self):
        return max((e["step"]["round"] for e in self.events() if "step" in e), default=0)

    def read(self):
        """Read what the machine has left."""
        self.losses = {e["step"]["round"]: e["step"]["loss"] for e in self.events() if "step" in e}
        text = (self.folder / "out.txt").read_text()
        self.digest = re.search(r"members? at the end, digest (\w+)", text)
        self.views = re.findall(r"^view \d+ from exchange \d+: .*", text, re.M)
        self.accuracy = re.search(r"accuracy ([\d.]+)", text)
        self.text = text


def play(machines):
    """Let the third machine come and go. Returns the seconds from its sign to its first round."""
    first, _, third = machines
    for each in machines[:2]:
        each.sign.touch()
    wait(lambda: first.rounds() >= SIGN)
    began = time.monotonic()
    third.sign.touch()
    wait(lambda: third.rounds() > 0)
    seconds = time.monotonic() - began
    wait(lambda: first.rounds() >= LEAVES)
    third.process.send_signal(signal.SIGINT)
    for each in machines:
        each.code = each.process.wait(300)
        each.read()
    if [each.code for each in machines] != [0, 0, 130]:
        sys.exit("\n".join(each.text for each in machines))
    return seconds


def wait(ready):
    end = time.monotonic() + 300
    while not ready():
        if time.monotonic() > end:
            sys.exit("members.py: a machine does not come that far")
        time.sleep(0.02)


def smooth(losses):
    """Return the mean of the losses of each few rounds, by the last of them."""
    rounds = sorted(losses)
    return {k: sum(losses[j] for j in rounds[i + 1 - WINDOW:i + 1]) / WINDOW
            for i, k in enumerate(rounds) if i + 1 >= WINDOW}


def near(losses, k):
    around = [v for j, v in losses.items() if k - WINDOW < j <= k]
    return f"{sum(around) / len(around):.3f}" if around else ""


def document(machines, seconds, figure):
    """Return the page."""
    digests = {each.digest.group(1) for each in machines if each.digest}
    if len(digests) != 1:
        sys.exit(f"members.py: digests {digests}")
    rows = [50, 100, 125, 150, 200, 250, LEAVES, 350, 400, ROUNDS]
    lines = ["# A script whose machines come and go", "",
             "Written by studies/script/members.py: [train.py](../../examples/pytorch/train.py) trains a small network",
             "on Fashion-MNIST with AdamW. Its run file is [members.yaml](../../examples/pytorch/members.yaml), here with",
             f"{ROUNDS} rounds. A third machine joins and leaves by Ctrl-C.", "", "```", *machines[0].views, "```", "",
             f"![the losses of three machines, by round]({figure})", "",
             f"The mean loss of the mini-batches of {WINDOW} rounds, on each machine:", "",
             "| round | " + " | ".join(each.name for each in machines) + " |", "|---:|" + "---:|" * len(machines)]
    lines += [f"| {k} | " + " | ".join(near(each.losses, k) for each in machines) + " |" for k in rows]
    accuracy = " and ".join(each.accuracy.group(1) for each in machines if each.digest)
    lines += ["", f"The newcomer begins with the model of its sponsor and a fresh AdamW. Its first round is recorded "
              f"{seconds:.1f} s after its script", "has loaded PyTorch. The two machines that stay end with one digest, "
              f"{digests.pop()[:16]}, and with test", f"accuracies of {accuracy}.", ""]
    return "\n".join(lines)


def picture(machines):
    """Return the loss curve as SVG."""
    wide, high, left, top, bottom = 760, 320, 50, 16, 40
    curves = [smooth(each.losses) for each in machines]
    last = max(max(c) for c in curves)
    most = max(max(c.values()) for c in curves)
    across = lambda k: left + (wide - left - 16) * k / last
    down = lambda v: top + (high - top - bottom) * (1 - v / most)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="12">',
             f'<rect width="{wide}" height="{high}" fill="white"/>']
    for v in itertools.takewhile(lambda v: v <= most, itertools.count(0, 0.5)):
        parts.append(f'<path d="M{left} {down(v):.1f}H{wide - 16}" stroke="#ddd"/>'
                     f'<text x="{left - 8}" y="{down(v) + 4:.1f}" text-anchor="end">{v}</text>')
    for k in range(0, last + 1, 50):
        parts.append(f'<text x="{across(k):.1f}" y="{high - 22}" text-anchor="middle">{k}</text>')
    own = sorted(machines[2].losses)
    for k, text in (own[0], "loft joins"), (own[-1], "loft leaves"):
        parts.append(f'<path d="M{across(k):.1f} {top}V{high - bottom}" stroke="#888" stroke-dasharray="4"/>'
                     f'<text x="{across(k) + 4:.1f}" y="{top + 12}">{text}</text>')
    for i, (each, curve, colour) in enumerate(zip(machines, curves, COLOURS)):
        points = " ".join(f"{across(k):.1f},{down(v):.1f}" for k, v in sorted(curve.items()))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
                     f'<text x="{wide - 70}" y="{top + 40 + 16 * i}" fill="{colour}">{each.name}</text>')
    parts.append(f'<text x="{(wide + left) / 2:.0f}" y="{high - 6}" text-anchor="middle">round</text></svg>')
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
