# Trains a tiny network with the optimizer that the first argument names.
import sys

import torch, torch.nn.functional as F, gossiptrainer
from torch.utils.data import DataLoader, TensorDataset

random = torch.Generator().manual_seed(1)
labels = torch.randint(4, (512,), generator=random)
samples = torch.randn(512, 16, generator=random) + 3 * F.one_hot(labels, 16)
loader = DataLoader(TensorDataset(samples, labels), batch_size=16, shuffle=True)

torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
opt = {
    "sgd": lambda values: torch.optim.SGD(values, 0.1),
    "momentum": lambda values: torch.optim.SGD(values, 0.03, momentum=0.9),
    "adamw": lambda values: torch.optim.AdamW(values, 0.01),
}[sys.argv[1]](model.parameters())
peer = gossiptrainer.join(model, opt)
for x, y in peer.shard(loader):
    loss = F.cross_entropy(model(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
    peer.log(loss)
