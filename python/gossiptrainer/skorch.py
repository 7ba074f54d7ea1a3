"""The nets of skorch take part in a run.

    NeuralNetClassifier(Net, callbacks=[gossiptrainer.skorch.GossipCallback()])
"""

from __future__ import annotations

import os
from typing import Any, Optional

import skorch.callbacks

from ._peer import Peer, join
from .callbacks import Fits, _numbers


class GossipCallback(skorch.callbacks.Callback):
    """Joins when the training begins, and finishes when it ends. Each step of the optimizer is a round.

    The training data become this worker's part. The run's end stops the training. Checkpoints of workers above 0 lie
    below their own folder.

    fits: how often the script calls partial_fit; the worker finishes after the last time.
    options: those of gossiptrainer.join, such as buffers and every.
    """

    def __init__(self, fits: int = 1, **options: Any) -> None:
        self.peer: Optional[Peer] = None
        self.fits, self.options = Fits(fits), options

    def __getstate__(self) -> dict:
        """Leave the peer out of copies and files of the net."""
        return {"peer": None, "fits": Fits(self.fits.count), "options": self.options}

    def on_train_begin(self, net: Any, X: Any = None, y: Any = None, **more: Any) -> None:
        """Join, and divide the data that the net will iterate over."""
        self.fits.begin(self.peer)
        optimizers = [getattr(net, name + "_") for name in net._optimizers]
        modules = {name: getattr(net, name + "_") for name in net._modules}
        self.peer = join(modules if len(modules) > 1 else net.module_, optimizers, **self.options)
        whole = net.get_iterator

        def part(dataset: Any, training: bool = False) -> Any:
            made = whole(dataset, training=training)
            return self.peer.loader(made) if training else made

        vars(net)["get_iterator"] = part
        if self.peer.rank > 0 and os.environ.get("PEER_DIR"):
            for _, callback in net.callbacks_:
                if isinstance(callback, skorch.callbacks.Checkpoint):
                    callback.dirname = os.path.join(self.peer.dir, os.path.basename(callback.dirname))

    def on_batch_end(self, net: Any, batch: Any = None, training: bool = False, loss: Any = None, **more: Any) -> None:
        """Tell the peer the loss, and end the training with the run."""
        if not training:
            return
        if loss is not None:
            self.peer.log(loss)
        if self.peer.done:
            raise KeyboardInterrupt  # skorch ends a training by it

    def on_epoch_end(self, net: Any, dataset_train: Any = None, dataset_valid: Any = None, **more: Any) -> None:
        """Tell the peer the scores of the validation."""
        scores = {name[6:]: value for name, value in _numbers(dict(net.history[-1])).items()
                  if name.startswith("valid_") and not name.endswith("_best") and name != "valid_batch_count"}
        if scores:
            self.peer.evaluate(**scores)

    def on_train_end(self, net: Any, X: Any = None, y: Any = None, **more: Any) -> None:
        """Say that this worker steps no more, if it does not train again."""
        vars(net).pop("get_iterator", None)
        self.fits.end(self.peer)
