"""The models of gossiptrainer as PyTorch modules, and readers of their files: docs/models.md.

    from models import build, load
    tensors, meta = load("model.safetensors")
    model = build(meta).eval()
    model.load_state_dict(tensors)

As a program it scores a model on the test split in a folder of `peer data fetch`, or on a CSV file with named columns:

    python3 models.py model.safetensors DATA

It needs Python 3.9 and PyTorch 1.13, or later.
"""

import csv
import gzip
import json
import os
import struct
import sys
from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import nn


class MLP(nn.Module):
    """mlp; without hidden layers its only layer is called dense: logistic."""

    def __init__(self, inputs, hidden, classes):
        super().__init__()
        widths = [inputs, *hidden, classes]
        for i, (a, b) in enumerate(zip(widths, widths[1:]), 1):
            self.add_module(f"dense{i}" if hidden else "dense", nn.Linear(a, b))

    def forward(self, x):
        *hidden, last = self.children()
        x = x.flatten(1)
        for layer in hidden:
            x = F.relu(layer(x))
        return last(x)


class LeNet(nn.Module):
    def __init__(self, channels, rows, columns, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.dense1 = nn.Linear(16 * (rows // 4 - 2) * (columns // 4 - 2), 120)
        self.dense2 = nn.Linear(120, 84)
        self.dense3 = nn.Linear(84, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.dense1(x.flatten(1)))
        return self.dense3(F.relu(self.dense2(x)))


def conv(inputs, channels, step=1):
    return nn.Conv2d(inputs, channels, 3, step, padding=1, bias=False)


def norm(kind, channels):
    return nn.BatchNorm2d(channels) if kind == "batch" else nn.GroupNorm(8, channels)


class Block(nn.Module):
    def __init__(self, inputs, channels, step, kind):
        super().__init__()
        self.conv1, self.norm1 = conv(inputs, channels, step), norm(kind, channels)
        self.conv2, self.norm2 = conv(channels, channels), norm(kind, channels)
        self.step, self.more = step, channels - inputs

    def forward(self, x):
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        rest = x[:, :, :: self.step, :: self.step]  # and zeros for new channels: half before, half after
        return F.relu(y + F.pad(rest, (0, 0, 0, 0, self.more // 2, self.more - self.more // 2)))


class ResNet(nn.Module):
    def __init__(self, channels, depth, kind, classes):
        super().__init__()
        self.conv, self.norm = conv(channels, 16), norm(kind, 16)
        wide = 16
        for stage, width in enumerate((16, 32, 64), 1):
            blocks = OrderedDict()
            for b in range(1, (depth - 2) // 6 + 1):
                blocks[f"block{b}"] = Block(wide, width, 2 if stage > 1 and b == 1 else 1, kind)
                wide = width
            self.add_module(f"stage{stage}", nn.Sequential(blocks))
        self.dense = nn.Linear(64, classes)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)))
        return self.dense(self.stage3(self.stage2(self.stage1(x))).mean((2, 3)))


class VGG16(nn.Module):
    def __init__(self, channels, rows, columns, kind, classes):
        super().__init__()
        wide = channels
        for stage, (width, layers) in enumerate(((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)), 1):
            parts = OrderedDict()
            for i in range(1, layers + 1):
                parts[f"conv{i}"], parts[f"norm{i}"] = conv(wide, width), norm(kind, width)
                parts[f"relu{i}"] = nn.ReLU()
                wide = width
            parts["pool"] = nn.MaxPool2d(2)
            self.add_module(f"stage{stage}", nn.Sequential(parts))
        self.dense = nn.Linear(512 * (rows // 32) * (columns // 32), classes)

    def forward(self, x):
        *stages, last = self.children()
        for stage in stages:
            x = stage(x)
        return last(x.flatten(1))


class VGG11(nn.Module):
    def __init__(self, channels, rows, columns, classes):
        super().__init__()
        wide = channels
        for stage, (width, layers) in enumerate(((64, 1), (128, 1), (256, 2), (512, 2), (512, 2)), 1):
            parts = OrderedDict()
            for i in range(1, layers + 1):
                parts[f"conv{i}"], parts[f"relu{i}"] = nn.Conv2d(wide, width, 3, padding=1), nn.ReLU()
                wide = width
            parts["pool"] = nn.MaxPool2d(2)
            self.add_module(f"stage{stage}", nn.Sequential(parts))
        self.dense1 = nn.Linear(512 * (rows // 32) * (columns // 32), 512)
        self.dense2, self.dense3 = nn.Linear(512, 512), nn.Linear(512, classes)

    def forward(self, x):
        *stages, dense1, dense2, last = self.children()
        for stage in stages:
            x = stage(x)
        return last(F.relu(dense2(F.relu(dense1(x.flatten(1))))))


def build(meta):
    """Returns the module that the metadata of a file describe."""
    m, d = json.loads(meta["model"]), json.loads(meta["input"])
    (c, h, w), classes = d["shape"], len(d["classes"])
    if m["name"] in ("logistic", "mlp"):
        return MLP(c * h * w, m.get("hidden", []), classes)
    if m["name"] == "lenet":
        return LeNet(c, h, w, classes)
    if m["name"] == "resnet":
        return ResNet(c, m["depth"], m["norm"], classes)
    if m["name"] == "vgg11":
        return VGG11(c, h, w, classes)
    return VGG16(c, h, w, m["norm"], classes)


def load(path):
    """Returns the tensors of a file of float32, and its metadata."""
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        numbers = torch.frombuffer(bytearray(f.read()), dtype=torch.float32)
    meta = header.pop("__metadata__", {})
    part = lambda t: numbers[t["data_offsets"][0] // 4 : t["data_offsets"][1] // 4].view(t["shape"])
    return {name: part(t) for name, t in header.items()}, meta


def images(folder):
    """Returns pixels and labels of CIFAR-10, or of MNIST or Fashion-MNIST."""
    if os.path.exists(f"{folder}/test_batch.bin"):
        with open(f"{folder}/test_batch.bin", "rb") as f:
            rows = torch.frombuffer(bytearray(f.read()), dtype=torch.uint8).view(-1, 3073)
        return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0].long()
    images, labels = (
        torch.frombuffer(bytearray(gzip.open(f"{folder}/t10k-{kind}-ubyte.gz").read()[skip:]), dtype=torch.uint8)
        for kind, skip in (("images-idx3", 16), ("labels-idx1", 8))
    )
    return images.view(-1, 1, 28, 28), labels.long()


def table(path, columns, label, classes):
    """Returns the values of a CSV file by the names of its columns, and the numbers of its classes."""
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    values = torch.tensor([[float(row[name]) for name in columns] for row in rows], dtype=torch.float64)
    return values, torch.tensor([classes.index(row[label]) for row in rows])


def score(model, meta, path):
    """Returns accuracy and loss, which are those of peer evaluate."""
    d = json.loads(meta["input"])
    mean, std = torch.tensor(d["mean"]).double(), torch.tensor(d["std"]).double()
    if os.path.isfile(path):
        x, labels = table(path, d["columns"], d["label"], d["classes"])
    else:
        x, labels = images(path)
        mean, std = mean.view(-1, 1, 1), std.view(-1, 1, 1)
    with torch.no_grad():
        logits = torch.cat([model(((part / d["scale"] - mean) / std).float()) for part in x.split(100)])
    right = (logits.argmax(1) == labels).sum().item()
    return {"accuracy": right / len(labels), "loss": F.cross_entropy(logits, labels).item()}


if __name__ == "__main__":
    file, data = sys.argv[1:]
    tensors, meta = load(file)
    model = build(meta).eval()
    model.load_state_dict(tensors)
    print(json.dumps(score(model, meta, data)))
