"""Trains ResNet-20 on random images for a number of steps, and prints its speed as one line of JSON.

Without a peer it trains alone; `peer lab FILE -- python3 resnet20.py` trains with the others.
"""

import argparse
import json
import pathlib
import sys
import time

import torch
import torch.nn.functional as F

import gossiptrainer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "pytorch"))
from torch_step import resnet  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=32)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = resnet(20)
    opt = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    peer = gossiptrainer.join(model, opt)
    x, y = torch.randn(args.batch, 3, 32, 32), torch.randint(10, (args.batch,))
    warm, began = args.steps // 6, 0.0  # the first steps fill caches and wait for processes that start later
    for k in range(args.steps):
        if k == warm:
            began = time.monotonic()
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        peer.log(loss)
    print(json.dumps({"steps_per_second": (args.steps - warm) / (time.monotonic() - began)}), flush=True)


if __name__ == "__main__":
    main()
