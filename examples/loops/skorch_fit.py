"""skorch: one callback divides the data, exchanges and finishes."""

import numpy as np
import torch
from skorch import NeuralNetClassifier

from gossiptrainer.skorch import GossipCallback


class Net(torch.nn.Sequential):
    def __init__(self):
        super().__init__(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2), torch.nn.Softmax(-1))


torch.manual_seed(1)
x = np.random.default_rng(1).normal(size=(800, 8)).astype("float32")
y = (x[:, :4].sum(1) > 0).astype("int64")
gossip = GossipCallback()
net = NeuralNetClassifier(Net, max_epochs=3, batch_size=16, lr=0.1, callbacks=[gossip], verbose=0)
net.fit(x, y)

peer = gossip.peer
total = sum(p.double().sum() for p in peer.average().parameters())
print(f"worker {peer.rank}: {peer.round} steps, accuracy {net.score(x, y):.2f}, mean {total:.9f}")
