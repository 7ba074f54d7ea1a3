#!/usr/bin/env python3
"""Compares a run of D-PSGD in full precision with a reference in one process: PyTorch takes the steps of all workers,
and NumPy mixes their models. Prints the largest difference between the losses of a worker in a round.

    peer lab FILE --set algorithm.bits=32 --set output.every=1 -- python3 train.py
    studies/script/reference.py RUN train.py [ARGUMENT...] [--within 1e-5] [--double]

RUN is the folder of the run, on a ring, with the order cta. Of the script, which must read like that in docs/script.md,
the reference runs what stands before `join`, once, with the seed that the script sets, and the loop over `peer.shard` for each worker.

It adds in single precision and in the order of the paper's sum over neighbours, as peers do. With --double it mixes in
double precision, and the models differ by rounding. Training amplifies this: AdamW scales gradients that are rounding
noise, such as those of a bias before a batch normalization, to full steps.
"""

import argparse
import ast
import copy
import json
import os
import pathlib
import sys
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "python"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("script", type=pathlib.Path)
    parser.add_argument("arguments", nargs="*", help="of the script")
    parser.add_argument("--within", type=float, default=1e-5, help="the difference that is allowed")
    parser.add_argument("--double", action="store_true", help="mix in double precision")
    args = parser.parse_args()
    run, told = record(args.run)
    size, rounds = run["peers"], run["rounds"]
    sys.argv = [str(args.script)] + args.arguments
    losses = reference(args.script, size, rounds, run["seed"], args.double)
    differences = {}
    for at, loss in losses.items():
        if at not in told:
            sys.exit(f"{args.run} lacks round {at[1]} of worker {at[0]}: record each with --set output.every=1")
        differences[at] = abs(told[at] - loss)
    rank, last = max(differences, key=differences.get)
    first, final = (sum(losses[worker, k] for worker in range(size)) / size for k in (1, rounds))
    print(f"{size} workers, {rounds} rounds: the mean loss goes from {first:.4f} to {final:.4f}")
    print(f"largest difference {differences[rank, last]:.3g}, of worker {rank} in round {last}")
    if not max(differences.values()) <= args.within:
        sys.exit(f"this is more than {args.within:g}")


def record(folder):
    """Return the summary, and the losses by worker and round, of the folder of a run."""
    text = (folder / "run.yaml").read_text()  # resolved, one key in a line
    for line in ("kind: ring", "slack: 1.0", "name: dpsgd", "bits: 32", "order: cta", "local_steps: 1"):
        if f"\n  {line}\n" not in text:
            sys.exit(f"{folder}/run.yaml lacks `{line}`: the reference knows D-PSGD in full precision on a ring alone")
    told = {}
    for line in (folder / "events.jsonl").read_text().splitlines():
        step = json.loads(line).get("step")
        if step:
            told[step["rank"], step["round"]] = step["loss"]
    return json.loads((folder / "summary.json").read_text()), told


def reference(script, size, rounds, seed, double):
    """Return the loss of each worker in each round, from 1 on."""
    import numpy as np
    import torch

    import gossiptrainer as gossip
    from gossiptrainer._data import Shard

    torch.set_num_threads(1)
    before, body = parts(script)
    space = {"__name__": "__main__", "__file__": str(script)}
    exec(before, space)
    workers = []
    for rank in range(size):
        peer = gossip.Peer()  # without a link; for its shard
        peer._rank, peer._size, peer.seed, peer.rounds = rank, size, seed, rounds
        model, opt = copy.deepcopy((space["model"], space["opt"]))
        logged = []
        log = types.SimpleNamespace(log=lambda loss, to=logged: to.append(float(loss)))
        names = dict(space, model=model, opt=opt, peer=log)
        workers.append((peer, iter(Shard(peer, space["loader"])), names, model, logged))
    for _ in range(rounds):
        sent = [vector(np, model) for _, _, _, model, _ in workers]
        for peer, batches, names, _, _ in workers:
            names["x"], names["y"] = next(batches)
            exec(body, names)
            peer.round += 1
        for rank, (_, _, _, model, _) in enumerate(workers):
            update = vector(np, model) - sent[rank]
            put(torch, model, mix(np, sent, rank, np.float64 if double else np.float32) + update)
    return {(rank, k + 1): loss for rank, worker in enumerate(workers) for k, loss in enumerate(worker[4])}


def parts(script):
    """Return the code before the line with join, and that in the loop over peer.shard."""
    tree = ast.parse(script.read_text())
    joins = ("peer = gossip.join(", "peer = gossiptrainer.join(")
    at = next(i for i, node in enumerate(tree.body) if ast.unparse(node).startswith(joins))
    loop = next(node for node in tree.body[at:] if isinstance(node, ast.For))
    if ast.unparse(loop.target) != "(x, y)" or ast.unparse(loop.iter) != "peer.shard(loader)":
        sys.exit(f"{script}:{loop.lineno}: the reference needs the loop `for x, y in peer.shard(loader):`")
    modules = [ast.Module(body=body, type_ignores=[]) for body in (tree.body[:at], loop.body)]
    return [compile(module, str(script), "exec") for module in modules]


def mix(np, sent, rank, number):
    """Return x_i + sum over j of W_ij (x_j - x_i) on a ring with equal weights, which are 1/3 from three workers on."""
    neighbours = sorted({(rank - 1) % len(sent), (rank + 1) % len(sent)} - {rank})
    weight = number(1 / (1 + len(neighbours)))
    own = sent[rank].astype(number)
    return own + sum(weight * (sent[j] - own) for j in neighbours)


def tensors(model):
    """Return what travels: the trainable parameters, and the floating buffers."""
    return [each for each in model.parameters() if each.requires_grad] + [
        each for each in model.buffers() if each.is_floating_point()
    ]


def vector(np, model):
    return np.concatenate([each.detach().numpy().ravel() for each in tensors(model)])


def put(torch, model, x):
    end = 0
    for each in tensors(model):
        part, end = x[end:end + each.numel()], end + each.numel()
        with torch.no_grad():
            each.copy_(torch.from_numpy(part).view(each.shape))  # in single precision


if __name__ == "__main__":
    main()
