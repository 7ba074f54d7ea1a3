"""What a user of PyTorch writes: the replicas of eight workers stacked in one tensor for each layer.

D-PSGD on a ring, an MLP of 128 units on Fashion-MNIST, batches of 32, momentum 0.9 and a cosine over 600 rounds. Every
20 rounds the mean of the replicas is scored on all test rows, until the accuracy is reached. It prints the CPU seconds
after the import of PyTorch.
"""
import argparse
import gzip
import math
import time

import numpy as np
import torch
import torch.nn.functional as F


def read(path, offset):
    with gzip.open(path) as f:
        return np.frombuffer(f.read(), np.uint8, offset=offset)


def main():
    began = time.process_time()
    args = argparse.ArgumentParser()
    args.add_argument("--data", required=True)
    args.add_argument("--accuracy", type=float, default=0.85)
    a = args.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)

    def rows(name):
        pictures = read(f"{a.data}/{name}-images-idx3-ubyte.gz", 16).reshape(-1, 784).astype(np.float32) / 255
        labels = read(f"{a.data}/{name}-labels-idx1-ubyte.gz", 8).astype(np.int64)
        return torch.from_numpy(pictures), torch.from_numpy(labels)

    (x, y), (tests, answers) = rows("train"), rows("t10k")
    mean, spread = x.mean(), x.std()
    x, tests = (x - mean) / spread, (tests - mean) / spread
    workers, batch, rounds = 8, 32, 600
    shards = torch.randperm(len(x)).reshape(workers, -1)
    net = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    params = [torch.stack([p.detach()] * workers).requires_grad_() for p in net.parameters()]
    momenta = [torch.zeros_like(p) for p in params]
    ranks = torch.arange(workers)[:, None]
    for k in range(rounds):
        rate = 0.05 * 0.5 * (1 + math.cos(math.pi * k / rounds))
        chosen = shards[ranks, torch.randint(shards.shape[1], (workers, batch))]
        hidden = torch.relu(torch.baddbmm(params[1][:, None], x[chosen], params[0].transpose(1, 2)))
        out = torch.baddbmm(params[3][:, None], hidden, params[2].transpose(1, 2))
        loss = F.cross_entropy(out.reshape(-1, 10), y[chosen].reshape(-1)) * workers
        with torch.no_grad():
            for p, v, g in zip(params, momenta, torch.autograd.grad(loss, params)):
                v.mul_(0.9).add_(g)
                p.copy_((p + p.roll(1, 0) + p.roll(-1, 0)) / 3 - rate * v)
            if (k + 1) % 20 == 0:
                for own, p in zip(net.parameters(), params):
                    own.copy_(p.mean(0))
                if (net(tests).argmax(1) == answers).float().mean() >= a.accuracy:
                    break
    print(f"cpu {time.process_time() - began:.3f} rounds {k + 1}")


if __name__ == "__main__":
    main()
