"""The loops that run.sh measures, with one line of figures for each worker. DEVICE is cuda or cpu.

    loop.py bits            values that are exact on every device: the sum tells whether a copy has lost a bit
    loop.py step N          a vector of N million numbers whose steps cost nothing: all time is the exchange
    loop.py lora [SIZE]     adapters of a random transformer in bfloat16
"""

import os
import sys
import time

import torch
from torch import nn

import gossiptrainer

device = os.environ.get("DEVICE", "cuda")
small = device == "cpu"


def wait():
    if device == "cuda":
        torch.cuda.synchronize()


def told(name, peer, steps, seconds, **more):
    figures = " ".join(f"{key}={value}" for key, value in more.items())
    print(f"GPU {name} rank={peer.rank} size={peer.size} steps={steps} ms={1000 * seconds / steps:.3f} {figures}", flush=True)


def bits():
    """Each step adds powers of two. Sums and means round alike on every device, in every format."""
    types = torch.float32, torch.float32, torch.bfloat16, torch.float16
    model = nn.ParameterList([nn.Parameter(torch.zeros(3, 5, device=device, dtype=each)) for each in types])
    peer = gossiptrainer.join(model)
    for _ in range(8):
        with torch.no_grad():
            for i, each in enumerate(model):
                each.add_(2.0 ** (i - 2) * (peer.rank + 1))
        peer.step()
    values = torch.cat([each.detach().double().cpu().flatten() for each in model])
    told("bits", peer, 8, 0, sum=values.sum().item())


def step():
    count = int(float(sys.argv[2]) * 1e6)
    parts = 16
    model = nn.ParameterList([nn.Parameter(torch.zeros(count // parts, device=device)) for _ in range(parts)])
    peer = gossiptrainer.join(model)
    steps = 5 if small else 20
    peer.step()  # the first one makes buffers
    wait()
    began = time.perf_counter()
    for _ in range(steps):
        peer.step()
    wait()
    told("step", peer, steps, time.perf_counter() - began, millions=count / 1e6)


class Lora(nn.Module):
    """A frozen linear layer with an adapter of rank 8."""

    def __init__(self, width, out):
        super().__init__()
        self.base = nn.Linear(width, out).requires_grad_(False)
        self.down, self.up = nn.Linear(width, 8, bias=False), nn.Linear(8, out, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(width).requires_grad_(False), Lora(width, 3 * width)
        self.out, self.wide, self.narrow = Lora(width, width), Lora(width, 4 * width), Lora(4 * width, width)
        self.heads = max(1, width // 64)

    def forward(self, x):
        b, n, width = x.shape
        q, k, v = self.attention(self.norm(x)).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(b, n, width))
        return x + self.narrow(nn.functional.gelu(self.wide(self.norm(x))))


def lora():
    torch.manual_seed(1)
    width, depth, words, length, batch = (64, 2, 500, 32, 2) if small else (768, 12, 50257, 512, 8)
    model = nn.Sequential(nn.Embedding(words, width), *[Block(width) for _ in range(depth)], nn.Linear(width, words))
    model[0].requires_grad_(False), model[-1].requires_grad_(False)
    model = model.to(device, torch.bfloat16)
    own = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(own, 1e-3)
    peer = gossiptrainer.join(model, optimizer)
    x = torch.randint(words, (batch, length), generator=torch.Generator().manual_seed(peer.rank)).to(device)
    steps, warm = (6, 2) if small else (60, 10)
    for k in range(steps):
        if k == warm:
            wait()
            began = time.perf_counter()
        loss = nn.functional.cross_entropy(model(x)[:, :-1].flatten(0, 1).float(), x[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    wait()
    told("lora", peer, steps - warm, time.perf_counter() - began, loss=f"{loss.item():.4f}",
         adapters=sum(each.numel() for each in own))


if __name__ == "__main__":
    {"bits": bits, "step": step, "lora": lora}[sys.argv[1]]()
