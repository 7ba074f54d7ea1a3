"""Trains ResNet-20 on CIFAR-10 for one epoch with PyTorch, from PyTorch's own starts, on one thread: SGD with momentum
0.9 and weight decay 1e-4. PyTorch's side of starts.py, which runs it; prints one JSON object with the mean training
loss of the steps 151 to 200 and the test accuracy."""

import argparse
import json
import os
import pathlib
import subprocess

import numpy
import torch
from torch.nn import functional as F

from torch_step import resnet

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


def read(folder, names):
    """Returns the pictures and labels of files in CIFAR-10's binary form, plain or compressed by zstd."""
    raw = b""
    for name in names:
        path = pathlib.Path(folder, name)
        if path.exists():
            raw += path.read_bytes()
        else:
            raw += subprocess.run(["zstd", "-dc", f"{path}.zst"], stdout=subprocess.PIPE, check=True).stdout
    rows = torch.from_numpy(numpy.frombuffer(raw, numpy.uint8).reshape(-1, 3073).copy())
    x = rows[:, 1:].reshape(-1, 3, 32, 32).float() / 255
    mean, std = (torch.tensor(v).reshape(1, 3, 1, 1) for v in (MEAN, STD))
    return (x - mean) / std, rows[:, 0].long()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.path.join(os.environ.get("PEER_DATA", "."), "cifar-10"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--step", type=float, default=0.1)
    parser.add_argument("--batch", type=int, default=128)
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    net = resnet(20)
    optimizer = torch.optim.SGD(net.parameters(), lr=args.step, momentum=0.9, weight_decay=1e-4)
    x, y = read(args.data, [f"data_batch_{i}.bin" for i in range(1, 6)])
    losses = []
    for rows in torch.randperm(len(y))[: len(y) // args.batch * args.batch].split(args.batch):
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(net(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    x, y = read(args.data, ["test_batch.bin"])
    net.eval()
    with torch.no_grad():
        correct = sum((net(a).argmax(1) == b).sum().item() for a, b in zip(x.split(500), y.split(500)))
    print(json.dumps({
        "version": torch.__version__, "loss": sum(losses[150:200]) / 50, "accuracy": correct / len(y),
    }))


if __name__ == "__main__":
    main()
