"""Accelerate with gradient accumulation: join before prepare, and prepare this worker's part of the data."""

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

import gossiptrainer

torch.manual_seed(1)
x = torch.randn(640, 16)
loader = DataLoader(TensorDataset(x, (x[:, :4].sum(1) > 0).long()), batch_size=16, shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
opt = torch.optim.AdamW(model.parameters(), 3e-3)
accelerator = Accelerator(gradient_accumulation_steps=2, cpu=True)

peer = gossiptrainer.join(model, opt)
model, opt, loader = accelerator.prepare(model, opt, peer.loader(loader))
for epoch in range(3):
    for a, b in loader:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.cross_entropy(model(a), b)
            accelerator.backward(loss)
            opt.step()
            opt.zero_grad()
        peer.log(loss)

peer.save("model.pt")
total = sum(p.double().sum() for p in peer.average().parameters())
print(f"worker {peer.rank}: {peer.round} steps, mean {total:.9f}")
