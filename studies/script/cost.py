#!/usr/bin/env python3
"""Says where the time of a step goes, by processor time: a model alone, and by peers on a ring, in turns.

The model is ResNet-20 with --parameters 0, and otherwise a multilayer perceptron.

A peer's processor time counts in full, and apart where its script waits for it. What the peer does in a second without
a step is measured first, and left out. A machine whose cores are all busy trains at the speed "alone / (script + peer)",
and one with idle cores at no less than "alone / (script + peer while the script waits)". Both are free of the load of
other programs, up to what they take from the caches.

    studies/script/cost.py [--parameters 1000000] [--batch 64] [--turns 3] [--steps 40] [--processes 4] [--bits 8]
"""

import argparse
import collections
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import processes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parameters", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--bits", type=int, default=8)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--peer", help="the program; the default is a fresh build")
    args = parser.parse_args()
    if args.worker:
        work(args)
        return
    with tempfile.TemporaryDirectory() as folder:
        program = args.peer or os.path.join(folder, "peer")
        if not args.peer:
            subprocess.run(["go", "build", "-o", program, "./cmd/peer"], cwd=processes.ROOT, check=True)
        turns = []
        for turn in range(args.turns):
            one = processes.alone(command(args), args.processes)
            both = processes.peers(command(args), args, "cost", program, os.path.join(folder, str(turn)))
            turns.append((means(args, one), means(args, both)))
            print(f"turn {turn + 1}: {turns[-1]}", file=sys.stderr)
    table(args, turns)


def table(args, turns):
    """Print the medians of the turns."""
    middle = lambda name, which: statistics.median(turn[which].get(name, 0) for turn in turns)
    ratio = lambda *names: statistics.median(one["script"] / sum(both[name] for name in names) for one, both in turns)
    copy = middle("copy", 1)
    model = f"{args.parameters:,} parameters" if args.parameters else "ResNet-20"
    print(f"{model}, batch {args.batch}, {args.processes} processes on a ring, {args.bits} bits, "
          f"{args.steps} steps, {args.turns} turns\n")
    print("| processor time of a step | ms | in copies of the vector |\n|---|---|---|")
    rows = [("script alone", middle("script", 0))] + [(name, middle(name, 1)) for name in turns[0][1]
                                                      if name not in ("copy", IDLE)]
    for name, seconds in rows:
        print(f"| {name} | {1000 * seconds:.2f} | {seconds / copy:.1f} |")
    print(f"| one copy of the vector | {1000 * copy:.2f} | 1.0 |\n")
    print(f"Without a step, a peer takes {middle(IDLE, 1):.2%} of a core.\n")
    print("| speed with peers, of that alone | |\n|---|---|")
    print(f"| all cores busy: alone / (script + peer) | {ratio('script', 'peer'):.3f} |")
    print(f"| idle cores: alone / (script + peer while the script waits) | {ratio('script', WAITED):.3f} |")


WAITED, IDLE = "peer while the script waits", "idle"


def command(args):
    """Return the command of a worker."""
    return [sys.executable, str(processes.HERE / "cost.py"), "--worker", "--steps", str(args.steps),
            "--batch", str(args.batch), "--parameters", str(args.parameters)]


def means(args, output):
    """Return the means of the figures of all workers."""
    found = processes.figures(output, "script", args.processes)
    return {name: statistics.mean(each[name] for each in found) for name in found[0]}


# ---- a worker --------------------------------------------------------------------------------------------------------

class Clocks:
    """Processor times of parts of a step, in seconds."""

    def __init__(self):
        self.spent, self.idle = collections.Counter(), 0.0
        self.of_peer = ~os.getppid() << 3 | 2  # the clock of another process: clock_getcpuclockid(3)

    def peer(self):
        """Return the processor time of the peer, which has started this process, for its rounds."""
        return time.clock_gettime(self.of_peer) - self.idle * time.monotonic()

    def rest(self, seconds=3):
        """Measure what the peer takes in a second without a step."""
        began, theirs = time.monotonic(), self.peer()
        time.sleep(seconds)
        self.idle = (self.peer() - theirs) / (time.monotonic() - began)

    def watch(self, holder, method, name, clock=time.process_time):
        """Add what the calls of a method take to a part."""
        call = getattr(holder, method)

        @functools.wraps(call)
        def timed(*args, **kwargs):
            began = clock()
            try:
                return call(*args, **kwargs)
            finally:
                self.spent[name] += clock() - began
        setattr(holder, method, timed)


def network(torch, parameters):
    """Return a model and the shape of its inputs."""
    if not parameters:
        sys.path.insert(0, str(processes.HERE.parent / "pytorch"))
        from torch_step import resnet
        return resnet(20), (3, 32, 32)
    width = int((parameters / 8) ** 0.5)  # 8 layers
    layers = [part for _ in range(8) for part in (torch.nn.Linear(width, width), torch.nn.ReLU())]
    return torch.nn.Sequential(*layers), (width,)


def work(args):
    """Train, and print the times of a step."""
    import torch
    import torch.nn.functional as F

    import gossiptrainer

    torch.set_num_threads(1)
    torch.manual_seed(1)
    model, shape = network(torch, args.parameters)
    opt = torch.optim.SGD(model.parameters(), 1e-3, momentum=0.9)
    peer = gossiptrainer.join(model, opt)
    clocks = Clocks()
    with_peer = bool(os.environ.get("PEER_SOCKET"))
    if with_peer:
        clocks.watch(peer, "_turn", WAITED, clocks.peer)
        clocks.watch(peer._steps, "before", "script before the step")
        clocks.watch(peer._steps, "after", "script after the step")
        clocks.watch(peer._values, "gather", "of this, from the model to the vector")
        clocks.watch(peer._values, "scatter", "of this, from the vector to the model")
    warm, began, theirs = max(1, args.steps // 5), 0.0, 0.0
    for k in range(args.steps):
        if k == warm:
            peer.barrier()
            clocks.rest()
            began, theirs = time.process_time(), clocks.peer()
            clocks.spent.clear()
        x, y = torch.randn(args.batch, *shape), torch.randint(10, (args.batch,))
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        peer.log(loss)
    steps = args.steps - warm
    figures = {"script": (time.process_time() - began) / steps}
    if with_peer:
        figures.update({IDLE: clocks.idle, "peer": (clocks.peer() - theirs) / steps})
        figures.update({name: seconds / steps for name, seconds in clocks.spent.items()})
    flat = torch.zeros(sum(p.numel() for p in model.parameters()))
    target = torch.zeros_like(flat)
    began = time.process_time()
    for _ in range(10):
        target.copy_(flat)
    figures["copy"] = (time.process_time() - began) / 10
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
