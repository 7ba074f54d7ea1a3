"""What workers do together: calls that all of them make in the same order, and means of their models."""

from __future__ import annotations

import json
import struct
import sys
from typing import Any, Iterable, List, Optional

from . import _link, _tree
from ._link import Error, Stopped, say, script_line

TEXT = 64 << 10  # bytes of what broadcast takes
NUMBERS = 8192  # of what all_reduce takes
SECONDS = 600  # of a mean that does not wait


class Calls:
    """The calls of one worker. All workers recognise the same one by its number."""

    def __init__(self, peer: Any, count: int = 0) -> None:
        self.peer, self.count = peer, count

    def collect(self, content: dict, raw: Any = b"") -> memoryview:
        """Make a call of all workers, and return the bytes of its result. The peer may stand in meanwhile."""
        self.count += 1
        return self._call(self.count, content, raw)[1]

    def _call(self, number: int, content: dict, raw: Any = b"") -> tuple:
        """Make a call, and return the text and the bytes of its result. A call of one worker has the number 0."""
        peer = self.peer
        if peer.view is not None and peer.why == "interrupted":
            raise Error("this machine has left the run, so it takes part in no call: use the model itself")
        peer._meet(_name(content))
        with peer._whole():
            peer._wake()
            peer._saves.settle()
            peer._told.flush()
            if peer._link is not None:
                peer._link.collect(number, content, raw)
            message = self._result(number)
            body = memoryview(message.body)
            start = 4 + struct.unpack("<I", body[:4])[0]
            result = json.loads(bytes(body[4:start]))
            if message.round != number:
                raise Error(f"the peer answered call {message.round} where {number} was due: use the package that "
                            "`peer python path` names")
            peer._from = result.get("from") or peer._from
            if result.get("moved"):
                peer._turn()
                peer._saves.await_place()
            elif peer._finished:
                peer._succeed(result["round"])
        return result, body[start:]

    def _result(self, number: int) -> _link.Message:
        """Wait for the RESULT of the call. Meanwhile the peer may ask for a state, and the run may end."""
        peer = self.peer
        while True:
            message = peer._receive(_link.RESULT, _link.STATE, *([] if peer._done else [_link.END]))
            if message.kind == _link.RESULT:
                return message
            if message.kind == _link.END:
                self._end(message, number)
                continue
            peer.round = message.round
            self.count -= 1  # who goes on from here makes this call again
            peer._saves.owe()
            peer._saves.give_owed()
            self.count += 1

    def _end(self, message: _link.Message, number: int) -> None:
        """Take the end of the run. The RESULT follows, unless the run ends before the others come to the call."""
        peer, end = self.peer, json.loads(message.body)
        if peer._finished:  # without a vector, which is the script's for good
            peer.round = message.round
            peer._end(end.get("why", ""))
        else:
            peer._take(message)
        if not end.get("cut"):
            return
        self.count -= 1 if number else 0
        if peer.why == "interrupted":
            raise KeyboardInterrupt
        say(f"the run has stopped while this worker waited for others ({end.get('message') or peer.why})" + script_line())
        raise Stopped(0)

    # -- numbers and things

    def all_reduce(self, x: Any, op: str) -> Any:
        """Return the mean, sum, min or max of x over all workers."""
        if op not in ("mean", "sum", "min", "max"):
            raise Error(f"all_reduce knows mean, sum, min and max, not {op}")
        flat, back = _flatten(x)
        if not 1 <= len(flat) <= NUMBERS:
            raise Error(f"all_reduce takes 1 to {NUMBERS} numbers, not {len(flat)}: the parameters travel with step")
        return back(self.reduce(flat, op))

    def reduce(self, values: List[float], op: str) -> List[float]:
        """Return the mean, sum, min or max of each number over all workers."""
        if self.peer._group is not None:
            self.peer._meet(_name({"kind": "reduce", "op": op, "numbers": len(values)}))
            values = self.peer._group.combine(values, op)
        if self.peer._alone:
            return values
        raw = self.collect({"kind": "reduce", "op": op}, struct.pack(f"<{len(values)}d", *values))
        return list(struct.unpack(f"<{len(values)}d", raw))

    def broadcast(self, thing: Any, root: int) -> Any:
        """Return what worker root gives, as JSON can hold it."""
        peer = self.peer
        if not 0 <= root < peer.size:
            raise Error(f"broadcast from worker {root}: the run has workers 0 to {peer.size - 1}")
        raw = b""
        if peer.rank == root:
            try:
                raw = json.dumps(thing).encode()
            except (TypeError, ValueError) as problem:
                raise Error(f"broadcast takes what JSON can hold ({problem})") from None
            if len(raw) > TEXT:
                raise Error(f"broadcast takes up to {TEXT} bytes, not {len(raw)}: put large things into files or the "
                            "model")
        return json.loads(raw if peer._alone else bytes(self.send(raw, root)))

    def send(self, raw: bytes, root: int) -> memoryview:
        """Return the bytes of worker root."""
        self.count += 1
        result, came = self._call(self.count, {"kind": "broadcast", "root": root}, raw)
        if str(root) in result.get("missing", {}):
            raise Error(f"worker {root} was to give its value, but {result['missing'][str(root)]}: choose another root")
        return came

    # -- means

    def mean(self, wait: bool, ranks: Optional[Iterable[int]], seconds: float) -> Optional[bytearray]:
        """Return the vector of the mean over workers; None for a run of one."""
        peer = self.peer
        chosen = _ranks(ranks, peer.size)
        if peer._alone:
            peer.mean_rounds = {0: peer.round}
            return None
        content = {"kind": "mean" if wait else "newest", **({"ranks": chosen} if chosen else {})}
        if wait:
            self.count += 1
            result, mean = self._call(self.count, content)
            missing = self._missing(result)
            peer.mean_rounds = {rank: result["round"] for rank in chosen or range(peer.size) if rank not in missing}
            if not mean:
                raise Error("no worker of the mean is there any more: choose other ranks")
            return bytearray(mean)
        if not 0 < seconds <= SECONDS:
            raise Error(f"seconds={seconds}: a mean that does not wait takes more than 0 and up to {SECONDS} seconds")
        result, mean = self._call(0, dict(content, seconds=seconds))
        if not mean:
            raise Error("no worker of the mean has answered: " + _reasons(result))
        self._missing(result)
        peer.mean_rounds = {int(rank): round for rank, round in result["rounds"].items()}
        return bytearray(mean)

    def _missing(self, result: dict) -> set:
        """Say which workers a mean lacks, and return their ranks."""
        if result.get("missing"):
            say("the mean lacks " + _reasons(result) + script_line())
        return {int(rank) for rank in result.get("missing", {})}


