"""At the first start, what does not travel becomes equal to that of worker 0: frozen tensors, integers, float64."""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any, List

from ._link import Error, say
from ._tree import shape_text

_CHUNK = 4096  # numbers of one reduce, which has room for twice as many


def equalize(peer: Any, values: Any) -> None:
    """Compare all of the values by collectives, and take those that differ from worker 0."""
    contents = values.contents()
    outline = [[name, list(shape)] for name, shape, _, _ in contents]
    digests = [_digest(raw, 6) for _, _, _, raw in contents]
    own = _pieces(json.dumps(outline).encode()) + _pieces(b"".join(digests))
    differ = _differ(peer, own)
    if any(differ[:3]):
        root = json.dumps(outline).encode() if peer.rank == 0 else b""
        _compare(peer.rank, json.loads(bytes(peer._calls.send(root, 0))), outline)
    if not any(differ[3:]):
        return
    chosen = [i for i, unequal in enumerate(_differ(peer, [int.from_bytes(d, "little") for d in digests])) if unequal]
    if peer.rank == 0:
        size = sum(len(contents[i][3]) for i in chosen)
        say(f"{_size(size)} of frozen tensors, buffers or float64 differ; worker 0 sends them once: seed the script")
    head = json.dumps([[i, contents[i][2], len(contents[i][3])] for i in chosen]).encode()
    raw = struct.pack("<I", len(head)) + head + b"".join(contents[i][3] for i in chosen)
    came = memoryview(peer._calls.send(raw if peer.rank == 0 else b"", 0))
    at = 4 + struct.unpack("<I", came[:4])[0]
    for index, dtype, length in json.loads(bytes(came[4:at])):
        if length:
            values.receive(index, dtype, came[at:at + length])
        at += length


def digest(values: Any) -> str:
    """Return a hash of names, shapes and all values that do not travel, which peers compare."""
    found = hashlib.blake2b(digest_size=32)
    for name, shape, _, raw in values.contents():
        found.update(json.dumps([name, list(shape), len(raw)]).encode())
        found.update(raw)
    return found.hexdigest()


def _digest(raw: bytes, size: int) -> bytes:
    return hashlib.blake2b(raw, digest_size=size).digest()


def _pieces(raw: bytes) -> List[int]:
    """Return a digest as three numbers of 48 bits, which are exact in float64."""
    digest = _digest(raw, 18)
    return [int.from_bytes(digest[i:i + 6], "little") for i in (0, 6, 12)]


def _differ(peer: Any, numbers: List[int]) -> List[bool]:
    """Tell for each number whether it differs between workers: then the largest is not the smallest."""
    found: List[bool] = []
    for first in range(0, len(numbers), _CHUNK):
        part = numbers[first:first + _CHUNK]
        most = peer._calls.reduce([float(n) for n in part] + [-float(n) for n in part], "max")
        found += [most[i] != -most[i + len(part)] for i in range(len(part))]
    return found


def _compare(rank: int, theirs: list, own: list) -> None:
    """Raise an Error that names the first tensor that differs from worker 0's."""
    shapes, wanted = dict(map(tuple, own)), dict(map(tuple, theirs))
    for name in [*wanted, *shapes]:
        if name not in shapes:
            raise Error(f"worker {rank} has no {name}, which worker 0 has: use the same script and the same model")
        if name not in wanted:
            raise Error(f"worker {rank} has {name}, which worker 0 lacks: use the same script and the same model")
        if shapes[name] != wanted[name]:
            raise Error(f"{name} is {shape_text(shapes[name])} on worker {rank} and {shape_text(wanted[name])} on "
                        "worker 0: use the same script and the same model")


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.4g} {unit}"
        count /= 1000
    return f"{count:.4g} GB"
