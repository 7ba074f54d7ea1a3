"""The Trainer of Hugging Face's transformers takes part in a run.

    trainer = Trainer(model=model, args=args, train_dataset=data)
    gossiptrainer.transformers.attach(trainer)
    trainer.train()
"""

from __future__ import annotations

import os
from typing import Any

import transformers

from . import _seeds
from ._link import Error
from ._peer import Peer, join
from .callbacks import Callback


class GossipCallback(Callback, transformers.TrainerCallback):
    """The callback that attach adds. The trainer's list of events grows, so it has those of the framework too."""


def attach(trainer: Any, fits: int = 1, **options: Any) -> Peer:
    """Make the trainer take part in the run, and return the peer. Call it once, before trainer.train().

    Each optimizer step is a round. The training set becomes this worker's part. The seed becomes one of this worker,
    as the trainer seeds the order of the data and dropout by it. Workers above 0 write below their own folder.

    fits: how often the script calls trainer.train(); the worker finishes after the last time.
    options: those of gossiptrainer.join, such as buffers and every.
    """
    if getattr(trainer, "is_deepspeed_enabled", False) or getattr(trainer, "is_fsdp_enabled", False):
        raise Error("DeepSpeed and FSDP divide the parameters, which is not supported: train with DDP")
    if trainer.model is None:
        raise Error("the trainer has no model yet: give it a model, not model_init")
    peer = join(trainer.model, **options)
    if trainer.train_dataset is not None:
        trainer.train_dataset = peer.part(trainer.train_dataset)
    args = trainer.args
    if peer.size > 1:
        args.seed = _seeds.number("transformers", args.seed, peer.seed, peer.rank) % 2 ** 32
    if peer.rank > 0 and os.environ.get("PEER_DIR"):
        args.output_dir = os.path.join(peer.dir, os.path.basename(os.path.normpath(args.output_dir)))
    callback = GossipCallback(fits)
    callback.peer = peer
    trainer.add_callback(callback)
    return peer
