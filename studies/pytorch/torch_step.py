"""Measures training steps of PyTorch on one thread: forward, backward, SGD with
momentum 0.9 and weight decay, on one random batch. PyTorch's side of pytorch.py,
which runs it; prints one JSON object with samples per second."""

import argparse
import json
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    """Two 3x3 convolutions and a shortcut without parameters."""

    def __init__(self, inputs, outputs, step):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, step, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.step, self.pad = step, (outputs - inputs) // 2

    def forward(self, x):
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        if self.step > 1:
            x = F.pad(x[:, :, :: self.step, :: self.step], (0, 0, 0, 0, self.pad, self.pad))
        return F.relu(y + x)


class Mean(nn.Module):
    def forward(self, x):
        return x.mean((2, 3))


def resnet(depth):
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    inputs = 16
    for stage, channels in enumerate((16, 32, 64)):
        for block in range((depth - 2) // 6):
            layers.append(Block(inputs, channels, 2 if stage > 0 and block == 0 else 1))
            inputs = channels
    return nn.Sequential(*layers, Mean(), nn.Linear(64, 10))


def vgg16():
    layers, inputs = [], 3
    for channels, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            layers += [nn.Conv2d(inputs, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU()]
            inputs = channels
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, 10))


def lenet():
    layers = [nn.Conv2d(1, 6, 5, 1, 2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)]
    return nn.Sequential(*layers)


def mlp():
    return nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))


MODELS = {
    "resnet20": lambda: (resnet(20), (3, 32, 32)),
    "resnet110": lambda: (resnet(110), (3, 32, 32)),
    "vgg16": lambda: (vgg16(), (3, 32, 32)),
    "lenet": lambda: (lenet(), (1, 28, 28)),
    "mlp": lambda: (mlp(), (784,)),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=MODELS, default="resnet20")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--channels-last", action="store_true")
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(0)
    net, shape = MODELS[args.model]()
    x, y = torch.randn(args.batch, *shape), torch.arange(args.batch) % 10
    if args.channels_last:
        net = net.to(memory_format=torch.channels_last)
        x = x.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()

    for _ in range(2):
        step()
    wall, cpu, best, windows = [], [], 0.0, 10
    for _ in range(windows):
        start, used, steps = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - start < args.seconds / windows:
            begin = time.perf_counter()
            step()
            best = max(best, args.batch / (time.perf_counter() - begin))
            steps += 1
        wall.append(steps * args.batch / (time.perf_counter() - start))
        cpu.append(steps * args.batch / (time.process_time() - used))
    print(json.dumps({
        "version": torch.__version__,
        "parameters": sum(p.numel() for p in net.parameters()),
        "wall": statistics.median(wall), "cpu": statistics.median(cpu), "best": best,
    }))


if __name__ == "__main__":
    main()
