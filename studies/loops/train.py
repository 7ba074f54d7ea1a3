"""Trains one model of the study and prints its curve: the script that all methods of loops.py share.

    train.py --model char|resnet20|lora --how alone|ddp|gossip --steps 192 --workers 4

Every worker takes 1/workers of the global batch, so all methods see as many samples in as many optimizer steps. The
clock stands still during an evaluation.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = pathlib.Path(os.environ.get("PEER_DATA", ROOT.parent / "shared" / "data"))


class Block(nn.Module):
    """A block of a GPT: causal attention and an MLP, each behind a LayerNorm."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (a.view(b, t, self.heads, -1).transpose(1, 2) for a in self.qkv(self.first(x)).chunk(3, -1))
        seen = torch.ones(t, t, dtype=torch.bool, device=x.device).tril()
        scores = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).masked_fill(~seen, -math.inf)
        x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.second(x))))


class GPT(nn.Module):
    """A character model with the architecture of GPT-2."""

    def __init__(self, vocabulary, layers, width, heads, context):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        for weight in self.parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, std=0.02)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.tokens(x) + self.places.weight[:x.shape[1]])))


class Adapted(nn.Module):
    """A frozen layer with a trainable one of low rank beside it: LoRA (Hu et al. 2021)."""

    def __init__(self, base, rank=8):
        super().__init__()
        self.base = base
        self.a = nn.Parameter(torch.randn(rank, base.in_features) / math.sqrt(base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + 2 * x @ self.a.T @ self.b.T


class Text:
    """Tiny Shakespeare by characters; the last tenth is for tests."""

    each = 48  # sequences of a global batch

    def __init__(self, context=64):
        text = (DATA / "tinyshakespeare" / "input.txt").read_text()
        letters = {c: i for i, c in enumerate(sorted(set(text)))}
        codes = torch.tensor([letters[c] for c in text])
        split = len(codes) * 9 // 10
        self.vocabulary, self.context, self.train, self.test = len(letters), context, codes[:split], codes[split:]

    def batch(self, random, count):
        at = torch.randint(len(self.train) - self.context - 1, (count, 1), generator=random) + torch.arange(self.context)
        return self.train[at], self.train[at + 1]

    def held(self):
        at = torch.arange(0, 128 * self.context, self.context)[:, None] + torch.arange(self.context)
        return [(self.test[at], self.test[at + 1])]

    @staticmethod
    def loss(out, y):
        return F.cross_entropy(out.flatten(0, 1), y.flatten())


class Pictures:
    """CIFAR-10."""

    each = 128  # pictures of a global batch

    def __init__(self):
        self.x, self.y = self.read(*(f"data_batch_{i}" for i in range(1, 6)))
        self.test = self.read("test_batch")

    @staticmethod
    def read(*names):
        raw = b"".join(subprocess.run(["zstd", "-dc", DATA / "cifar-10" / f"{name}.bin.zst"], check=True,
                                      stdout=subprocess.PIPE).stdout for name in names)
        rows = torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(-1, 3073)
        return (rows[:, 1:].float().view(-1, 3, 32, 32) / 255 - 0.47) / 0.25, rows[:, 0].long()

    def batch(self, random, count):
        at = torch.randint(len(self.y), (count,), generator=random)
        return self.x[at], self.y[at]

    def held(self):
        x, y = self.test
        return [(x[i:i + 500], y[i:i + 500]) for i in range(0, 2000, 500)]

    loss = staticmethod(F.cross_entropy)


def build(name):
    """Returns data, model and optimizer."""
    torch.manual_seed(1)
    if name == "resnet20":
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "pytorch"))
        from torch_step import resnet
        model = resnet(20)
        return Pictures(), model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
    data = Text()
    if name == "char":  # as nanoGPT's settings for a CPU
        model = GPT(data.vocabulary, 4, 128, 4, data.context)
        return data, model, torch.optim.AdamW(model.parameters(), 1e-3)
    model = GPT(data.vocabulary, 6, 256, 8, data.context)
    for weight in model.parameters():
        weight.requires_grad_(False)
    for block in model.blocks:
        for layer in ("qkv", "out", "up", "down"):
            setattr(block, layer, Adapted(getattr(block, layer)))
    model.head.weight.requires_grad_(True)
    return data, model, torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=["char", "resnet20", "lora"], default="char")
    parser.add_argument("--how", choices=["alone", "ddp", "gossip"], default="alone")
    parser.add_argument("--steps", type=int, default=192)
    parser.add_argument("--every", type=int, default=32, help="steps between two evaluations")
    parser.add_argument("--workers", type=int, default=4)
    args = parser.parse_args()
    data, model, opt = build(args.model)
    net, rank, count, peer = model, 0, data.each // args.workers, None
    if args.how == "alone":
        count = data.each
    elif args.how == "ddp":
        torch.distributed.init_process_group("gloo")
        net, rank = nn.parallel.DistributedDataParallel(model), torch.distributed.get_rank()
    else:
        import gossiptrainer
        peer = gossiptrainer.join(model, opt)
        rank = peer.rank
    random = torch.Generator().manual_seed(1000 + rank)
    clock, curve = 0.0, []
    sent = transmitted()
    for step in range(1, args.steps + 1):
        began = time.monotonic()
        x, y = data.batch(random, count)
        loss = data.loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if peer:
            peer.log(loss)
        clock += time.monotonic() - began
        if rank == 0 and (step % args.every == 0 or step == args.steps):
            curve.append([step, clock, score(data, model)])
    if peer:
        model = peer.average()
    if rank == 0:
        said = {"curve": curve, "final": score(data, model), "sent": transmitted() - sent,
                "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad)}
        print("curve " + json.dumps(said), flush=True)
    if args.how == "ddp":
        torch.distributed.destroy_process_group()


@torch.no_grad()
def score(data, model):
    """Returns the mean loss on held-out samples."""
    model.eval()
    losses = [data.loss(model(x), y).item() for x, y in data.held()]
    model.train()
    return sum(losses) / len(losses)


def transmitted():
    """Returns the bytes that this machine has sent over its cable, 0 without one."""
    counter = pathlib.Path("/sys/class/net/eth0/statistics/tx_bytes")
    return int(counter.read_text()) if counter.exists() else 0


if __name__ == "__main__":
    main()
