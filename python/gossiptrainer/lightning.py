"""The Trainer of Lightning takes part in a run.

    L.Trainer(max_epochs=3, callbacks=[gossiptrainer.lightning.GossipCallback()])
"""

from __future__ import annotations

import contextlib
import os
from typing import Any, Optional

try:
    import lightning.pytorch as pl
except ImportError:
    import pytorch_lightning as pl

from . import _data
from ._link import Error
from ._peer import Peer, init, join
from .callbacks import Fits


class GossipCallback(pl.Callback):
    """Joins when training starts, exchanges after each batch that has stepped, and finishes when training ends.

    A batch that moves trainer.global_step is a round; with several optimizers by hand, a batch is one round as well.
    The training data become this worker's part. Workers above 0 write below their own folder.

    validate: "mean" validates the mean over all workers; all then validate equally often.
    fits: how often the script calls trainer.fit; the worker finishes after the last time.
    options: those of gossiptrainer.join, such as buffers and every.
    """

    def __init__(self, validate: Optional[str] = None, fits: int = 1, **options: Any) -> None:
        if validate not in (None, "mean"):
            raise Error(f"validate={validate!r}: give \"mean\", or leave it out to validate this worker's own model")
        self.peer: Optional[Peer] = None
        self._validate, self._fits, self._options = validate, Fits(fits), options
        self._step = 0
        self._joined = False
        self._mean = contextlib.ExitStack()

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Seed by rank, and divide the data, before the trainer makes its iterator."""
        if stage != "fit":
            return
        self._fits.begin(self.peer)
        self.peer = init()
        if self.peer._rank is None:  # on a LAN it is known after join
            self._join(pl_module)
        source = getattr(trainer.fit_loop, "_data_source", None)
        if source is None or not hasattr(source, "instance"):
            raise Error("this version of Lightning keeps its loader elsewhere: give fit peer.loader(loader), with "
                        "peer = gossiptrainer.init()")
        if hasattr(source.instance, source.name):  # a module or data module, whose method makes the loader
            made = getattr(source.instance, source.name)
            setattr(source.instance, source.name, lambda: self._divide(made()))
        else:
            source.instance = self._divide(source.instance)
        if self.peer.rank > 0 and os.environ.get("PEER_DIR"):
            trainer._default_root_dir = os.path.join(self.peer.dir, "lightning")
            for callback in trainer.checkpoint_callbacks:
                if getattr(callback, "dirpath", None):
                    callback.dirpath = os.path.join(self.peer.dir, os.path.basename(callback.dirpath))

    def _divide(self, loader: Any) -> Any:
        if isinstance(loader, (list, tuple, dict)) or type(loader).__name__ == "CombinedLoader":
            raise Error("several training loaders are not divided: give each as peer.loader(loader), with "
                        "peer = gossiptrainer.init(), in a CombinedLoader of Lightning's")
        return loader if _data.is_part(loader) else self.peer.loader(loader)

    def _join(self, module: Any) -> None:
        if not self._joined:
            self._joined = True
            self.peer = join(module, **self._options)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Join, with the parameters of a checkpoint if the trainer has loaded one."""
        self._join(pl_module)
        self.peer.state(pl_module, *trainer.optimizers)
        self._step = trainer.global_step

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Exchange, if an optimizer has stepped."""
        if trainer.global_step == self._step:
            return
        self._step = trainer.global_step
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        if loss is not None:
            self.peer.log(loss)
        self.peer.step()
        if self.peer.done:
            trainer.should_stop = True

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Put the mean in the model's place."""
        if self._validate == "mean" and self._joined and not trainer.sanity_checking:
            self._mean.enter_context(self.peer.averaged())

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Take the worker's own values back, and tell the peer the scores whose names begin with val."""
        self._mean.close()
        scores = {name: float(value) for name, value in trainer.callback_metrics.items() if name.startswith("val")}
        if scores and self._joined and not trainer.sanity_checking:
            self.peer.evaluate(**scores)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Take the worker's own values back."""
        self._mean.close()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Say that this worker steps no more, if it does not train again."""
        self._fits.end(self.peer)
