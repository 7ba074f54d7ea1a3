"""The script's part of a checkpoint: when it is taken, what it holds, and how a resumed script gets it back.

What a loop does after its step belongs to the round that has ended: it moves schedulers and counters. So the peer asks
for the state in its answer to a step, and gets it when the loop has come to the next batch, forward or boundary.
"""

from __future__ import annotations

import traceback
from typing import Any, Callable, Iterable, Optional

from . import _link, _seeds, _tree
from ._link import Error, say, script_line


class Saves:
    """The states that a worker owes its peer, and the one from which it goes on."""

    def __init__(self, peer: Any) -> None:
        self.peer = peer
        self.objects: list = []  # whose states a checkpoint holds
        self.owed = False  # the peer waits for the state before this round
        self.named = False  # the script calls boundary
        self.loaded: Optional[dict] = None  # what now gave, if the run goes on from there
        self.restored = True  # the objects are as that says
        self._random: Optional[dict] = None  # numbers at the end of the last step, where the state is owed
        self._others: list = []  # numbers and places of this peer's further processes, at that time
        self._spare: Optional[bytes] = None  # the state at the end of that step, of a script that steps by hand
        self._forget: Callable = _tree.nothing  # stops waiting for the next forward
        self._unable = False  # the last state could not be taken

    def boundary(self) -> None:
        """Take the state here, at the top of the loop."""
        if self.loaded is not None and not self.peer._steps.count and not self.named:
            _seeds.set_state(self.loaded["random"])  # lines between join and the loop may have drawn some
        self.named = True
        self.give_owed()

    def choose(self, objects: Iterable) -> None:
        """Take these objects into checkpoints, and restore them after a resume."""
        values = self.peer._values
        for each in objects:
            if not (hasattr(each, "state_dict") and hasattr(each, "load_state_dict")) and not _tree.is_array(each):
                raise Error(f"{type(each).__name__} has no state_dict and load_state_dict, which state needs")
        self.objects = list(objects)
        if self.loaded is None or self.peer._steps.count:
            return
        names = self._names()
        if self.loaded["names"] != names:
            raise Error(f"the checkpoint holds the states of {self.loaded['names']}, not of {names}: "
                        "resume with the script that wrote it")
        for each, saved in zip(self.objects, self.loaded["objects"]):
            if _tree.is_array(each):
                each[...] = saved
            elif not values.owns(each):
                each.load_state_dict(saved)
        self.restored = True

    def resume(self, blob: bytes) -> None:
        """Go on from a state."""
        self.loaded, self.restored = self.peer._values.load(blob), False
        group = self.peer._group
        others = self.loaded.get("others", [])
        if group is not None and group.part > len(others):  # the checkpoint is one of fewer processes
            self.loaded["random"] = _seeds.of_part(self.loaded["random"], group.part)
        elif group is not None and group.part:
            self.loaded.update(others[group.part - 1])

    def begin(self) -> Optional[dict]:
        """Return the state from which the run goes on; None: from none, or from one of before the first start."""
        if self.loaded is not None and not self.loaded["equal"]:
            self.loaded, self.restored = None, True
        return self.loaded

    def restore_same(self) -> None:
        """Restore the objects of join, if a checkpoint has just these. Others wait until the script names them."""
        if self.loaded["names"] == self._names():
            self.choose(self.objects)

    def check(self) -> None:
        """Raise an Error at a step before the script has restored its objects."""
        if not self.restored:
            raise Error(f"the checkpoint holds the states of {self.loaded['names']}: "
                        "call peer.state with the same objects before the first step")

    def owe(self, wanted: bool = True) -> None:
        """Note whether the peer waits for a state. All processes of this worker do so at once, after an exchange.

        Their models and optimizers are alike, but each draws its own random numbers and has its own part of the data.
        """
        self.owed = wanted
        if wanted and self.peer._group is not None:
            self._others = self.peer._group.gather({"random": _seeds.get_state(), **self.peer._feed.place()})[1:]

    def await_place(self) -> None:
        """Prepare for the place of the loop at which the state is due, if the peer waits for it."""
        if not self.owed:
            return
        self._random = _seeds.get_state()
        steps = self.peer._steps
        if steps.by_hand and steps.count and not self.named:
            self._spare = self._now(self._random)
        if not self.named:
            self._forget = self.peer._values.at_forward(lambda: self._give(self._now(self._random)))

    def give_owed(self, numbers: Optional[dict] = None) -> None:
        """Give the state of now, if the peer waits for one; with these random numbers, or those of now."""
        if self.owed:
            self._give(self._now(numbers))

    def give_last(self) -> None:
        """Give the state of a script that takes no further step, if the peer waits for one."""
        if self.owed:
            self._give(self._now(None if self.named else self._random))

    def give_spare(self) -> None:
        """Give the state at the end of the last step: objects may be halfway to their next one."""
        if self.owed:
            self._give(self._spare)

    def settle(self) -> None:
        """Give the state that the peer waits for, at the last moment."""
        if not self.owed:
            return
        if self.peer._done:
            self._give(self._now(None))
        elif self.named:
            self._tell_unable("this round did not begin at a call of peer.boundary()")
            self._give(None)
        else:  # no place has come: the objects are at least as they were before the local step
            self._give(self._spare if self.peer._steps.by_hand and self._spare else self._now(self._random))

    def _names(self) -> str:
        values = self.peer._values
        models = (values.model if values.owns(each) else each for each in self.objects)
        return ", ".join(type(each).__name__ for each in models) or "nothing"

    def _now(self, numbers: Optional[dict]) -> Optional[bytes]:
        """Return the state, with these random numbers or those of now. None: an object has none to give."""
        peer = self.peer
        values = peer._values
        if not peer._leads:
            return None
        if values.next is not None:  # an older checkpoint serves: the vector changes in a moment
            return None
        try:
            states = [each.copy() if _tree.is_array(each) else None if values.owns(each) else each.state_dict()
                      for each in self.objects]
            blob = values.dump({
                "names": self._names(), "objects": states, "own": values.kept(),
                "random": numbers or _seeds.get_state(), "calls": peer._calls.count, "equal": peer._equal,
                "others": self._others, **peer._feed.place()})
        except Exception as problem:  # costs a checkpoint, and not the run
            what = traceback.format_exception_only(type(problem), problem)[-1].strip()
            self._tell_unable(what + script_line(problem.__traceback__))
            return None
        self._unable = False
        return blob

    def _tell_unable(self, why: str) -> None:
        if not self._unable:
            say(f"no checkpoint of round {self.peer.round}, as there is no state of this script: {why}. The run goes "
                "on; from an older checkpoint it would repeat more rounds")
        self._unable = True

    def part(self) -> None:
        """Owe nothing: this is a forked child."""
        self._forget()
        self.owed, self._forget = False, _tree.nothing

    def _give(self, blob: Optional[bytes]) -> None:
        """Give the peer the state that it waits for. An empty one says that there is none."""
        self._forget()
        self.owed, self._spare, self._forget = False, None, _tree.nothing
        with self.peer._whole():
            self.peer._send(_link.STATE, blob or b"", round=self.peer.round)
