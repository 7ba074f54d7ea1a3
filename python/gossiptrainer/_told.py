"""What a script tells of its training: losses, scores and other numbers."""

from __future__ import annotations

import math
from typing import Any, Optional

from . import _link
from ._link import Error


class Told:
    """The values that one worker logs, and the rounds that they belong to."""

    def __init__(self, peer: Any) -> None:
        self.peer = peer
        self.round, self._step = -1, -1  # of the newest value, and how many steps had been taken
        self._pending: list = []  # values that are still on an accelerator

    def log(self, told: dict) -> None:
        """Tell the peer the values of a round. Those of accelerators wait for the next step, which waits for them."""
        peer = self.peer
        _check("log", told)
        if peer._feed.batch_round is not None:
            round = peer._feed.batch_round  # the step of this batch may be done already
        elif self._step == peer._steps.count:
            round = self.round  # one more value of the same moment
        else:  # the step just done, unless its loss is known
            round = peer.round - 1 if self.round < peer.round - 1 else peer.round
        self.round, self._step = round, peer._steps.count
        away = any(getattr(getattr(v, "device", None), "type", "cpu") != "cpu" for v in told.values())
        self._pending.append((round, {name: v.detach() if hasattr(v, "detach") else v for name, v in told.items()}))
        if not away:
            with peer._whole():
                self.flush()

    def flush(self) -> None:
        """Send the logged values."""
        pending, self._pending = self._pending, []
        for round, told in pending:
            self.peer._send(_link.LOG, {"values": {name: _finite(name, v) for name, v in told.items()}}, round=round)

    def score(self, told: dict) -> None:
        """Tell the peer scores."""
        _check("evaluate", told)
        scores = {name: _finite(name, v) for name, v in told.items()}
        with self.peer._whole():
            self.peer._send(_link.SCORE, {"values": scores}, round=self.peer.round)


def _check(call: str, told: dict) -> None:
    if not 1 <= len(told) <= 64 or any(len(name.encode()) > 64 for name in told):
        raise Error(f"{call} takes 1 to 64 values, such as loss, with names of at most 64 bytes")


def _finite(name: str, value: Any) -> Optional[float]:
    try:
        number = float(value)
    except (TypeError, ValueError) as problem:
        raise Error(f"{name} is no number ({problem}): log takes single numbers") from None
    return number if math.isfinite(number) else None  # as JSON can
