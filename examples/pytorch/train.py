"""Train a small network on Fashion-MNIST, alone or with others.

    python3 train.py                              alone (PYTHONPATH=$(peer python path) finds the package)
    peer lab lab.yaml -- python3 train.py         eight workers on this machine
    peer run lan.yaml -- python3 train.py         one worker of a LAN; the same command on every machine

The data are looked for in the folder that PEER_DATA names; `peer data fetch fashion-mnist` fills it. Without
them, the script makes a data set of its own, which is as easy to learn.
"""

import gzip
import os

import torch, torch.nn.functional as F, gossiptrainer
from torch.utils.data import DataLoader, TensorDataset


def read(name):
    """Return an IDX file as a tensor of bytes: its header holds the number of dimensions and their sizes."""
    folder = os.path.join(os.environ.get("PEER_DATA") or os.path.expanduser("~/.cache/gossiptrainer/data"),
                          "fashion-mnist")
    with gzip.open(os.path.join(folder, name + ".gz")) as file:
        content = bytearray(file.read())
    sizes = [int.from_bytes(content[4 + 4 * d:8 + 4 * d], "big") for d in range(content[3])]
    return torch.frombuffer(content, dtype=torch.uint8, offset=4 + 4 * len(sizes)).view(sizes)


def data(part):
    """Return images and labels of the part train or t10k."""
    try:
        return TensorDataset(read(part + "-images-idx3-ubyte").unsqueeze(1) / 255,
                             read(part + "-labels-idx1-ubyte").long())
    except FileNotFoundError as missing:
        print(f"{missing.filename} is missing, so the images are made: run peer data fetch fashion-mnist")
    random = torch.Generator().manual_seed(1)
    prototypes = torch.rand(10, 1, 28, 28, generator=random)
    y = torch.randint(10, (6000 if part == "train" else 1000,), generator=random)
    return TensorDataset(prototypes[y] + 0.5 * torch.randn(len(y), 1, 28, 28, generator=random), y)


class Net(torch.nn.Sequential):
    def __init__(self):
        super().__init__(torch.nn.Conv2d(1, 8, 5, stride=2), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
                         torch.nn.Conv2d(8, 16, 5, stride=2), torch.nn.BatchNorm2d(16), torch.nn.ReLU(),
                         torch.nn.Flatten(), torch.nn.Linear(256, 10))


loader = DataLoader(data("train"), batch_size=32, shuffle=True)

torch.manual_seed(1)
model = Net()
opt = torch.optim.AdamW(model.parameters(), 3e-4)
peer = gossiptrainer.join(model, opt)
for x, y in peer.shard(loader):
    loss = F.cross_entropy(model(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
    peer.log(loss)

x, y = data("t10k").tensors
model.eval()
with torch.no_grad():
    accuracy = (model(x).argmax(1) == y).float().mean().item()
peer.evaluate(accuracy)
print(f"rank {peer.rank}: accuracy {accuracy:.4f} after {peer.round} rounds")
