"""A callback for trainers that own the loop, the model and the optimizer. It has the methods of transformers.

    Trainer(model, callbacks=[gossiptrainer.callbacks.Callback()])

Each optimizer step of the trainer is a round. The run's end stops the trainer.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

from ._link import Error
from ._peer import Peer, join
from ._tree import nothing


class Fits:
    """The trainings that one callback sees. A worker that has finished takes no further step."""

    def __init__(self, count: int) -> None:
        if count < 1:
            raise Error(f"fits={count}: a script trains at least once")
        self.count, self.begun = count, 0

    def begin(self, peer: Optional[Peer]) -> None:
        """Count a training, unless the worker has finished with an earlier one."""
        if peer is not None and peer._finished and not peer._done:
            raise Error(f"this worker has finished after {self.begun} trainings, and this is one more: give the callback "
                        "the number of all, such as fits=2")
        self.begun += 1

    def end(self, peer: Peer) -> None:
        """Finish after the last training. Before it, others wait for this worker's next step."""
        if self.begun >= self.count:
            peer.finish()


class Callback:
    """Joins when training begins, exchanges after each step, and finishes when training ends.

    peer: the worker, from the beginning of the training on.
    fits: how often the script trains; the worker finishes after the last time.
    options: those of gossiptrainer.join, such as buffers and every.
    """

    def __init__(self, fits: int = 1, **options: Any) -> None:
        self.peer: Optional[Peer] = None
        self._fits, self._options = Fits(fits), options

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, optimizer: Any = None,
                       **more: Any) -> None:
        """Join with the trainer's model, unless the process has done so."""
        if model is None:
            raise Error("the trainer gave no model at on_train_begin: call gossiptrainer.join(model, optimizer) yourself")
        self._fits.begin(self.peer)
        if self.peer is None:
            self.peer = join(model, **self._options)
        kept = [each for each in (model, optimizer) if hasattr(each, "load_state_dict")]
        self.peer.state(*kept)
        self._stop(control)

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Exchange after a step of the optimizer."""
        self.peer.step()
        self._stop(control)

    def on_log(self, args: Any, state: Any, control: Any, logs: Optional[dict] = None, **more: Any) -> None:
        """Tell the peer all numbers that the trainer logs."""
        told = _numbers(logs)
        if told and self.peer is not None:
            self.peer.log(**told)

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Optional[dict] = None, **more: Any) -> None:
        """Tell the peer the scores. The names lose the prefix eval_."""
        told = {name[5:] if name.startswith("eval_") else name: v for name, v in _numbers(metrics).items()}
        if told and self.peer is not None:
            self.peer.evaluate(**told)

    def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Say that this worker steps no more, if it does not train again."""
        self._fits.end(self.peer)

    def _stop(self, control: Any) -> None:
        if self.peer.done:
            control.should_training_stop = True

    def __getattr__(self, name: str) -> Callable:
        """Ignore all other events."""
        if name.startswith("on_"):
            return lambda *args, **kwargs: nothing()
        raise AttributeError(name)


def _numbers(values: Optional[dict]) -> dict:
    """Return the numbers among named values, with names that log and evaluate take."""
    found = {}
    for name, value in (values or {}).items():
        if isinstance(value, (int, float)) or getattr(value, "ndim", None) == 0:
            found[str(name).encode()[:64].decode(errors="ignore")] = value
    return dict(list(found.items())[:64])
