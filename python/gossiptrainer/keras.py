"""The fit of Keras 3 takes part in a run, with each backend.

    model.fit(x, y, callbacks=[gossiptrainer.keras.GossipCallback()])
"""

from __future__ import annotations

import random
import sys
from typing import Any, Iterator, Optional

import keras

from . import _peer, _tree
from ._link import Error
from .callbacks import Fits, _numbers


class _Variables(_tree.Tree):
    """The variables of a model. The trainable ones travel, then the statistics, exactly. Others come from worker 0."""

    def __init__(self, model: Any) -> None:
        if not model.built:
            raise Error("the model has no variables yet: give its first layer an Input, or call model.build")
        self.given = model
        learned = {id(v) for v in model.trainable_variables}
        frozen = {id(v) for layer in model._flatten_layers() if not layer.trainable for v in layer.variables}
        self.groups: dict = {"learned": {}, "statistics": {}, "still": {}}
        for index, variable in enumerate(model.variables):
            if not _is_seed(variable):
                stays = id(variable) in frozen or "float" not in variable.dtype
                group = self.groups["learned" if id(variable) in learned else "still" if stays else "statistics"]
                group[variable.path if variable.path not in group else f"{variable.path} {index}"] = variable
        super().__init__(self.clone())
        self.exact = sum(part.last - part.first for part in self.parts if part.name.startswith("statistics"))

    def clone(self) -> dict:
        """Return the present values of what travels."""
        return {kind: {name: _value(v).astype("float32") for name, v in self.groups[kind].items()}
                for kind in ("learned", "statistics")}

    def _replace(self, values: Iterator) -> None:
        super()._replace(values)
        for kind, group in self.params.items():
            for name, value in group.items():
                self.groups[kind][name].assign(value)

    def gather(self) -> None:
        """Bring the vector up to date after a local step."""
        self.params = self.clone()
        super().gather()

    def copy(self, mean: Optional[bytearray]) -> Any:
        """Return a copy of the model, with the values of the vector mean if there is one."""
        twin, own = keras.models.clone_model(self.given), self.clone()
        if mean is not None:
            self.hold(mean)
        twin.set_weights(self.given.get_weights())
        self.put(own)
        return twin

    def contents(self) -> list:
        """Return what the vector does not hold, for the comparison with worker 0."""
        still = ((name, _value(v)) for name, v in self.groups["still"].items())
        return super().contents() + [(name, v.shape, str(v.dtype), v.tobytes()) for name, v in still]

    def receive(self, index: int, dtype: str, raw: Any) -> None:
        """Take the value of contents()[index] of worker 0."""
        variable = list(self.groups["still"].values())[index - len(self.parts)]
        variable.assign(self.numpy.frombuffer(raw, dtype=dtype).reshape(tuple(variable.shape)))

    def _rest(self) -> list:
        optimized = self.given.optimizer.variables if self.given.optimizer else []
        return [*self.groups["still"].values(), *filter(_is_seed, self.given.variables), *optimized]

    def state_dict(self) -> dict:
        """Return the state of the optimizer and of dropout, and the variables that do not travel."""
        return {str(index): _value(v) for index, v in enumerate(self._rest())}

    def load_state_dict(self, state: dict) -> None:
        """Take the result of state_dict back."""
        for index, variable in enumerate(self._rest()):
            variable.assign(state[str(index)])


def _is_seed(variable: Any) -> bool:
    return variable.path.endswith("seed_generator_state")


def _value(variable: Any) -> Any:
    return keras.ops.convert_to_numpy(variable.value).copy()


class GossipCallback(keras.callbacks.Callback):
    """Exchanges after each batch, and finishes when the training ends. The run's end stops the training.

    model: join with it at once, so that peer.part can divide the data. Else it joins when the training begins.
    every: exchange after every n batches. JAX keeps the variables elsewhere in between, and they are fetched.
    fits: how often the script calls model.fit; the worker finishes after the last time.
    """

    def __init__(self, model: Any = None, *, every: int = 1, fits: int = 1) -> None:
        super().__init__()
        if every < 1:
            raise Error(f"every={every}: a round has at least one batch")
        self.peer: Optional[_peer.Peer] = None
        self._every, self._batches, self._fits = every, 0, Fits(fits)
        if model is not None:
            self._join(model)

    def _join(self, model: Any) -> None:
        if model.optimizer is not None and not model.optimizer.built:
            model.optimizer.build(model.trainable_variables)
        self._variables = _Variables(model)
        self.peer = _peer._join(self._variables, [], None, 1)
        for variable in filter(_is_seed, model.variables):  # each worker drops other values
            variable.assign([random.randrange(2 ** 31), int(_value(variable)[1])])
        if "tensorflow" in sys.modules:
            sys.modules["tensorflow"].random.set_seed(random.randrange(2 ** 31))

    def on_train_begin(self, logs: Optional[dict] = None) -> None:
        """Join, unless that is done."""
        self._fits.begin(self.peer)
        if self.peer is None:
            self._join(self.model)
        self.peer.state(self._variables)

    def on_train_batch_end(self, batch: int, logs: Optional[dict] = None) -> None:
        """Exchange. The logged values are Keras's means over the pass so far."""
        self._batches += 1
        if _numbers(logs):
            self.peer.log(**_numbers(logs))
        if self._batches % self._every == 0:
            self._exchange()

    def _exchange(self) -> None:
        model = self.model  # JAX brings the variables back here
        self.peer.step()
        model.stop_training |= self.peer.done

    def on_epoch_end(self, epoch: int, logs: Optional[dict] = None) -> None:
        """Tell the peer the scores of the validation."""
        scores = {name[4:]: value for name, value in _numbers(logs).items() if name.startswith("val_")}
        if scores:
            self.peer.evaluate(**scores)

    def on_train_end(self, logs: Optional[dict] = None) -> None:
        """Say that this worker steps no more, if it does not train again."""
        if self._batches % self._every and not self.peer.done:
            self._exchange()
        self._fits.end(self.peer)
