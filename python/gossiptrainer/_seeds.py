"""Random numbers: each worker gets its own, and a checkpoint holds their state."""

from __future__ import annotations

import hashlib
import pickle
import random
import sys
from typing import Any, Optional

LIBRARIES = ("random", "numpy", "torch")


def number(*address: Any) -> int:
    """Return a seed of 56 bits that depends on all parts of the address."""
    digest = hashlib.sha256()
    for part in address:
        digest.update(part if isinstance(part, bytes) else f"{part} ".encode())
    return int.from_bytes(digest.digest()[:7], "little")


def seed_all(seed: int) -> None:
    """Seed the global generator of each library that is imported."""
    for library in LIBRARIES:
        if library in sys.modules:
            _seed(library, seed)


def reseed(done: set, seed: Optional[str], rank: int, part: int) -> None:
    """Give each global generator numbers of this worker's own, from its state, the run's seed, the rank and the part.

    So workers differ whatever the script has seeded, and the same script repeats itself. The set holds the libraries
    that are done.
    """
    for library in LIBRARIES:
        if library in sys.modules and library not in done:
            done.add(library)
            _seed(library, number(_state(library), seed, rank, part))


def unseeded() -> bool:
    """Tell whether torch still has the seed that it took from the system: those of users are small."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.initial_seed() > 2 ** 32


def _seed(library: str, value: int) -> None:
    if library == "random":
        random.seed(value)
    elif library == "numpy":
        sys.modules["numpy"].random.seed([value >> 32, value & 0xffffffff])
    else:
        sys.modules["torch"].manual_seed(value)  # on all devices


def _state(library: str) -> bytes:
    if library == "random":
        return pickle.dumps(random.getstate())
    if library == "numpy":
        return pickle.dumps(sys.modules["numpy"].random.get_state())
    torch = sys.modules["torch"]
    states = [torch.get_rng_state()]
    if torch.cuda.is_initialized():
        states += torch.cuda.get_rng_state_all()
    return b"".join(bytes(state.tolist()) for state in states)


def get_state() -> dict:
    """Return the state of all global generators."""
    state: dict = {"python": random.getstate()}
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None:
        state["numpy"] = numpy.random.get_state()
    if torch is not None:
        state["torch"] = torch.get_rng_state()
        if torch.cuda.is_initialized():
            state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def set_state(state: dict) -> None:
    """Bring the global generators into a state of get_state."""
    if "python" in state:
        random.setstate(state["python"])
    if "numpy" in state:
        sys.modules["numpy"].random.set_state(state["numpy"])
    if "torch" in state:
        sys.modules["torch"].set_rng_state(state["torch"])
    if "cuda" in state:
        sys.modules["torch"].cuda.set_rng_state_all(state["cuda"])


def of_part(state: dict, part: int) -> dict:
    """Return the state from which a further process of the same peer goes on, so that it draws other numbers."""
    now = get_state()
    set_state(state)
    reseed(set(), None, 0, part)
    own = get_state()
    set_state(now)
    return own