def _name(content: dict) -> str:
    """Name a call as the script does."""
    kind = content["kind"]
    options = [f"{name}={value!r}" for name, value in content.items() if name != "kind"]
    if kind == "newest":
        options.insert(0, "wait=False")
    return {"reduce": "all_reduce", "mean": "average", "newest": "average"}.get(kind, kind) + f"({', '.join(options)})"


def _reasons(result: dict) -> str:
    return "; ".join(f"worker {rank}: {why}" for rank, why in result.get("missing", {}).items())


def _ranks(ranks: Optional[Iterable[int]], size: int) -> List[int]:
    """Return the ranks of a mean in order; none: all."""
    if ranks is None:
        return []
    try:
        chosen = sorted(int(rank) for rank in ranks)
    except (TypeError, ValueError):
        raise Error(f"ranks={ranks!r}: want a list of workers") from None
    if not chosen or chosen[0] < 0 or chosen[-1] >= size or len(set(chosen)) < len(chosen):
        raise Error(f"ranks={chosen}: want different workers of 0 to {size - 1}")
    return chosen


def _flatten(x: Any) -> tuple:
    """Return the numbers of x, and what makes a value of its kind of them."""
    if hasattr(x, "detach"):
        return x.detach().cpu().double().reshape(-1).tolist(), lambda flat: x.detach().clone().copy_(
            sys.modules["torch"].tensor(flat).reshape(x.shape))
    if _tree.is_array(x):
        numpy = sys.modules["numpy"]
        kind = x.dtype if x.dtype.kind == "f" else "float64"
        return x.ravel().tolist(), lambda flat: numpy.array(flat, dtype=kind).reshape(x.shape)
    if isinstance(x, (list, tuple)):
        return [float(each) for each in x], list
    return [float(x)], lambda flat: flat[0]
