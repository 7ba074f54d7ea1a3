"""The steps of a script: which ones end a round, which ones stay local, and which ones are undone after the end."""

from __future__ import annotations

import functools
from typing import Any

from . import _torch
from ._link import Error, say, script_line

_OWN = 3  # changes after the last step, which are no longer those of a script that loads its best parameters
_HIDDEN = 20  # changes of the parameters without a step, before the script is told that none is seen


class Steps:
    """The steps of one worker."""

    def __init__(self, peer: Any) -> None:
        self.peer = peer
        self.by_hand = True  # the script calls step itself
        self.watched: list = []  # the optimizers whose steps count, the last of which ends rounds
        self.every, self._since = 1, 0  # steps of a round, and those since the last one
        self.count = 0  # all that were seen, undone ones included
        self.local = 0  # depth of no_sync
        self.dropped = False  # the script's own step, made before the values of the run came after a rest
        self._held: Any = None  # the values that an undone step gets back
        self._seen, self._changes = 0.0, 0  # changes of parameters, and how many without a step
        self._last = 0.0  # changes up to the last step that was seen
        self._seen_ever: list = []  # optimizers that are wrapped, once
        self._told = False  # that steps are undone
        self._inside = False  # a closure may run, which moves the parameters many times

    def watch(self, optimizers: list) -> None:
        """See the steps of these optimizers, and no longer those of earlier ones."""
        known = {id(each) for each in self._seen_ever}
        self.watched, self.by_hand = optimizers, not optimizers
        for each in optimizers:
            if id(each) not in known:
                self._seen_ever.append(each)
                _torch.watch(each, functools.partial(self._begin, each), functools.partial(self._end, each))

    def _begin(self, optimizer: Any) -> None:
        self._inside = True
        if self.watched and optimizer is self.watched[-1]:
            self.before()

    def _end(self, optimizer: Any) -> None:
        self._inside = False
        if self.watched and optimizer is self.watched[-1]:
            self.after()
        elif any(optimizer is each for each in self.watched):
            self.see()

    def before(self) -> None:
        """Prepare for the local step that follows."""
        peer = self.peer
        if peer._gone:
            return
        peer._check_usable()
        peer._saves.check()
        _torch.refuse_capture()
        self.dropped = peer._wake() and self.by_hand
        if not peer.done:
            if not self.local:
                peer._notice_change()
            peer._saves.settle()
        elif not self.by_hand or self._held is None:
            self._held = peer._values.clone()

    def after(self) -> None:
        """End the round with the local step that is done, or undo it."""
        peer = self.peer
        if peer._gone:
            return
        self.see()
        if peer.done:
            self._undo()
        elif not self.local and not self.dropped:
            self._since += 1
            if self._since == self.every:
                self._since = 0
                peer._end_round()

    def see(self) -> None:
        """Note that a step was seen."""
        self.count += 1
        self.note()
        self._changes = 0

    def note(self) -> None:
        """Take the parameters of now for those of the last step."""
        self._seen = self._last = self.peer._values.changes()

    def ignore(self, before: float) -> None:
        """Take changes since changes() was before for no steps."""
        made = self.peer._values.changes() - before
        self._seen, self._last = self._seen + made, self._last + made

    def tell_last(self) -> None:
        """Say at the end that the model has trained since the last step that was seen, or without any."""
        if self.by_hand and self.count > 0 or self.peer._values.changes() - self._last < _OWN:
            return
        if self.by_hand:
            say("the script ends without a step, so the changes of its model stay on this worker: give join the "
                "optimizer too, or call peer.step() after each update" + script_line())
        else:
            say(f"the model's parameters changed after round {self.peer.round}, but not by the optimizer that join got, "
                "so these changes stay on this worker: join again with the optimizer that makes them" + script_line())

    def hold(self) -> None:
        """Keep the values of now: a script that steps by hand changes them before it says so."""
        if self.by_hand:
            self._held = self.peer._values.clone()

    def check(self) -> None:
        """Raise an Error if the parameters change, but no step of the optimizer is seen."""
        if self.by_hand or self.local or self._inside:
            return
        seen = self.peer._values.changes()
        if seen != self._seen:
            self._seen, self._changes = seen, self._changes + 1
        if self._changes >= _HIDDEN:
            raise Error(f"the model's parameters changed {self._changes} times, but no step of the optimizer that join "
                        "got was seen: join before accelerator.prepare, join again with an optimizer that is made "
                        "later, or call peer.step()")

    def _undo(self) -> None:
        """Take the result back after a step beyond the end."""
        peer = self.peer
        peer._values.put(self._held)
        if not self.by_hand:
            self._held = None
        if peer.why == "interrupted":
            raise KeyboardInterrupt
        if self._told:
            return
        self._told = True
        if not peer._done:
            text = "this worker has finished, so further steps change nothing: leave the loop when peer.done"
        elif peer.why in ("", "finished"):
            text = (f"the run's {peer.round} rounds are done: further steps change nothing; leave the loop when "
                    "peer.done, or set train.rounds: script")
        else:
            text = (f"the run has ended after {peer.round} rounds ({peer.why}): further steps change nothing; leave the "
                    "loop when peer.done")
        say(text + script_line())
