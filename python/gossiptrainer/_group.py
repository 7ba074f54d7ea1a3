"""The processes of one peer, where it has several: all make the same calls, and the first one speaks to the peer.

Each process writes its calls into the store of torch.distributed, and exchanges nothing before all have come to the same
one. So a call that one of them makes alone cannot meet another, such as the reduction of gradients.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import socket
import sys
import time
from typing import Any, List, Optional

from ._link import Error, say, script_line

SAY = 10  # seconds after which a process says for whom it waits
PATIENCE = 0.8  # of the timeout: another process may wait in a call of torch.distributed, whose error says less
END = "the end of its script"
ADVICE = ("all processes of a worker make the same calls in one order, so take them out of branches that only some "
          "enter")

_at = 0  # calls that this process has made


class Group:
    """The processes of one peer, in the process group of torch.distributed."""

    def __init__(self, distributed: Any) -> None:
        self.distributed = distributed
        self.part, self.parts = distributed.get_rank(), distributed.get_world_size()
        store = distributed.distributed_c10d._get_default_store()
        self.timeout = store.timeout.total_seconds()  # that of init_process_group
        self._store = distributed.PrefixStore("gossiptrainer", store)
        self._known: dict = {}  # the places of others, which have come once

    # -- the same calls

    def meet(self, call: str, where: str) -> None:
        """Wait until all processes make this call. Raise an Error if one of them makes another, or none any more."""
        self._tell(call)
        calls = [self._await(part, call, where) for part in range(self.parts)]
        if len({name for name, _ in calls}) > 1:
            each = "; ".join(f"process {part}: {name}{line}" for part, (name, line) in enumerate(calls))
            raise Error(f"the processes of {where} are at different calls: {each}: {ADVICE}")

    def close(self) -> None:
        """Tell the others that this process makes no more calls. Those that have ended need not know.

        The store may have ended with them, or its file is removed, for which it would wait long.
        """
        with contextlib.suppress(RuntimeError):
            self._store.set_timeout(datetime.timedelta(seconds=1))
            try:
                self._tell(END)
            finally:
                self._store.set_timeout(datetime.timedelta(seconds=self.timeout))

    def _tell(self, call: str) -> None:
        """Write this call, and the one before it, which a slower process may not have read."""
        global _at
        _at += 1
        before = self._known[self.part]["calls"][-1:] if self.part in self._known else []
        place = self._known[self.part] = {"at": _at, "host": _host(), "process": os.getpid(),
                                          "calls": before + [[call, script_line()]]}
        self._store.set(f"place {self.part}", json.dumps(place))
        if not before:
            self._store.add(f"here {self.part}", 1)

    def _await(self, part: int, call: str, where: str) -> list:
        """Return name and line of the call that another process makes where this one makes its own."""
        began, pause, said = time.monotonic(), 1e-4, False
        while True:
            ended = self._has_ended(part)  # before the look: what it wrote last counts
            place = self._look(part)
            if place is not None and place["at"] >= _at:
                return place["calls"][_at - place["at"] - 1]
            if place is None:
                last = "it has not joined yet"
            else:
                last = "its last call was {}{}".format(*place["calls"][-1])
            if ended:
                raise Error(f"process {part} of {where} has ended, but process {self.part} waits for it in "
                            f"{call}{script_line()}; {last}: {ADVICE}")
            waited = time.monotonic() - began
            text = (f"process {part} of {where} has not come to {call}{script_line()}, where process {self.part} waits; "
                    f"{last}")
            if waited > PATIENCE * self.timeout:
                raise Error(f"{text}: {ADVICE}. The timeout of init_process_group is {self.timeout:g} s")
            if waited > SAY and not said:
                said = True
                say(text)
            time.sleep(pause)
            pause = min(1.5 * pause, 0.05)

    def _look(self, part: int) -> Optional[dict]:
        """Return the place of a process; None: it has none yet."""
        if part != self.part:
            try:
                if part in self._known or self._store.add(f"here {part}", 0):
                    self._known[part] = json.loads(self._store.get(f"place {part}"))
            except RuntimeError as problem:
                raise Error(f"the store of torch.distributed, which process 0 of this worker keeps, does not answer "
                            f"({problem}): process 0 has ended: {ADVICE}") from None
        return self._known.get(part)

    def _has_ended(self, part: int) -> bool:
        """Tell whether a process that has come once is no more, as far as this machine knows."""
        place = self._known.get(part)
        if part == self.part or place is None or not place["host"] or place["host"] != _host():
            return False
        try:
            with open(f"/proc/{place['process']}/stat") as file:
                return file.read().rpartition(")")[2].split()[0] in "ZX"  # it waits for its parent
        except (FileNotFoundError, ProcessLookupError):
            return True

    # -- exchanges of those that have met

    def share(self, thing: Any) -> Any:
        """Return the first process's thing."""
        box = [thing]
        try:
            self.distributed.broadcast_object_list(box, src=0)
        except RuntimeError as problem:
            raise Error(f"process {self.part} of this worker hears nothing of process 0, which speaks to the peer and "
                        f"may have ended: its last lines say why ({problem})") from None
        return box[0]

    def share_vector(self, vector: Any) -> None:
        """Copy the first process's vector to the others."""
        if self.distributed.get_backend() != "nccl":
            self.distributed.broadcast(vector, src=0)
            return
        device = vector.cuda()
        self.distributed.broadcast(device, src=0)
        vector.copy_(device)

    def gather(self, thing: Any) -> list:
        """Return the things of all processes."""
        found: list = [None] * self.parts
        self.distributed.all_gather_object(found, thing)
        return found

    def combine(self, values: List[float], op: str) -> list:
        """Return the mean, sum, min or max of all processes' values."""
        columns = list(zip(*self.gather(values)))
        return [{"min": min, "max": max}[op](c) if op in ("min", "max") else sum(c) / (len(c) if op == "mean" else 1)
                for c in columns]


def find_group() -> Optional[Group]:
    """Return the process group of this peer, if it has more than one process."""
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return Group(distributed) if distributed.get_world_size() > 1 else None


def _host() -> str:
    """Name the machine, and its processes where containers have their own; empty where a process cannot be looked up."""
    try:
        return f"{socket.gethostname()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""
