"""Let a training script gossip: its parameters mix with those of other workers after each step.

    import torch, torch.nn.functional as F, gossiptrainer

    model = Net()
    opt = torch.optim.AdamW(model.parameters(), 3e-4)
    peer = gossiptrainer.join(model, opt)
    for x, y in peer.shard(loader):
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
        peer.log(loss)

All start with the parameters of worker 0. `opt.step()` ends with an exchange. `peer.shard` gives this worker's part
of the data until the run ends, and `peer.loader` gives it one pass at a time.

`peer lab FILE -- python3 train.py` runs such a script as several workers of one machine. `peer run FILE -- python3
train.py` runs it as one worker of a LAN. The run file names the algorithm, the bits and the graph. Without a peer
(PEER_SOCKET is not set) the script runs alone, and all calls work.

Importing this package has no effects. It needs Python 3.9 or later and the standard library. It uses torch, NumPy or
JAX where the script does. docs/script.md describes its use, docs/format/bridge.md the messages.
"""

from ._link import Error, Stopped
from ._peer import Peer, init, join, join_array
from ._version import __version__

__all__ = ["Error", "Peer", "Stopped", "init", "join", "join_array"]
